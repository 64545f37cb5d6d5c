'use strict';
// The kernels are those of the processor: none that it does not have, and the best that it has.

const assert = require('node:assert/strict');
const {execFileSync} = require('node:child_process');
const {test} = require('node:test');

const EMULATOR = 'qemu-x86_64';

function isHere(program) {
  try {
    execFileSync(program, ['--version'], {stdio: 'ignore'});
    return true;
  } catch {
    return false;
  }
}

// Of every kind: with the cpu backend's results beside those of ours.
const PROGRAM = `
const tf = require('@tensorflow/tfjs');
require('tenure-tfjs');
function results() {
  return tf.tidy(() => {
    const x = tf.linspace(-2, 2, 4096).reshape([64, 64]);
    const image = x.reshape([1, 32, 32, 4]);
    const kernel = tf.linspace(-1, 1, 3 * 3 * 4 * 8).reshape([3, 3, 4, 8]);
    const parts = [
      tf.matMul(x, x), tf.conv2d(image, kernel, 1, 'same'), tf.maxPool(image, 2, 2, 'same'),
      tf.tanh(x).mul(tf.sigmoid(x)), tf.softmax(x), x.sum(0), tf.topk(x, 5).values,
      tf.real(tf.fft(tf.complex(x, x))), tf.image.resizeBilinear(image, [17, 19]),
    ];
    return parts.map((part) => [...part.dataSync()]);
  });
}
(async () => {
  const ours = results();
  console.log(tf.getBackend());
  await tf.setBackend('cpu');
  const far = results().filter((values, i) => !values.every(
    (value, j) => Math.abs(value - ours[i][j]) <= 1e-4 * Math.max(1, Math.abs(value))));
  console.log(ours.length, 'results,', far.length, 'differ');
})();
`;
const PRINTS = 'tenure\n9 results, 0 differ\n';

// A name that is none is answered with those that are, the one in use first.
async function kernels(union, node) {
  const {text} = await union.run(['kernels.js'], {node, env: {TENURE_TARGET: '?'}});
  assert.ok(text.endsWith(PRINTS), text);
  return /is none of (.*), which kernels have here/.exec(text)[1].split(', ');
}

module.exports = ({union}) => {
  union.write('kernels.js', PROGRAM);

  test('every set of kernels that the processor can run gives the same', async () => {
    for (const target of await kernels(union, [process.execPath])) {
      assert.equal(await union.output(['kernels.js'], {env: {TENURE_TARGET: target}}), PRINTS);
    }
  });

  const skip =
    process.arch !== 'x64' ? 'of x64 processors' : isHere(EMULATOR) ? false : `needs ${EMULATOR} (Debian: qemu-user)`;
  for (const [processor, expected] of [
    ['Nehalem', ['baseline']], // 2008: SSE 4.2
    ['Haswell', ['avx2', 'baseline']], // 2013
  ]) {
    test(`on a ${processor} processor they are ${expected[0]}`, {skip}, async () => {
      assert.deepEqual(await kernels(union, [EMULATOR, '-cpu', processor, process.execPath]), expected);
    });
  }
};
