// What the projects test: a step that leaks, one that does not, one that throws.

exports.leaky = tf => {
  const x = tf.scalar(3);
  return tf.add(x, 1).dataSync()[0];
};

exports.tidy = tf => tf.tidy(() => tf.add(tf.scalar(3), 1).dataSync()[0]);

exports.throwing = tf => {
  tf.scalar(3);
  throw new Error('the step failed');
};
