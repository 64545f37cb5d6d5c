// Bundles that nobody has a source map of, with TensorFlow.js and this package inside of one file:
// lines are those of the bundle, and the user's.
import assert from 'node:assert/strict';
import {readFile, writeFile} from 'node:fs/promises';
import path from 'node:path';
import {after, before, test} from 'node:test';
import * as esbuild from 'esbuild';
import * as vite from 'vite';
import * as chromium from './browsers/chromium.mjs';
import * as firefox from './browsers/firefox.mjs';
import {makeProject} from './project.mjs';
import {serve} from './server.mjs';

const kHead = `import * as tf from '@tensorflow/tfjs';
import {DisposedError, explain, leaks, mark} from 'tenure-explain';
import {other} from './other.js';

function told(f) {
  try {
    f();
  } catch (error) {
    return error instanceof DisposedError ? [error.message, {...error.site}] : [error.stack, null];
  }
}
`;
// What each makes has numbers of its own, by which its place in the bundle is known.
const kProgram = `${kHead}
export async function run() {
  await tf.setBackend('cpu');
  explain(tf);
  const before = mark();
  const x = tf.tensor1d([101, 102, 103]);
  const y = x.square().add(104);
  const z = tf.tidy('step', () => tf.keep(tf.fill([5], 105)));
  const fromOther = other();
  const model = tf.sequential({layers: [tf.layers.dense({units: 106, inputShape: [3]})]});
  const made = model.predict(tf.ones([107, 3]));
  const left = leaks(before).map(({site, op}) => [site, op]);
  x.dispose();
  const used = [told(() => tf.add(x, 108)), told(() => x.tanh().mul(109))];
  explain(false);
  return {left, used};
}
globalThis.run = run;
`;
const kOther = `import * as tf from '@tensorflow/tfjs';
export const other = () => tf.range(0, 111);
`;

let project;
before(async () => {
  project = await makeProject();
  await writeFile(path.join(project.folder, 'src', 'one_file.js'), kProgram);
  await writeFile(path.join(project.folder, 'src', 'other.js'), kOther);
});
after(() => project?.remove());

const kPage = script =>
  `<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,"><script type="module" src="/${script}"></script>`;

const bundlers = {
  async esbuild(minify) {
    const out = path.join(project.folder, 'out', `unmapped-${minify}`);
    await esbuild.build({
      absWorkingDir: project.folder, entryPoints: ['src/one_file.js'], outfile: path.join(out, 'main.js'),
      bundle: true, minify, format: 'esm', preserveSymlinks: true, target: 'es2020', logLevel: 'error',
    });
    await writeFile(path.join(out, 'index.html'), kPage('main.js'));
    return out;
  },

  async vite(minify) {
    const out = path.join(project.folder, 'out', 'unmapped-vite');
    await writeFile(path.join(project.folder, 'index.html'), kPage('src/one_file.js'));
    await vite.build({
      root: project.folder, configFile: false, logLevel: 'error', resolve: {preserveSymlinks: true},
      build: {outDir: out, minify, chunkSizeWarningLimit: 1e5, rollupOptions: {output: {entryFileNames: 'main.js'}}},
    });
    return out;
  },
};

async function answerOf(launch, out) {
  const server = await serve({'/': out});
  const browser = await launch();
  try {
    const page = await browser.open(server.url);
    const answer = await page.evaluate(() => globalThis.run());
    assert.deepEqual(page.problems, []);
    return answer;
  } finally {
    await browser.close();
    server.close();
  }
}

for (const [name, launch, bundler, minify] of [
  ['esbuild, chromium', chromium.launch, bundlers.esbuild, false],
  ['esbuild, minified, chromium', chromium.launch, bundlers.esbuild, true],
  ['vite, minified, chromium', chromium.launch, bundlers.vite, true],
  ['esbuild, firefox', firefox.launch, bundlers.esbuild, false],
  ['esbuild, minified, firefox', firefox.launch, bundlers.esbuild, true],
]) {
  test(`one file without a map: ${name}`, async () => {
    const out = await bundler(minify);
    const lines = (await readFile(path.join(out, 'main.js'), 'utf8')).split('\n');
    const {left, used} = await answerOf(launch, out);
    // What the bundle has at a place, as far as that says which call it is.
    const textAt = (line, column) => lines[line - 1].slice(Math.max(0, column - 25), column + 40);
    const isAt = (place, number) => {
      const [, line, column] = place.match(/^main\.js:(\d+)(?::(\d+))?$/);
      const text = column === undefined ? lines[line - 1] : textAt(Number(line), Number(column));
      assert.ok(text.includes(String(number)), `${place} is not at ${number}: ${text.slice(0, 200)}`);
    };
    const placeOf = op => left.find(group => group[1] === op)[0];
    isAt(placeOf('square'), 104);
    isAt(placeOf('fill'), 105);
    isAt(placeOf('range'), 111);
    isAt(placeOf('variable'), 106);
    isAt(placeOf('add'), 104);
    isAt(used[0][0].match(/^ {2}born +(\S+)/m)[1], 101);
    assert.match(used[0][0], /^add: input 0 was disposed: float32 \[3\]/);
    [108, 109].forEach((number, i) => isAt(`main.js:${used[i][1].line}:${used[i][1].column}`, number));
  });
}
