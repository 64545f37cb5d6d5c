import * as tf from '@tensorflow/tfjs';
import {growth} from 'tenure-explain';

const history: tf.Tensor[] = [];

// The same as frame_loop, by TensorFlow.js's own wait; and what is told when it is over.
export async function nextFrameLoop(isPlanted: boolean) {
  for (let frame = 0; frame < 24; frame++) {
    await tf.nextFrame();
    const features = tf.ones([4, 4]); // @features
    if (isPlanted) history.push(features);
    else features.dispose();
  }
  const during = growth();
  await new Promise(resolve => setTimeout(resolve, 1500));
  const list = growth().map(({site, op, stopped_ms}, i) => ({
    site, op, wasOn: during[i].stopped_ms === null, isOver: stopped_ms !== null,
  }));
  tf.dispose(history.splice(0));
  return list;
}
