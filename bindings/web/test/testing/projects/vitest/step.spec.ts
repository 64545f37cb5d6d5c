import * as tf from '@tensorflow/tfjs';
import {expect, test} from 'vitest';

import {expectNoLeaks, matchers, type LeakMatchers} from '../../../../testing/index.js';
import * as step from '../step.js';
import * as typed from '../typed_step.ts';

declare module 'vitest' {
  interface Matchers<T = any> extends LeakMatchers {}
}

expect.extend(matchers);

test('healthy', async () => {
  const four: number = await expectNoLeaks(async () => step.tidy(tf), {tf});
  expect(four).toBe(4);
});

test('leaking', async () => {
  await expectNoLeaks(async () => {
    await null;
    step.leaky(tf);
  });
});

test('throwing', () => {
  expectNoLeaks(() => step.throwing(tf));
});

test('matcher', async () => {
  expect(() => step.tidy(tf)).toLeakNoTensors();
  await expect(async () => step.tidy(tf)).toLeakNoTensors();
  expect(() => step.leaky(tf)).not.toLeakNoTensors();
});

test('leaking matcher', async () => {
  await expect(async () => step.leaky(tf)).toLeakNoTensors();
});

test('leaking in TypeScript', () => {
  expectNoLeaks(() => typed.leaky(tf, {scale: 2, name: 'x'}));
});
