import * as tf from '@tensorflow/tfjs';
import {growth} from 'tenure-explain';

const history: tf.Tensor[] = [];

// An animation that remembers every frame's features.
export async function frameLoop(isPlanted: boolean) {
  for (let frame = 0; frame < 24; frame++) {
    await new Promise(requestAnimationFrame);
    const pixels = tf.ones([4, 4]);
    const features = pixels.mean(0); // @mean
    pixels.dispose();
    if (isPlanted) history.push(features);
    else features.dispose();
  }
  const list = growth().map(({site, op, per_frame, stopped_ms}) => ({site, op, per_frame, stopped_ms}));
  tf.dispose(history.splice(0));
  return list;
}
