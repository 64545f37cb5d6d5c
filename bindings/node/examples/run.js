'use strict';
// Runs the programs here as they are, on TensorFlow.js's cpu backend, on Tenure, and on Tenure with
// stories. Compares what they print with expected/, or with --write renews that and the table in
// docs/guide/tensorflowjs.md.
//
//   node run.js [--write] [name...]

const {spawnSync} = require('child_process');
const fs = require('fs');
const os = require('os');
const path = require('path');

const MODES = {
  stock: [],
  tenure: ['-r', '../index.js'],
  explain: ['-r', '../explain.js', '-r', '../index.js'],
};
const GUIDE = path.join(__dirname, '..', '..', '..', 'docs', 'guide', 'tensorflowjs.md');

function names() {
  return fs.readdirSync(__dirname).filter(file => file.endsWith('.js') && file !== 'run.js')
      .map(file => path.basename(file, '.js')).sort();
}

function expectedFile(name, mode) {
  return path.join(__dirname, 'expected', `${name}.${mode}.txt`);
}

// All that the program prints, in order; without the advertisement of another backend.
function outputOf(name, mode) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tenure-'));
  const file = path.join(folder, 'output');
  const fd = fs.openSync(file, 'w');
  try {
    const {status, signal} = spawnSync(
        process.execPath, ['--expose-gc', ...MODES[mode], `${name}.js`],
        {cwd: __dirname, stdio: ['ignore', fd, fd]});
    const text = fs.readFileSync(file, 'utf8')
        .replace(/\n?={10,}\nHi, looks like you are running TensorFlow\.js[^]*?={10,}\n/g, '');
    return status === 0 ? text : `${text}[ended with ${signal || status}]\n`;
  } finally {
    fs.closeSync(fd);
    fs.rmSync(folder, {recursive: true});
  }
}

// The line that says what the program does is its first.
function purpose(name) {
  const [first] = fs.readFileSync(path.join(__dirname, `${name}.js`), 'utf8').split('\n');
  return first.replace(/^\/\/ */, '');
}

function block(text) {
  return '```\n' + text.trimEnd() + '\n```\n';
}

function section(name) {
  const [stock, tenure, explained] = Object.keys(MODES).map(
      mode => fs.readFileSync(expectedFile(name, mode), 'utf8'));
  const parts = [`### ${name}.js\n\n${purpose(name)}\n`];
  parts.push(`${tenure === stock ? 'On the cpu backend and on Tenure:' : 'On the cpu backend:'}\n\n${block(stock)}`);
  if (tenure !== stock) parts.push(`On Tenure:\n\n${block(tenure)}`);
  parts.push(`With stories:\n\n${block(explained)}`);
  return parts.join('\n');
}

function writeGuide() {
  const begin = '<!-- made by bindings/node/examples/run.js --write -->\n';
  const end = '<!-- end -->\n';
  const guide = fs.readFileSync(GUIDE, 'utf8');
  const from = guide.indexOf(begin), to = guide.indexOf(end);
  if (from < 0 || to < from) throw new Error(`${GUIDE}: no place for what the programs print`);
  fs.writeFileSync(
      GUIDE, guide.slice(0, from + begin.length) + '\n' + names().map(section).join('\n') + '\n' + guide.slice(to));
}

if (require.main === module) {
  const args = process.argv.slice(2);
  const write = args.includes('--write');
  const chosen = args.filter(arg => arg !== '--write');
  let wrong = 0;
  for (const name of chosen.length > 0 ? chosen : names()) {
    for (const mode of Object.keys(MODES)) {
      const text = outputOf(name, mode);
      if (write) {
        fs.mkdirSync(path.join(__dirname, 'expected'), {recursive: true});
        fs.writeFileSync(expectedFile(name, mode), text);
      } else if (text !== fs.readFileSync(expectedFile(name, mode), 'utf8')) {
        console.log(`${name}, ${mode}: printed\n${text}`);
        ++wrong;
      }
    }
  }
  if (write) writeGuide();
  process.exitCode = wrong === 0 ? 0 : 1;
}

module.exports = {MODES, expectedFile, names, outputOf, section, GUIDE};
