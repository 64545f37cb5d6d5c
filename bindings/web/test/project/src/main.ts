// The page of the tests: runs one of the programs, planted or healthy, with stories.
import * as tf from '@tensorflow/tfjs';
import {setWasmPaths} from '@tensorflow/tfjs-backend-wasm';
import {explain} from 'tenure-explain';
import {awaitInTidy} from './await_in_tidy';
import {dataset} from './dataset';
import {disposedInput} from './disposed_input';
import {fitInFlight} from './fit_in_flight';
import {frameLoop} from './frame_loop';
import {gradients} from './gradients';
import {kept} from './kept';
import {loadedModel} from './loaded_model';
import {nextFrameLoop} from './next_frame_loop';
import {predictLoop} from './predict_loop';
import {tidyEscape} from './tidy_escape';
import {twoFits} from './two_fits';

type Program = (isPlanted: boolean) => unknown;
const programs: Record<string, Program> = {
  awaitInTidy, dataset, disposedInput, fitInFlight, frameLoop, gradients, kept, loadedModel, nextFrameLoop,
  predictLoop, tidyEscape, twoFits,
};

async function run(name: string, isPlanted: boolean, backend: string) {
  setWasmPaths(`${location.origin}/wasm/`);
  await tf.setBackend(backend);
  explain(tf);
  try {
    return await programs[name](isPlanted);
  } finally {
    explain(false);
  }
}

Object.assign(globalThis, {run});
