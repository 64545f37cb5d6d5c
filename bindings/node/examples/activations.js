// relu, tanh and sigmoid, with the input disposed before, after, and by a timer.
const tf = require('@tensorflow/tfjs');

const sleep = ms => new Promise(resolve => setTimeout(resolve, ms));

async function main() {
  for (const activation of ['relu', 'tanh', 'sigmoid']) {
    const x = tf.tensor1d([-2, 0, 2]);
    const y = tf[activation](x);
    x.dispose();
    console.log(`${activation}, input disposed after: ${Array.from(await y.data(), v => v.toFixed(3))}`);
    y.dispose();
  }

  for (const activation of ['relu', 'tanh', 'sigmoid']) {
    const x = tf.tensor1d([-2, 0, 2]);
    x.dispose();
    try {
      tf[activation](x);
    } catch (error) {
      console.log(`${activation}, input disposed before: ${error.message}`);
    }
  }

  const input = tf.tensor1d([-2, 0, 2]);
  setTimeout(() => input.dispose(), 0);
  await sleep(20);
  try {
    input.relu().print();
  } catch (error) {
    console.log(`relu, input disposed by a timer: ${error.message}`);
  }
}

main();
