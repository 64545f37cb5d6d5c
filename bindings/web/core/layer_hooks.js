'use strict';
// What is watched in TensorFlow.js's layers: which layer runs, which model is fitted or asked, and
// what becomes of layers and models, so that births name the layer and errors name the model.

const activities = require('./activities');
const {lookFar} = require('./looks');
const {observers} = require('./lives');
const {endedError, place} = require('./story');
const {disposedUse, endingOf, once} = require('./engine_hooks');
const {onUndo, patch} = require('./patches');

const made = new WeakMap();      // layer or model -> {label, born, made, death}
const inFlight = new WeakMap(); // model -> {op, site} of the fit that runs

function recordOf(layer, kind) {
  let record = made.get(layer);
  if (record === undefined) {
    record = {label: '', origin: null, death: null};
    made.set(layer, record);
  }
  if (record.label === '') record.label = `${kind} "${layer.name}"`;
  return record;
}

function isModel(layer) {
  return Array.isArray(layer.layers) && typeof layer.predict === 'function';
}

function kindOf(layer) {
  return isModel(layer) ? 'model' : 'layer';
}

// A layer's constructor gives it an id, once: that assignment is its birth.
function hookBirths(Layer) {
  const prototype = Layer.prototype;
  Object.defineProperty(prototype, 'id', {
    configurable: true,
    get: () => undefined,
    set: function setId(id) {
      Object.defineProperty(
          this, 'id', {value: id, writable: true, enumerable: true, configurable: true});
      const origin = activities.here();
      origin.read();
      made.set(this, {label: '', origin, death: null});
    },
  });
  onUndo(() => delete prototype.id);
}

// TensorFlow.js's own layers run no code of the user's, other than in layers that they wrap.
const builtIn = new WeakSet();

function isBuiltIn(layer) {
  return builtIn.has(Object.getPrototypeOf(layer));
}

function runIn(layer, f) {
  const current = activities.current();
  if (isModel(layer) || (current !== null && current.subject === layer)) return f();
  const activity = activities.begin('layer', layer.name, 'apply', layer);
  activity.isClosed = isBuiltIn(layer) && (layer.cell == null || isBuiltIn(layer.cell));
  return activities.run(activity, f);
}

// Layers run by apply, or, inside of models used as layers, by call.
function hookCalls(Layer, classes) {
  patch(Layer.prototype, 'apply', original => function apply(...args) {
    return runIn(this, () => original.apply(this, args));
  });
  for (const {prototype} of classes) {
    patch(prototype, 'call', original => function call(...args) {
      return runIn(this, () => original.apply(this, args));
    });
  }
}

let disposing = null;

function end(record, what, ending) {
  if (record.death !== null) return;
  const {inFlight} = what;
  const {site} = ending.origin;
  record.death = ending.what !== what ?
      {cause: ending.cause, site, by: ending.by, ending: ending.what} :
      {
        cause: 'disposed',
        site,
        by: inFlight ? `while ${inFlight.op} ran (called ${place(inFlight.site)})` : '',
        ending: what,
      };
}

function hookEnds(prototypes) {
  for (const prototype of prototypes) {
    const own = name => Object.prototype.hasOwnProperty.call(prototype, name);
    if (own('assertNotDisposed')) {
      patch(prototype, 'assertNotDisposed', original => function assertNotDisposed() {
        const record = made.get(this);
        if (record === undefined || record.death === null) return original.call(this);
        const origin = activities.here(lookFar);
        const {site} = origin;
        const activity = activities.current();
        let op = activities.callHere(origin) || (activity === null ? 'use' : activity.op);
        const {ending} = record.death;
        const model = ending !== null && ending.kind === 'model' && !isModel(this) ?
            ` of ${ending.label}` : '';
        for (let a = activity; a !== null; a = a.parent) {
          if (a.kind === 'model') op = a.op;
        }
        throw endedError(
            {...record, label: recordOf(this, kindOf(this)).label + model}, op, site,
            assertNotDisposed);
      });
    }
    if (own('dispose')) {
      patch(prototype, 'dispose', original => function dispose() {
        if (disposing === this) return original.call(this);
        const kind = kindOf(this);
        const record = recordOf(this, kind);
        const what = {kind, label: record.label, inFlight: inFlight.get(this) || null};
        const outer = disposing;
        disposing = this;
        try {
          return endingOf(what, activities.here(), ending => {
            const result = original.call(this);
            if (result.refCountAfterDispose === 0) end(record, what, ending);
            return result;
          });
        } finally {
          disposing = outer;
        }
      });
    }
  }
}

