'use strict';
// What is watched in TensorFlow.js's converter: models that were converted from elsewhere, whose
// weights die with them.

const activities = require('./activities');
const {observers} = require('./lives');
const {lookFar} = require('./looks');
const {endingOf, once} = require('./engine_hooks');
const {patch} = require('./patches');

const kKind = 'graph model';

function nameOf(model) {
  const {modelUrl} = model;
  return typeof modelUrl === 'string' ? modelUrl : '';
}

function hookRuns(prototype) {
  const isInside = () => {
    const current = activities.current();
    return current !== null && current.kind === 'model' && current.isClosed;
  };
  for (const op of ['predict', 'execute']) {
    patch(prototype, op, original => function method(...args) {
      if (isInside()) return original.apply(this, args);
      const activity = activities.begin('model', nameOf(this) || 'graph', op, this);
      activity.isClosed = true;
      const {trace} = observers;
      if (trace !== null) trace.activityBegin(activity);
      try {
        return activities.run(activity, () => original.apply(this, args));
      } finally {
        if (trace !== null) trace.activityEnd(activity);
      }
    });
  }
  for (const op of ['predictAsync', 'executeAsync']) {
    patch(prototype, op, original => function method(...args) {
      if (isInside()) return original.apply(this, args);
      const activity = activities.begin('model', nameOf(this) || 'graph', op, this);
      activity.isClosed = activity.isAsync = true;
      const {trace} = observers;
      if (trace !== null) trace.activityBegin(activity);
      return activities.runAsync(activity, () => original.apply(this, args)).finally(() => {
        if (trace !== null) trace.activityEnd(activity);
      });
    });
  }
}

function hookGraphModels(tf) {
  const {prototype} = tf.GraphModel;
  once(prototype, () => {
    hookRuns(prototype);
    patch(prototype, 'load', original => function load(...args) {
      const activity = activities.begin('load', '', 'loadGraphModel', this, lookFar);
      activity.isAsync = true;
      let result; // no promise where the handler gives none
      activities.runAsync(activity, () => Promise.resolve(result = original.apply(this, args)));
      return result;
    });
    patch(prototype, 'dispose', original => function dispose() {
      const label = nameOf(this) ? `${kKind} "${nameOf(this)}"` : kKind;
      const what = {kind: kKind, label, inFlight: null};
      return endingOf(what, activities.here(), () => original.call(this));
    });
  });
}

module.exports = {hookGraphModels};
