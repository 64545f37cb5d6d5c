// What the core of explain needs of a browser.
import core from '../core/index.js';
import {inFlightActivities} from './in_flight.js';
import {fullPath, kindOf, shortPath} from './names.js';
import {isOwnCode, ownFile} from './own_code.js';
import {codeOf, mapOf} from './source_maps.js';

const {setPlatform, textStacks, v8} = core;

// Whether frames come as objects, as V8's do.
function hasFrameObjects() {
  const previous = Error.prepareStackTrace;
  let are = false;
  Error.prepareStackTrace = (_, frames) => {
    are = Array.isArray(frames);
    return '';
  };
  void new Error().stack;
  Error.prepareStackTrace = previous;
  return are;
}

setPlatform({
  now: () => performance.now(),
  kindOf,
  shortPath,
  fullPath,
  sourceMap: mapOf,
  codeOf,
  hasOwnCode: file => file === ownFile,
  isOwnCode,
  stackOf: hasFrameObjects() ? v8.stackOf : textStacks.stackOf,
  travelling: inFlightActivities,
  program: () => (globalThis.document && document.title) || globalThis.location?.href || 'page',
});
