// The programs of the how-tos, as their pages have them: what leaks fails with the table of the page,
// and what is mended passes.

import assert from 'node:assert/strict';
import {execFile} from 'node:child_process';
import {mkdirSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import path from 'node:path';
import {test} from 'node:test';
import {fileURLToPath} from 'node:url';

const folder = path.dirname(fileURLToPath(import.meta.url));
const docs = path.join(folder, '..', '..', '..', '..', 'docs', 'howto');

// The blocks of a page: {name, text}, where the name of a file is in a comment of the first line.
function blocksOf(page) {
  const text = readFileSync(path.join(docs, page), 'utf8');
  return [...text.matchAll(/^```(\w*)\n([^]*?)^```$/gm)].map(([, language, block]) => {
    const [, name] = block.match(/^\/\/ ([\w./]+\.jsx?)\b.*\n/) || [];
    return {language, name, text: name ? block.slice(block.indexOf('\n') + 1) : block};
  });
}

// A project with these files, and with the package under test as tenure-explain.
function makeProject(name, files) {
  const project = path.join(folder, 'build', name);
  rmSync(project, {recursive: true, force: true});
  const own = 'node_modules/tenure-explain';
  const all = {
    'package.json': '{"type": "module"}',
    [`${own}/package.json`]: '{"exports": {"./testing": "./testing.js"}}',
    [`${own}/testing.js`]: 'module.exports = require(\'../../../../../../testing\');\n',
    ...files,
  };
  for (const [file, text] of Object.entries(all)) {
    mkdirSync(path.dirname(path.join(project, file)), {recursive: true});
    writeFileSync(path.join(project, file), text);
  }
  return project;
}

function runVitest(cwd) {
  return new Promise(resolve => {
    const env = {...process.env, NO_COLOR: '1', FORCE_COLOR: '0', CI: '1'};
    const vitest = path.join(folder, 'node_modules', 'vitest', 'vitest.mjs');
    const child = execFile(process.execPath, [vitest, 'run'], {cwd, env}, (_, stdout, stderr) => {
      resolve({code: child.exitCode, output: stdout + stderr});
    });
  });
}

const tableOf = blocks => blocks.find(block => block.text.startsWith('Error: ')).text.trim();

async function assertLeaksAsTold(project, blocks) {
  const {code, output} = await runVitest(project);
  assert.equal(code, 1, output);
  assert.ok(output.includes(tableOf(blocks)), output);
}

async function assertHealthy(project) {
  const {code, output} = await runVitest(project);
  assert.equal(code, 0, output);
  assert.match(output, /Tests +1 passed \(1\)/);
}

test('vite.md', async () => {
  const blocks = blocksOf('vite.md');
  const files = Object.fromEntries(blocks.filter(block => block.name).map(({name, text}) => [name, text]));
  await assertLeaksAsTold(makeProject('vite', files), blocks);

  const classify = 'src/classify.js';
  const mended = blocks.find(({name, text}) => !name && text.startsWith('export function classify')).text;
  const [models] = files[classify].split('export function classify');
  await assertHealthy(makeProject('vite', {...files, [classify]: models + mended}));
});

test('react.md', async () => {
  const blocks = blocksOf('react.md');
  const first = {}, last = {};
  for (const {name, text} of blocks) {
    if (!name) continue;
    first[name] = first[name] || text;
    last[name] = text;
  }
  assert.notEqual(first['src/Digit.jsx'], last['src/Digit.jsx']);
  await assertLeaksAsTold(makeProject('react', first), blocks);
  await assertHealthy(makeProject('react', last));
});
