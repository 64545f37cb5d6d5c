'use strict';
// TypeScript programs compile against the installed package, and misuse does not.

const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const {test} = require('node:test');
const ts = require('typescript');

const USES = fs.readFileSync(path.join(__dirname, '..', 'types.ts'), 'utf8');
const DEFAULT = `
import tenure, {explain, type Mark} from 'tenure-tfjs';
import {story} from 'tenure-tfjs/explain';
import stories from 'tenure-tfjs/explain';
import * as tf from '@tensorflow/tfjs-core';
const before: Mark = tenure.mark();
explain();
const life: string = story(tf.ones([2])) + stories.leaks(before);
console.log(tenure.backend === 'tenure', life);
// @ts-expect-error: no such function
tenure.remember();
`;
const {ModuleKind, ModuleResolutionKind} = ts;
const WAYS = {
  node16: {module: ModuleKind.Node16, moduleResolution: ModuleResolutionKind.Node16},
  bundler: {module: ModuleKind.ESNext, moduleResolution: ModuleResolutionKind.Bundler},
};

module.exports = ({union}) => {
  function complaints(files, options) {
    const program = ts.createProgram(files.map((name) => union.file(name)), {
      strict: true,
      noEmit: true,
      noUnusedLocals: true,
      esModuleInterop: true,
      target: ts.ScriptTarget.ES2022,
      types: ['node'],
      typeRoots: [union.file('node_modules', '@types')],
      ...options,
    });
    return ts
      .getPreEmitDiagnostics(program)
      .filter(({file}) => !/node_modules\/(?!tenure-tfjs\/)/.test(file?.fileName ?? ''))
      .map(({file, messageText}) => `${file?.fileName}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`);
  }

  const files = ['cts', 'mts'].flatMap((extension) => {
    union.write(`uses.${extension}`, USES);
    union.write(`default.${extension}`, DEFAULT);
    return [`uses.${extension}`, `default.${extension}`];
  });
  for (const [name, options] of Object.entries(WAYS)) {
    test(`CommonJS and ES modules, resolved as ${name}`, () => {
      assert.deepEqual(complaints(files, options), []);
    });
  }

  test('a CommonJS program that knows no `exports`', () => {
    union.write('uses.ts', USES);
    union.write('asks.ts', "import tenure = require('tenure-tfjs');\nconsole.log(tenure.memory().tensors);\n");
    const options = {module: ModuleKind.CommonJS, moduleResolution: ModuleResolutionKind.Node10};
    assert.deepEqual(complaints(['uses.ts', 'asks.ts'], options), []);
  });

  test('what the types declare is what is exported', async () => {
    const folder = union.file('node_modules', 'tenure-tfjs');
    const roots = ['index.d.ts', 'index.d.mts', 'explain.d.ts', 'explain.d.mts'].map((name) => path.join(folder, name));
    const program = ts.createProgram(roots, WAYS.node16);
    const checker = program.getTypeChecker();
    const isValue = (symbol) => {
      const target = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
      return (target.flags & ts.SymbolFlags.Value) !== 0;
    };
    const declared = (name) => {
      const module = checker.getSymbolAtLocation(program.getSourceFile(path.join(folder, name)));
      return checker.getExportsOfModule(module).filter(isValue).map(({name}) => name).sort();
    };
    union.write(
      'names.mjs',
      `import {createRequire} from 'module';
       const require = createRequire(import.meta.url);
       const names = async (name) => [Object.keys(require(name)), Object.keys(await import(name))];
       console.log(JSON.stringify([await names('tenure-tfjs'), await names('tenure-tfjs/explain')]));`,
    );
    const said = JSON.parse(await union.output(['names.mjs'], {env: {TENURE_SUMMARY: '0'}}));
    for (const [i, name] of ['index', 'explain'].entries()) {
      const [required, imported] = said[i];
      assert.deepEqual(declared(`${name}.d.ts`), required.sort());
      assert.deepEqual(declared(`${name}.d.mts`), imported.sort());
    }
  });
};
