// A project as a user has it, with this package installed, bundled by one bundler or another.
import {cp, mkdir, mkdtemp, readFile, readdir, rm, symlink, writeFile} from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import {fileURLToPath} from 'node:url';
import {build as buildPackage} from '../build.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
const web = path.dirname(here);
const kPage = script => `<!doctype html><meta charset="utf-8"><title>test</title><link rel="icon" href="data:,">${script}`;
const kModule = kPage('<script type="module" src="/app.js"></script>');

// {folder, remove()}; node_modules holds the package as npm would put it there.
export async function makeProject() {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'tenure-web-'));
  const modules = path.join(folder, 'node_modules');
  await cp(path.join(here, 'project'), folder, {recursive: true});
  await mkdir(path.join(modules, 'tenure-explain'), {recursive: true});
  await buildPackage();
  for (const part of ['package.json', 'index.d.ts', 'dist']) {
    await cp(path.join(web, part), path.join(modules, 'tenure-explain', part), {recursive: true});
  }
  for (const name of await readdir(path.join(web, 'node_modules'))) {
    if (!name.startsWith('.')) await symlink(path.join(web, 'node_modules', name), path.join(modules, name));
  }
  await writeFile(path.join(folder, 'package.json'), '{"private": true, "type": "module"}\n');
  await mkdir(path.join(folder, 'out'));
  return {folder, remove: () => rm(folder, {recursive: true, force: true})};
}

// Each bundles src/main.ts and gives {folder to be served}.
export const bundlers = {
  // TensorFlow.js inside, minified, the map beside.
  async esbuild(project) {
    const esbuild = await import('esbuild');
    const out = path.join(project.folder, 'out', 'esbuild');
    await esbuild.build({
      absWorkingDir: project.folder, entryPoints: ['src/main.ts'], outfile: path.join(out, 'app.js'),
      bundle: true, minify: true, sourcemap: true, format: 'esm', preserveSymlinks: true, target: 'es2020',
      logLevel: 'error',
    });
    await writeFile(path.join(out, 'index.html'), kModule);
    return out;
  },

  // async functions as generators, for old browsers.
  async esbuildGenerators(project) {
    const esbuild = await import('esbuild');
    const out = path.join(project.folder, 'out', 'generators');
    await esbuild.build({
      absWorkingDir: project.folder, entryPoints: ['src/main.ts'], outfile: path.join(out, 'app.js'),
      bundle: true, minify: true, sourcemap: 'inline', format: 'iife', preserveSymlinks: true,
      supported: {'async-await': false}, logLevel: 'error',
    });
    await writeFile(path.join(out, 'index.html'), kPage('<script src="/app.js"></script>'));
    return out;
  },

  async vite(project) {
    const vite = await import('vite');
    const out = path.join(project.folder, 'out', 'vite');
    await writeFile(path.join(project.folder, 'index.html'),
        kPage('<script type="module" src="/src/main.ts"></script>'));
    await vite.build({
      root: project.folder, configFile: false, logLevel: 'error', resolve: {preserveSymlinks: true},
      build: {outDir: out, sourcemap: true, chunkSizeWarningLimit: 1e5},
    });
    return out;
  },

  async webpack(project) {
    const {default: webpack} = await import('webpack');
    const out = path.join(project.folder, 'out', 'webpack');
    const stats = await new Promise((resolve, reject) => webpack({
      mode: 'production', context: project.folder, entry: './src/main.ts', devtool: 'source-map',
      output: {path: out, filename: 'app.js'},
      resolve: {extensions: ['.ts', '.js'], symlinks: false},
      module: {rules: [{test: /\.ts$/, use: path.join(here, 'esbuild_loader.cjs')}]},
      performance: {hints: false},
    }, (error, result) => error ? reject(error) : resolve(result)));
    if (stats.hasErrors()) throw new Error(stats.toString());
    await writeFile(path.join(out, 'index.html'), kModule);
    return out;
  },
};

// The place of the line with that tag, as stories name it.
export async function placeOf(file, tag) {
  const text = await readFile(path.join(here, 'project', 'src', file), 'utf8');
  const line = text.split('\n').findIndex(each => each.endsWith(`// @${tag}`)) + 1;
  if (line === 0) throw new Error(`${file} has no line @${tag}`);
  return `src/${file}:${line}`;
}
