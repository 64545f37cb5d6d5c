import * as tf from '@tensorflow/tfjs';
import {mark} from 'tenure-explain';
import {leaked} from './told';

// A hand-written training loop that drops its gradients.
export function gradients(isPlanted: boolean) {
  const w = tf.variable(tf.scalar(2));
  const before = mark();
  for (let i = 0; i < 5; i++) {
    const {value, grads} = tf.variableGrads(() => w.square().asScalar(), [w]); // @grads
    value.dispose();
    if (!isPlanted) tf.dispose(grads);
  }
  const list = leaked(before);
  w.dispose();
  return list;
}
