// tf.keep and what is returned, in tidies inside of tidies.
const tf = require('@tensorflow/tfjs');

let kept, forgotten, inner;

const result = tf.tidy('outer', () => {
  const x = tf.tensor1d([1, 2, 3]);
  inner = tf.tidy('inner', () => {
    kept = tf.keep(x.square());
    forgotten = x.add(1);
    return x.mul(2);
  });
  console.log(`in the outer tidy: ${inner.dataSync()}`);
  return inner.sum();
});

console.log(`returned: ${result.dataSync()}`);
console.log(`kept: ${kept.dataSync()}`);
for (const [name, tensor] of Object.entries({forgotten, inner})) {
  try {
    console.log(`${name}: ${tensor.dataSync()}`);
  } catch (error) {
    console.log(`${name}: ${error.message}`);
  }
}

async function step() {
  const a = tf.scalar(3);
  await null;
  return a.square();
}
tf.tidy('async', () => step().catch(error => console.log(`after await: ${error.message}`)));

setTimeout(() => {
  result.dispose();
  console.log(`tensors left: ${tf.memory().numTensors}`);
}, 0);
