import * as tf from '@tensorflow/tfjs';
import {told} from './told';

function learner(name: string) {
  const model = tf.sequential({name, layers: [tf.layers.dense({units: 1, inputShape: [2]})]});
  model.compile({optimizer: 'sgd', loss: 'meanSquaredError'});
  return model;
}

// Two fits at once, whose inputs are disposed under both.
export async function twoFits(isPlanted: boolean) {
  const models = [learner('a'), learner('b')];
  const xs = tf.ones([4, 2]); // @born
  const ys = tf.ones([4, 1]);
  const fits = models.map(model => model.fit(xs, ys, {epochs: 2, verbose: 0}));
  if (isPlanted) xs.dispose(); // @died
  const texts = await Promise.all(fits.map(fit => told(() => fit)));
  for (const model of models) model.dispose();
  tf.dispose([xs, ys]);
  return texts[0];
}
