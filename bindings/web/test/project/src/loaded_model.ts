import * as tf from '@tensorflow/tfjs';
import {mark} from 'tenure-explain';
import {leaked} from './told';

// A model that is loaded, and what TensorFlow.js makes of what came.
export async function loadedModel(isPlanted: boolean) {
  const made = tf.sequential({layers: [tf.layers.dense({units: 2, inputShape: [3]})]});
  let saved: tf.io.ModelArtifacts = {};
  await made.save(tf.io.withSaveHandler(async artifacts => {
    saved = artifacts;
    return {modelArtifactsInfo: {dateSaved: new Date(), modelTopologyType: 'JSON'}};
  }));
  made.dispose();
  const before = mark();
  const model = await tf.loadLayersModel(tf.io.fromMemory(saved)); // @load
  if (!isPlanted) model.dispose();
  return leaked(before);
}
