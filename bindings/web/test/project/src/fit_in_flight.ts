import * as tf from '@tensorflow/tfjs';
import {told} from './told';

// A model that is disposed while it learns.
export async function fitInFlight(isPlanted: boolean) {
  const model = tf.sequential({name: 'busy', layers: [tf.layers.dense({units: 1, inputShape: [2]})]});
  model.compile({optimizer: 'sgd', loss: 'meanSquaredError'});
  const xs = tf.ones([4, 2]);
  const ys = tf.ones([4, 1]);
  const fitting = model.fit(xs, ys, {epochs: 2, verbose: 0}); // @fit
  if (isPlanted) model.dispose(); // @dispose
  const text = await told(() => fitting);
  if (!isPlanted) model.dispose();
  tf.dispose([xs, ys]);
  return text;
}
