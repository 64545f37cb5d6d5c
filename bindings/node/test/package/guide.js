'use strict';
// The programs of the guide, and those of examples/ that it shows, do there what they should.

const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const {test} = require('node:test');
const {expectedFile, names, GUIDE} = require('../../examples/run');
const {node_folder} = require('./projects');

const MODES = {
  stock: [],
  tenure: ['-r', 'tenure-tfjs'],
  explain: ['-r', 'tenure-tfjs/explain', '-r', 'tenure-tfjs'],
};

// The blocks that are a program by themselves: they say where TensorFlow.js comes from.
function programsIn(file) {
  const blocks = [...fs.readFileSync(file, 'utf8').matchAll(/^```js\n([^]*?)^```$/gm)];
  return blocks.map(([, text]) => text).filter((text) => text.includes("'@tensorflow/tfjs'"));
}

module.exports = ({union, oldest}) => {
  for (const name of names()) {
    const source = fs.readFileSync(path.join(node_folder, 'examples', `${name}.js`), 'utf8');
    for (const [project, modes] of [[union, ['tenure', 'explain']], [oldest, ['explain']]]) {
      project.write(`${name}.js`, source);
      for (const mode of modes) {
        test(`${name}.js, ${mode}, in "${path.basename(project.folder)}"`, async () => {
          const {text} = await project.run(['--expose-gc', ...MODES[mode], `${name}.js`]);
          assert.equal(text, fs.readFileSync(expectedFile(name, mode), 'utf8'));
        });
      }
    }
  }

  for (const file of [GUIDE, path.join(node_folder, 'README.md')]) {
    programsIn(file).forEach((text, i) => {
      const name = `${path.basename(file, '.md')}_${i}.${/^import /m.test(text) ? 'mjs' : 'js'}`;
      union.write(name, text);
      test(`program ${i} of ${path.basename(file)}`, async () => {
        const plain = await union.output([name], {env: {TENURE_SUMMARY: '0'}});
        assert.notEqual(plain, '');
        assert.doesNotMatch(plain, /registered|already been set/);
        const explained = await union.run(['-r', 'tenure-tfjs/explain', name], {env: {TENURE_SUMMARY: '0'}});
        assert.equal(explained.status, 0, explained.text);
        assert.equal(explained.text.split('\n').length, plain.split('\n').length);
      });
    });
  }
};
