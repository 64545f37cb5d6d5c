// Models by name: a cache that disposes what it evicts, and one of weak references.
const tf = require('@tensorflow/tfjs');

function load(name) {
  const model = tf.sequential({name});
  model.add(tf.layers.dense(
      {units: 2, inputShape: [3], name: `${name}_dense`, kernelInitializer: 'ones'}));
  return model;
}

class ModelCache {
  constructor(limit) {
    this.limit = limit;
    this.models = new Map();
  }

  get(name) {
    let model = this.models.get(name);
    if (model === undefined) {
      model = load(name);
      this.models.set(name, model);
      if (this.models.size > this.limit) this.evict();
    }
    return model;
  }

  evict() {
    const [oldest, model] = this.models.entries().next().value;
    this.models.delete(oldest);
    model.dispose();
  }
}

async function main() {
  const x = tf.ones([1, 3]);
  const cache = new ModelCache(2);
  const cat = cache.get('cat');
  cache.get('dog');
  cache.get('bird');
  console.log(`cached: ${[...cache.models.keys()].join(', ')}; tensors: ${tf.memory().numTensors}`);
  try {
    cat.predict(x).print();
  } catch (error) {
    console.log(`cat.predict: ${error.message}`);
  }
  const again = tf.tidy(() => cache.get('cat').predict(x).dataSync());
  console.log(`cat, loaded again: ${again}; tensors: ${tf.memory().numTensors}`);

  // A weak reference lets go of the model, and nobody disposes its weights.
  const weak = new Map([['fish', new WeakRef(load('fish'))]]);
  await new Promise(resolve => setTimeout(resolve, 0));
  global.gc();
  console.log(`fish: ${weak.get('fish').deref() === undefined ? 'collected' : 'there'}; ` +
      `tensors: ${tf.memory().numTensors}`);

  for (const model of cache.models.values()) model.dispose();
  x.dispose();
  console.log(`tensors left: ${tf.memory().numTensors}`);
}

main();
