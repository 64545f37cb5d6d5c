import * as chromium from './browsers/chromium.mjs';
import {testPrograms} from './programs_in_browsers.mjs';

testPrograms(chromium, {
  esbuild: null, esbuildGenerators: ['awaitInTidy', 'fitInFlight', 'dataset', 'disposedInput', 'loadedModel'],
  vite: ['disposedInput', 'predictLoop', 'frameLoop'], webpack: ['disposedInput', 'predictLoop', 'frameLoop'],
});
