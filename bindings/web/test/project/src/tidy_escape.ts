import * as tf from '@tensorflow/tfjs';
import {told} from './told';

// A tensor of a tidy that outlives it.
export function tidyEscape(isPlanted: boolean) {
  const x = tf.tensor1d([1, 2, 3]);
  let hidden: tf.Tensor | null = null;
  const result = tf.tidy('step', () => { // @tidy
    hidden = tf.tanh(x); // @tanh
    return isPlanted ? hidden.sum() : hidden;
  });
  return told(() => hidden!.dataSync()).then(text => { // @read
    tf.dispose([x, result]);
    return text;
  });
}
