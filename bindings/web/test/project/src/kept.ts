import * as tf from '@tensorflow/tfjs';
import {mark} from 'tenure-explain';
import {leaked} from './told';

// What is kept out of a tidy, and never disposed.
export function kept(isPlanted: boolean) {
  const x = tf.scalar(3);
  const before = mark();
  for (let i = 0; i < 5; i++) {
    tf.tidy(() => {
      const y = x.square(); // @square
      if (isPlanted) tf.keep(y); // @keep
    });
  }
  const list = leaked(before);
  x.dispose();
  return list;
}
