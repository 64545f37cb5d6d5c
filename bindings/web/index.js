// Stories for TensorFlow.js programs in the browser, on any backend.
import ends from './core/ends.js'; // before all others
import core from './core/index.js';
import './browser/platform.js';
import {watchFrames} from './browser/frames.js';
import {PageSource} from './browser/source.js';
import {loadPanel} from './browser/load_panel.js';
import backends from './held/index.js';

export {record} from './browser/recordings.js';

const {explain: stories, growth: growing, leaks: living, modules, story: telling, unmapped, words} = core;

export const {DisposedError} = telling;
export const {story} = stories;
export const {leaks, mark} = living;
export const {growth} = growing;

const kNoPage = 'there is no page here';
const isPage = typeof document !== 'undefined' || globalThis.process?.versions?.node === undefined;

let given = null; // the TensorFlow.js that is watched

function modulesOf(tf) {
  const list = Array.isArray(tf) ? tf : [tf];
  const found = list.find(part => part !== null && typeof part === 'object' && modules.isCore(part));
  if (found === undefined) {
    throw new TypeError(
        'explain: expected TensorFlow.js (import * as tf from \'@tensorflow/tfjs\'; explain(tf)), ' +
        `got: ${words.typeName(tf)}`);
  }
  return {list, tf: found};
}

/* From now on lives are recorded; explain(false): no more. `tf` may be an array of the packages that
 * a program uses one by one, tfjs-core among them; by default it is the global of a script tag. */
export function explain(tf = globalThis.tf) {
  if (!isPage) throw new Error(`explain: ${kNoPage}; in Node.js: require('tenure-explain/node'), or tenure-tfjs`);
  if (tf === false) {
    closePanel(); // until explain(tf)
    stories.switchOff();
    given = null;
    return;
  }
  const parts = modulesOf(tf);
  stories.switchOn(() => {
    for (const part of parts.list) {
      unmapped.knowCode(part);
      stories.hook(part, () => parts.tf.serialization);
    }
    watchFrames();
    return () => {};
  });
  given = parts.tf;
  if (panelOptions !== null && opened === null) openPanel().catch(error => console.error(error));
}

function watched(what) {
  if (given === null) throw new Error(`${what}: nothing is watched; call explain(tf) first`);
  return given;
}

// What the backend really holds, beside what tf.memory() says.
export function held() {
  return backends.held(watched('held'));
}

// What the panel shows, for a panel of one's own.
export function source() {
  return new PageSource(watched('source'), backends.held);
}

let opened = null;       // a promise of the panel, when it was asked for
let panelOptions = null; // of the panel that is there while something is watched

function openPanel() {
  const from = source();
  return opened = loadPanel().then(({open_panel}) => open_panel(from, panelOptions));
}

function closePanel() {
  if (opened !== null) opened.then(handle => handle.close(), () => {});
  opened = null;
}

export const panel = {
  // Asked for again, it has the focus.
  async open(options = {}) {
    if (typeof document === 'undefined') throw new Error(`panel.open: ${kNoPage}`);
    const before = [panelOptions, opened];
    panelOptions = options;
    try {
      await openPanel();
    } catch (error) {
      [panelOptions, opened] = before;
      throw error;
    }
  },
  async close() {
    panelOptions = null;
    closePanel();
  },
};

ends.push(new Error()); // after all the rest
