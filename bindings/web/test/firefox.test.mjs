import * as firefox from './browsers/firefox.mjs';
import {testPrograms} from './programs_in_browsers.mjs';

testPrograms(firefox, {esbuild: null, esbuildGenerators: ['awaitInTidy', 'fitInFlight']});
