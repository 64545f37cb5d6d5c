'use strict';
// index.d.ts declares what the package has, and programs written to it compile.

const assert = require('node:assert/strict');
const path = require('node:path');
const {test} = require('node:test');
const ts = require('typescript');

const folder = path.dirname(__dirname);
const declarations = path.join(folder, 'index.d.ts');
const program = ts.createProgram([path.join(__dirname, 'types.ts'), declarations], {
  strict: true,
  noEmit: true,
  noUnusedLocals: true,
  target: ts.ScriptTarget.ES2020,
  module: ts.ModuleKind.CommonJS,
  moduleResolution: ts.ModuleResolutionKind.Node10,
  baseUrl: folder,
  paths: {'tenure-tfjs': ['index.d.ts']},
  types: ['node'],
});

const text = message => ts.flattenDiagnosticMessageText(message, ' ');

test('a program that uses all of it compiles, and misuse does not', () => {
  const told = ts.getPreEmitDiagnostics(program)
                   .filter(({file}) => !file?.fileName.includes('/node_modules/'))
                   .map(d => `${d.file?.fileName}: ${text(d.messageText)}`);
  assert.deepEqual(told, []);
});

test('what is declared is what is exported', () => {
  const checker = program.getTypeChecker();
  const module = checker.getSymbolAtLocation(program.getSourceFile(declarations));
  const isValue = symbol => {
    const target = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
    return (target.flags & ts.SymbolFlags.Value) !== 0;
  };
  const declared = checker.getExportsOfModule(module).filter(isValue).map(symbol => symbol.name);
  assert.deepEqual(declared.sort(), Object.keys(require('..')).sort());
});
