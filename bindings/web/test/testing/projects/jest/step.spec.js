const tf = require('@tensorflow/tfjs');
const {expectNoLeaks, matchers} = require('../../../../testing');
const step = require('../step');
const typed = require('../typed_step.ts');

expect.extend(matchers);

test('healthy', () => {
  expect(expectNoLeaks(() => step.tidy(tf), {tf})).toBe(4);
});

test('healthy, async', async () => {
  expect(await expectNoLeaks(async () => step.tidy(tf), {tf})).toBe(4);
});

test('leaking', async () => {
  await null;
  await expectNoLeaks(async () => {
    await null;
    step.leaky(tf);
  }, {tf});
});

test('throwing', () => {
  expectNoLeaks(() => step.throwing(tf), {tf});
});

test('matcher', async () => {
  expect(() => step.tidy(tf)).toLeakNoTensors({tf});
  await expect(async () => step.tidy(tf)).toLeakNoTensors({tf});
  expect(() => step.leaky(tf)).not.toLeakNoTensors({tf});
});

test('leaking matcher', async () => {
  await expect(async () => step.leaky(tf)).toLeakNoTensors({tf});
});

test('leaking in TypeScript', () => {
  expectNoLeaks(() => typed.leaky(tf, {scale: 2, name: 'x'}), {tf});
});
