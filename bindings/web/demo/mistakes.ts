// Two mistakes that people make, to be switched on.
import * as tf from "@tensorflow/tfjs";

// Keeps what each frame looked like, and never lets go of it.
export function remember_frame(picture: tf.Tensor3D): void {
  const small = tf.image.resizeBilinear(picture, [16, 16]);
  small.div(255);
}

// Lets go of the picture before its last use.
export function brightness_too_late(source: HTMLCanvasElement): number {
  const picture = tf.browser.fromPixels(source);
  const top = picture.max();
  picture.dispose();
  const brightness = picture.mean().div(top);
  return brightness.dataSync()[0]!;
}
