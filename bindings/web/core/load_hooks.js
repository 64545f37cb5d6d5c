'use strict';
// What is watched in TensorFlow.js's ways to load a model: what it makes of what came has the line that
// asked for it. The functions that load are a module's exports, which nobody can replace; the objects
// that they load with are of a few classes.

const activities = require('./activities');
const {once} = require('./engine_hooks');
const {lookFar} = require('./looks');
const {onUndo, patch} = require('./patches');

// One of each class, made without asking for anything.
function handlersOf(io) {
  const handlers = [];
  const ways = [
    () => io.http('http://localhost/', {fetchFunc() {}}),
    () => io.fromMemory({modelTopology: {}}),
    () => io.browserFiles([new File([], 'model.json')]),
    () => io.fileSystem('model.json'), // of tfjs-node
  ];
  for (const way of ways) {
    try {
      handlers.push(way());
    } catch {
      // not here
    }
  }
  return handlers;
}

let isOn = false; // a handler may be used after explain(false)

function watched(load) {
  return function(...args) {
    if (!isOn) return load.apply(this, args);
    const activity = activities.begin('load', '', '', this, lookFar);
    const result = activities.run(activity, () => load.apply(this, args));
    return result != null && typeof result.then === 'function' ? activities.resumeIn(activity, result) : result;
  };
}

function hookLoads(io) {
  isOn = true;
  onUndo(() => { isOn = false; });
  for (const handler of handlersOf(io)) {
    const prototype = Object.getPrototypeOf(handler);
    once(prototype, () => {
      if (Object.prototype.hasOwnProperty.call(prototype, 'load')) {
        patch(prototype, 'load', watched);
        return;
      }
      // Its constructor gives every one a function of its own.
      Object.defineProperty(prototype, 'load', {
        configurable: true,
        get: () => undefined,
        set: function setLoad(load) {
          Object.defineProperty(
              this, 'load', {value: watched(load), writable: true, enumerable: true, configurable: true});
        },
      });
      onUndo(() => delete prototype.load);
    });
  }
}

module.exports = {hookLoads};
