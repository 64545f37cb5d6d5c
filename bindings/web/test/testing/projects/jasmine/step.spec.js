const tf = require('@tensorflow/tfjs');
const {expectNoLeaks, jasmineMatchers} = require('../../../../testing');
const step = require('../step');

describe('step', () => {
  beforeAll(() => jasmine.addAsyncMatchers(jasmineMatchers));

  it('healthy', () => {
    expect(expectNoLeaks(() => step.tidy(tf))).toBe(4);
  });

  it('leaking', async () => {
    await expectNoLeaks(async () => {
      await null;
      step.leaky(tf);
    });
  });

  it('throwing', () => {
    expectNoLeaks(() => step.throwing(tf));
  });

  it('matcher', async () => {
    await expectAsync(() => step.tidy(tf)).toLeakNoTensors();
    await expectAsync(async () => step.leaky(tf)).not.toLeakNoTensors();
  });

  it('leaking matcher', async () => {
    await expectAsync(() => step.leaky(tf)).toLeakNoTensors();
  });
});
