'use strict';
// What is watched in TensorFlow.js's data: who walks a dataset. Its elements are made and read long
// after the user's line has left the stack.

const activities = require('./activities');
const {once} = require('./engine_hooks');
const {patch} = require('./patches');

function hookDatasets(data) {
  const {prototype} = data.Dataset;
  once(prototype, () => {
    for (const op of ['forEachAsync', 'toArray', 'toArrayForTest']) {
      patch(prototype, op, original => function method(...args) {
        const activity = activities.begin('dataset', '', op, this);
        activity.isAsync = true;
        return activities.runAsync(activity, () => original.apply(this, args));
      });
    }
  });
}

module.exports = {hookDatasets};
