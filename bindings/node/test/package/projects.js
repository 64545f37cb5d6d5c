'use strict';
// Projects that have installed the package, in a folder from which nothing of this checkout is found.

const assert = require('node:assert/strict');
const {execFileSync, spawn} = require('node:child_process');
const {once} = require('node:events');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');

const checkout = path.join(__dirname, '..', '..', '..', '..');
const node_folder = path.join(checkout, 'bindings', 'node');
const root = fs.mkdtempSync(path.join(os.tmpdir(), 'tenure package '));
let outputs = 0;
process.on('exit', () => fs.rmSync(root, {recursive: true, force: true}));

// A user's: what this test was told is not theirs.
function environment(more) {
  const entries = Object.entries(process.env).filter(
    ([name]) => !/^(TENURE_|NODE_|npm_)/.test(name),
  );
  return {...Object.fromEntries(entries), ...more};
}

// As `make npm-package` does it.
function pack() {
  const out = path.join(root, 'packages');
  const addon = process.env.TENURE_ADDON;
  if (addon === undefined) throw new Error('TENURE_ADDON names the native half that is packed');
  execFileSync(
    process.execPath,
    [path.join(node_folder, 'tools', 'pack.js'), `--addon=${addon}`, `--out=${out}`],
    {stdio: ['ignore', 'ignore', 'inherit']},
  );
  return path.join(out, fs.readdirSync(out).find((name) => name.startsWith('tenure-tfjs-')));
}

class Project {
  constructor(name) {
    this.folder = path.join(root, name);
    fs.mkdirSync(this.folder, {recursive: true});
    this.write('package.json', '{"private": true}\n');
  }

  file(...names) {
    return path.join(this.folder, ...names);
  }

  write(name, text) {
    fs.mkdirSync(path.dirname(this.file(name)), {recursive: true});
    fs.writeFileSync(this.file(name), text);
    return this;
  }

  writeAll(texts) {
    for (const [name, text] of Object.entries(texts)) this.write(name, text);
  }

  install(...packages) {
    const options = ['install', '--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error'];
    execFileSync('npm', [...options, ...packages], {
      cwd: this.folder,
      env: environment(),
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    return this;
  }

  // A copy whose files have other names on disk, so that to Node.js they are other modules.
  copyTo(name) {
    const copy = new Project(name);
    execFileSync('cp', ['-rlfT', this.folder, copy.folder]);
    return copy;
  }

  // The status a program ends with and all that it prints, in order.
  async run(options, {node = [process.execPath], env = {}, cwd = this.folder} = {}) {
    const [command, ...first] = node;
    const file = path.join(root, `output ${++outputs}`);
    const fd = fs.openSync(file, 'w');
    try {
      const child = spawn(command, [...first, ...options], {
        cwd,
        env: environment(env),
        stdio: ['ignore', fd, fd],
      });
      const [status, signal] = await once(child, 'close');
      return {status: status ?? signal, text: withoutAdvertisement(fs.readFileSync(file, 'utf8'))};
    } finally {
      fs.closeSync(fd);
    }
  }

  // What a program prints that ends well.
  async output(options, where) {
    const {status, text} = await this.run(options, where);
    assert.equal(status, 0, `${options.join(' ')}:\n${text}`);
    return text;
  }
}

// Of another backend; TensorFlow.js prints it where it can.
function withoutAdvertisement(text) {
  return text.replace(/\n?={10,}\nHi, looks like you are running TensorFlow\.js[^]*?={10,}\n/g, '');
}

module.exports = {Project, checkout, node_folder, pack, root};
