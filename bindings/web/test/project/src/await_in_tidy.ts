import * as tf from '@tensorflow/tfjs';
import {told} from './told';

async function load(x: tf.Tensor) {
  const scaled = x.mul(2); // @scaled
  await Promise.resolve();
  return scaled.add(1); // @after
}

// A tidy around what waits. TensorFlow.js says so too, on the console.
export async function awaitInTidy(isPlanted: boolean) {
  const x = tf.scalar(1);
  const text = await told(async () => {
    const says = console.error;
    console.error = () => {};
    let result;
    try {
      result = isPlanted ? tf.tidy('load', () => load(x) as never) : load(x); // @tidy
    } finally {
      console.error = says;
    }
    (await result as tf.Tensor).dispose();
  });
  x.dispose();
  return text;
}
