// The planted programs, each with its healthy twin, in one browser: what every test of a browser does.
import assert from 'node:assert/strict';
import path from 'node:path';
import {after, before, test} from 'node:test';
import {fileURLToPath} from 'node:url';
import {bundlers, makeProject, placeOf} from './project.mjs';
import {serve} from './server.mjs';

const web = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const wasm = path.join(web, 'node_modules', '@tensorflow', 'tfjs-backend-wasm', 'dist');

// The rows of a story, by their labels.
function rowsOf(text) {
  const rows = {};
  for (const line of text.split('\n')) {
    const [, label, place, rest] = line.match(/^ {2}(born|kept|died|used|holders) +(\S+) *(.*)$/) || [];
    if (label) rows[label] = [place, ...rest.split(/ {2,}/)].filter(part => part !== '');
  }
  return rows;
}

// What each planted program must be told, and its twin must not.
const programs = {
  async disposedInput(text) {
    const at = tag => placeOf('disposed_input.ts', tag);
    const rows = rowsOf(text);
    assert.match(text, /^add: input 1 was disposed: float32 \[3\]/);
    assert.deepEqual(rows.born, [await at('born'), 'ones']);
    assert.deepEqual(rows.died, [await at('died'), 'disposed']);
    assert.deepEqual(rows.used, [await at('used'), 'add, input 1']);
  },
  async tidyEscape(text) {
    const at = tag => placeOf('tidy_escape.ts', tag);
    const rows = rowsOf(text);
    assert.deepEqual(rows.born, [await at('tanh'), 'tanh', `in tidy "step" (opened ${await at('tidy')})`]);
    assert.deepEqual(rows.died, [await at('tidy'), 'scope_exit', 'tidy "step" ended']);
    assert.deepEqual(rows.used, [await at('read'), 'dataSync']);
  },
  async awaitInTidy(text) {
    const rows = rowsOf(text);
    assert.equal(rows.born[0], await placeOf('await_in_tidy.ts', 'scaled'));
    assert.equal(rows.used[0], await placeOf('await_in_tidy.ts', 'after'));
    assert.match(text, /tidy cannot wait for a Promise/);
  },
  async fitInFlight(text) {
    const at = tag => placeOf('fit_in_flight.ts', tag);
    assert.deepEqual(rowsOf(text).died, [
      await at('dispose'), 'owner_disposed', `model "busy" disposed while fit ran (called ${await at('fit')})`]);
    assert.match(text, /await fit before disposing the model/);
  },
  async twoFits(text) {
    const at = tag => placeOf('two_fits.ts', tag);
    const rows = rowsOf(text);
    assert.deepEqual([rows.born[0], rows.died[0]], [await at('born'), await at('died')]);
    assert.match(text, /in one of fit of model "a", fit of model "b"/);
  },
  async predictLoop(list) {
    const site = await placeOf('predict_loop.ts', 'predict');
    assert.ok(list.length > 0 && list.every(line => line.site === site && line.count % 10 === 0), JSON.stringify(list));
    assert.match(list[0].what, /in predict of model/);
  },
  async frameLoop(list) {
    assert.equal(list.length, 1, JSON.stringify(list));
    const [{site, op, per_frame: rate, stopped_ms: stopped}] = list;
    assert.deepEqual([site, op, rate, stopped], [await placeOf('frame_loop.ts', 'mean'), 'mean', 1, null]);
  },
  async loadedModel(list) {
    const site = await placeOf('loaded_model.ts', 'load');
    assert.ok(list.length > 0 && list.every(line => line.site === site), JSON.stringify(list));
  },
  async nextFrameLoop(list) {
    const site = await placeOf('next_frame_loop.ts', 'features');
    assert.deepEqual(list, [{site, op: 'ones', wasOn: true, isOver: true}]);
  },
  async dataset(list) {
    const site = await placeOf('dataset.ts', 'row');
    assert.deepEqual(list, [{site, op: 'tensor1d', what: 'tensor1d', count: 4}]);
  },
  async kept(list) {
    const at = tag => placeOf('kept.ts', tag);
    assert.deepEqual(list, [
      {site: await at('square'), op: 'square', what: `square, kept ${await at('keep')}`, count: 5}]);
  },
  async gradients(list) {
    const site = await placeOf('gradients.ts', 'grads');
    assert.ok(list.length > 0 && list.every(line => line.site.startsWith(site)), JSON.stringify(list));
    assert.equal(list.reduce((sum, line) => sum + line.count, 0), 5);
  },
};

const nothing = answer => assert.ok(answer.length === 0, JSON.stringify(answer));

export function testPrograms({launch, backends}, ways) {
  let browser, project;
  before(async () => {
    project = await makeProject();
    browser = await launch();
  });
  after(async () => {
    await browser?.close();
    await project?.remove();
  });

  for (const [way, names] of Object.entries(ways)) {
    test(`programs bundled by ${way}`, async t => {
      const server = await serve({'/': await bundlers[way](project), '/wasm/': wasm});
      for (const backend of way === 'esbuild' ? backends : ['cpu']) {
        const page = await browser.open(server.url);
        for (const name of names || Object.keys(programs)) {
          const run = isPlanted => page.evaluate((...args) => globalThis.run(...args), name, isPlanted, backend);
          await t.test(`${name}, ${backend}`, async () => programs[name](await run(true)));
          await t.test(`${name}, healthy, ${backend}`, async () => nothing(await run(false)));
        }
        await t.test(`no errors on the console, ${backend}`, () => assert.deepEqual(page.problems, []));
        await page.close();
      }
      server.close();
    });
  }
}
