'use strict';
// The programs of examples/ print what they should, on every backend, and the guide shows it.

const assert = require('node:assert/strict');
const fs = require('node:fs');
const {test} = require('node:test');
const {GUIDE, MODES, expectedFile, names, outputOf, section} = require('../examples/run');

for (const name of names()) {
  for (const mode of Object.keys(MODES)) {
    test(`${name} prints what it should: ${mode}`, () => {
      assert.equal(outputOf(name, mode), fs.readFileSync(expectedFile(name, mode), 'utf8'));
    });
  }
}

test('the guide shows what the programs print', () => {
  const guide = fs.readFileSync(GUIDE, 'utf8');
  for (const name of names()) assert.ok(guide.includes(section(name)), `${name}: run examples/run.js --write`);
});
