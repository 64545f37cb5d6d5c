'use strict';
// What cannot be loaded says what is missing, and what to do.

const assert = require('node:assert/strict');
const {execFileSync} = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const {test} = require('node:test');
const {whyNot} = require('../../lib/native_failure');

const HERE = `${process.platform}-${process.arch}`;

module.exports = ({union}) => {
  let copies = 0;
  // The package with its native half changed: `folder` is that of the prebuilt ones.
  function changed(change) {
    const project = union.copyTo(`changed ${++copies}`);
    const folder = project.file('node_modules', 'tenure-tfjs', 'prebuilds');
    const addon = path.join(folder, HERE, 'tenure.node');
    fs.copyFileSync(addon, `${addon}.copy`); // the other projects have the same file
    fs.renameSync(`${addon}.copy`, addon);
    change({folder, addon, project});
    return project;
  }

  // What loading throws, as a program sees it.
  async function thrown(project, options = []) {
    const program = `try { require('tenure-tfjs'); } catch (e) {
      console.log(JSON.stringify([e.name, e.code, e.reason, e.message, e.cause?.message])); }`;
    const [name, code, reason, message, cause] = JSON.parse(await project.output([...options, '-e', program]));
    assert.deepEqual([name, code], ['LoadError', 'LoadError']);
    assert.match(message, /^tenure-tfjs: /);
    return {reason, message, cause};
  }

  union.write(
    'told.js',
    `const {story} = require('tenure-tfjs/explain');
     console.log(story(require('@tensorflow/tfjs').ones([2])));`,
  );
  for (const [platform, arch, expected] of [
    ['darwin', 'arm64', /no native half for macOS, only for Linux: run it in a container/],
    ['win32', 'x64', /no native half for Windows, only for Linux: run it in WSL/],
    ['linux', 'arm', /no native half for Linux on arm in this package, only for \w+-\w+\. A checkout .* make npm-package/],
    ['freebsd', 'x64', /no native half for freebsd, only for Linux/],
  ]) {
    test(`on ${platform}, ${arch}, it says which systems there are, and stories still work`, async () => {
      union.write(
        `${platform}.js`,
        `for (const [name, value] of [['platform', '${platform}'], ['arch', '${arch}']])
           Object.defineProperty(process, name, {value});`,
      );
      const {reason, message} = await thrown(union, ['-r', `./${platform}.js`]);
      assert.equal(reason, 'platform');
      assert.match(message, expected);
      assert.match(message, /Stories need no native half: require\('tenure-tfjs\/explain'\)$/);
      const told = await union.output(['-r', `./${platform}.js`, 'told.js'], {env: {TENURE_SUMMARY: '0'}});
      assert.match(told, /born +told\.js:2 +ones/);
    });
  }

  test('a library of the package that is missing is named', async () => {
    const project = changed(({addon}) => {
      execFileSync('patchelf', ['--replace-needed', 'libzip.so.4', 'libnone.so.1', addon]);
    });
    const {reason, message, cause} = await thrown(project);
    assert.equal(reason, 'files');
    assert.match(message, /not whole, install it again: libnone\.so\.1 is missing beside .*tenure\.node$/);
    assert.match(cause, /^libnone\.so\.1: cannot open shared object file/);
  });

  test('where the C library is not glibc it says so', async () => {
    const project = changed(({addon, project}) => {
      execFileSync('patchelf', ['--replace-needed', 'libzip.so.4', 'libnone.so.1', addon]);
      project.write('musl.js', 'process.report.getReport = () => ({header: {}});');
    });
    const {reason, message} = await thrown(project, ['-r', './musl.js']);
    assert.equal(reason, 'system');
    assert.match(message, /is not glibc \(Alpine Linux has musl\): use an image such as node:22-slim/);
  });

  test('a file that is damaged, or gone, is told from a system that is not served', async () => {
    const damaged = changed(({addon}) => fs.truncateSync(addon, 0));
    const {reason, message} = await thrown(damaged);
    assert.equal(reason, 'files');
    assert.match(message, /its native half cannot be loaded: .*tenure\.node: file too short/);
    const gone = changed(({addon}) => fs.rmSync(addon));
    assert.match((await thrown(gone)).message, /not whole, install it again: there is no .*tenure\.node$/);
    const all = changed(({folder}) => fs.rmSync(folder, {recursive: true}));
    assert.match((await thrown(all)).message, /not whole, install it again: there is no .*tenure\.node$/);
  });

  // As the loaders of such systems say it.
  for (const [said, glibc, reason, expected] of [
    ['libstdc++.so.6: cannot open shared object file: No such file or directory', '2.36', 'system',
      /libstdc\+\+\.so\.6 is missing on this system: install libstdc\+\+6 \(Debian, Ubuntu\)/],
    ['libgcc_s.so.1: cannot open shared object file: No such file or directory', '2.36', 'system',
      /libgcc_s\.so\.1 is missing on this system: install libgcc-s1 \(Debian, Ubuntu\)/],
    ["/lib64/libc.so.6: version `GLIBC_2.34' not found (required by /x/tenure.node)", '2.28', 'system',
      /glibc 2\.28 of this system is too old \(it is asked for 2\.34\): the native half needs glibc 2\.34/],
    ["/lib64/libstdc++.so.6: version `GLIBCXX_3.4.30' not found (required by /x/tenure.node)", '2.34', 'system',
      /libstdc\+\+\.so\.6 of this system is too old \(it is asked for GLIBCXX_3\.4\.30\): .*GCC 12/],
    ["/lib64/libstdc++.so.6: version `CXXABI_1.3.13' not found (required by /x/tenure.node)", '2.34', 'system',
      /libstdc\+\+\.so\.6 of this system is too old \(it is asked for CXXABI_1\.3\.13\)/],
    ['/x/tenure.node: failed to map segment from shared object', '2.36', 'files',
      /cannot be loaded: .*failed to map segment/],
  ]) {
    test(`"${said}" is told as ${reason}`, () => {
      const error = whyNot(new Error(said), __filename, 'package', {...process, glibc});
      assert.equal(error.reason, reason);
      assert.match(error.message, expected);
      assert.equal(error.cause.message, said);
    });
  }
};
