// What the tests count: small programs of which one knows what they leave behind.

export const kSizes = [1, 10, 1000, 65536];

// On the GPU, where the backend has one: an op has used it.
export function made(tf, shape) {
  return tf.tidy(() => tf.add(tf.fill(shape, 2), tf.ones(shape)));
}

export function tenMade(tf) {
  return Array.from({length: 10}, (_, i) => made(tf, [100 + i, 30]));
}

export function smallModel(tf) {
  const model = tf.sequential({layers: [
    tf.layers.conv2d({inputShape: [16, 16, 3], filters: 8, kernelSize: 3, activation: 'relu'}),
    tf.layers.flatten(),
    tf.layers.dense({units: 10}),
  ]});
  return model;
}
