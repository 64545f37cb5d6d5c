'use strict';

const {parentPort, workerData} = require('worker_threads');
const tf = require('@tensorflow/tfjs');
require('..');

// It leaves tensors behind on purpose.
const x = tf.fill([64, 64], workerData);
let sum = tf.scalar(0);
for (let i = 0; i < 64; ++i) sum = tf.add(sum, tf.sum(x));
parentPort.postMessage(sum.dataSync()[0]);