// The same holds for a step of training or testing if losses and metrics are TensorFlow.js's own.
function hookSteps(prototype) {
  const areOwn = given => given == null || typeof given === 'string' ||
      (typeof given === 'object' && Object.values(given).every(areOwn));
  for (const name of ['makeTrainFunction', 'makeTestFunction']) {
    if (!Object.prototype.hasOwnProperty.call(prototype, name)) continue;
    patch(prototype, name, original => function(...args) {
      const step = original.apply(this, args);
      if (!areOwn(this.loss) || !areOwn(this.metrics)) return step;
      return function(...data) {
        const part = activities.part('step', true);
        return part === null ? step.apply(this, data) :
                               activities.run(part, () => step.apply(this, data));
      };
    });
  }
}

function hookModels(tf, prototypes) {
  // Only layers run code of the user's in these, and they open an activity of their own.
  const closed = ['predict', 'predictOnBatch', 'compile', 'setWeights', 'getWeights', 'resetStates'];
  const sync = [...closed, 'evaluate'];
  const async = ['fit', 'fitDataset', 'evaluateDataset', 'trainOnBatch', 'save'];
  for (const prototype of prototypes) {
    const own = name => Object.prototype.hasOwnProperty.call(prototype, name);
    hookSteps(prototype);
    const isInside = (model, op) => {
      const current = activities.current();
      return current !== null && current.kind === 'model' && current.op === op &&
          (current.subject === model || current.subject.model === model); // a Sequential's own
    };
    for (const op of sync.filter(own)) {
      patch(prototype, op, original => function method(...args) {
        if (isInside(this, op)) return original.apply(this, args);
        const activity = activities.begin('model', this.name, op, this);
        activity.isClosed = closed.includes(op);
        const {trace} = observers;
        if (trace !== null) trace.activityBegin(activity);
        try {
          return activities.run(activity, () => original.apply(this, args));
        } finally {
          if (trace !== null) trace.activityEnd(activity);
        }
      });
    }
    for (const op of async.filter(own)) {
      patch(prototype, op, original => function method(...args) {
        if (isInside(this, op)) return original.apply(this, args);
        const activity = activities.begin('model', this.name, op, this);
        activity.isAsync = true;
        const {trace} = observers;
        if (trace !== null) {
          trace.activityBegin(activity);
          if (op === 'fit' || op === 'fitDataset') args = trace.watchFit(tf, activity, op, args);
        }
        const running = {op, origin: activity.origin, get site() { return this.origin.site; }};
        inFlight.set(this, running);
        const done = () => {
          if (inFlight.get(this) === running) inFlight.delete(this);
          if (trace !== null) trace.activityEnd(activity);
        };
        return activities.runAsync(activity, () => original.apply(this, args))
            .finally(done);
      });
    }
  }
}

function chainOf(prototype, last) {
  const chain = [];
  for (let p = prototype; p !== null && p !== Object.prototype; p = Object.getPrototypeOf(p)) {
    chain.push(p);
    if (p === last) break;
  }
  return chain;
}

function hookLayers(tf, serialization) {
  const {Layer} = tf.layers;
  once(Layer.prototype, () => {
    const registry = Object.values(serialization.SerializationMap.getMap().classNameMap);
    const all = registry.map(entry => entry[0]).filter(c => c.prototype instanceof Layer);
    const classes = all.filter(c => Object.prototype.hasOwnProperty.call(c.prototype, 'call'));
    const models = new Set([
      ...chainOf(tf.Sequential.prototype, Layer.prototype),
      ...chainOf(tf.LayersModel.prototype, Layer.prototype)]);
    hookBirths(Layer);
    for (const {prototype} of all) builtIn.add(prototype);
    hookCalls(Layer, classes);
    hookEnds(models);
    models.delete(Layer.prototype);
    patch(tf.LayerVariable.prototype, 'assertNotDisposed', original => function assertNotDisposed() {
      if (!this.val.isDisposed) return original.call(this);
      throw disposedUse(this.val, 'read', -1, assertNotDisposed);
    });
    hookModels(tf, models);
  });
}

module.exports = {hookLayers};
