import * as tf from '@tensorflow/tfjs';
import {mark} from 'tenure-explain';
import {leaked} from './told';

// Elements of a dataset, and what is made of them.
export async function dataset(isPlanted: boolean) {
  const before = mark();
  await tf.data.array([1, 2, 3, 4]).forEachAsync(value => {
    const row = tf.tensor1d([value, value]); // @row
    if (!isPlanted) row.dispose();
  });
  return leaked(before);
}
