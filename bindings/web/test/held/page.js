// The page of the browser tests: TensorFlow.js, held and the programs, as `t`.

import * as tf from '@tensorflow/tfjs';
import {setThreadsCount, setWasmPaths} from '@tensorflow/tfjs-backend-wasm';
import '@tensorflow/tfjs-backend-webgpu';

import * as held from '../../held/index.js';
import * as programs from './programs.js';

setWasmPaths('/wasm/');

async function use(backend) {
  await tf.setBackend(backend);
  await tf.ready();
  return tf.getBackend();
}

const rowsOf = backend => held.held(tf).filter(row => row.backend === backend);

globalThis.t = {...held, ...programs, rowsOf, setThreadsCount, tf, use};
