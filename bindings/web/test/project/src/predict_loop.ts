import * as tf from '@tensorflow/tfjs';
import {mark} from 'tenure-explain';
import {leaked} from './told';

// A loop of predictions, none of which is disposed.
export function predictLoop(isPlanted: boolean) {
  const model = tf.sequential({layers: [tf.layers.dense({units: 2, inputShape: [3]})]});
  const frame = tf.zeros([1, 3]);
  const before = mark();
  for (let i = 0; i < 10; i++) {
    const scores = model.predict(frame) as tf.Tensor; // @predict
    if (!isPlanted) scores.dispose();
  }
  const list = leaked(before);
  model.dispose();
  frame.dispose();
  return list;
}
