const {test} = require('node:test');
const tf = require('@tensorflow/tfjs');
const {expectNoLeaks} = require('../../../../testing');
const step = require('../step');

test('healthy', () => {
  expectNoLeaks(() => step.tidy(tf));
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
