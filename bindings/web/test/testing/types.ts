import * as tf from '@tensorflow/tfjs';

import {expectNoLeaks, jasmineMatchers, matchers, type LeakGroup} from '../../testing/index.js';

const four: number = expectNoLeaks(() => 4);
const later: Promise<tf.Tensor> = expectNoLeaks(async () => tf.scalar(four), {tf, returned: 'ok'});
expectNoLeaks(() => {}, {
  allow: 1,
  variables: true,
  ignore: (group: LeakGroup) => group.count < 2 && group.site.endsWith('cache.ts:3'),
});
const passed: boolean = jasmineMatchers.toLeakNoTensors !== undefined && 'toLeakNoTensors' in matchers;

// @ts-expect-error: no such option
expectNoLeaks(() => {}, {alow: 1});
// @ts-expect-error: no function
expectNoLeaks(later);
// @ts-expect-error: no such word
expectNoLeaks(() => passed, {returned: 'yes'});
