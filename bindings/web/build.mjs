// Makes dist/: explain.mjs (ES module), explain.js (script tag, global tenureExplain), and the panel,
// which both load only when it is asked for.
import {readFile, rm, writeFile} from 'node:fs/promises';
import path from 'node:path';
import {fileURLToPath} from 'node:url';
import * as esbuild from 'esbuild';

const folder = path.dirname(fileURLToPath(import.meta.url));
const out = path.join(folder, 'dist');
const {version} = JSON.parse(await readFile(path.join(folder, 'package.json'), 'utf8'));

const common = {
  absWorkingDir: folder,
  bundle: true,
  minify: true,
  sourcemap: true,
  sourcesContent: false,
  target: ['es2022'],
  define: {__VERSION__: JSON.stringify(version)},
  nodePaths: [path.join(folder, 'node_modules')],
  legalComments: 'none',
  logLevel: 'warning',
};

// Our files have names of ours in every bundle's source map, wherever this package is: what is a frame
// of ours is told by them.
async function nameSources(file) {
  const map = JSON.parse(await readFile(`${file}.map`, 'utf8'));
  map.sources = map.sources.map(name => `tenure-explain:///${name.replace(/^(\.\.\/)+/, '')}`);
  await writeFile(`${file}.map`, JSON.stringify(map));
}

const panelOfScript = {
  name: 'panel of script',
  setup(build) {
    build.onResolve({filter: /\/load_panel\.js$/}, () => ({
      path: path.join(folder, 'browser', 'load_panel_of_script.js'),
    }));
  },
};

export async function build() {
  await rm(out, {recursive: true, force: true});
  await esbuild.build({
    ...common, entryPoints: ['index.js'], outfile: 'dist/explain.mjs', format: 'esm', external: ['./panel.mjs'],
  });
  await esbuild.build({
    ...common, entryPoints: ['index.js'], outfile: 'dist/explain.js', format: 'iife',
    globalName: 'tenureExplain', plugins: [panelOfScript],
  });
  const {style_text} = await import('./panel/style_text.mjs');
  await esbuild.build({
    ...common, entryPoints: ['panel/open_panel.ts'], outfile: 'dist/panel.mjs', format: 'esm',
    plugins: [style_text],
  });
  for (const file of ['explain.mjs', 'explain.js', 'panel.mjs']) await nameSources(path.join(out, file));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await build();
