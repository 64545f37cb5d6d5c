import * as tf from '@tensorflow/tfjs';
import {told} from './told';

// An input that is disposed before its last use.
export function disposedInput(isPlanted: boolean) {
  const x = tf.ones([3]); // @born
  const y = x.square();
  if (isPlanted) x.dispose(); // @died
  return told(() => {
    tf.add(y, x).dispose(); // @used
    x.dispose();
    y.dispose();
  });
}
