'use strict';
// What is watched in TensorFlow.js's core: births and deaths, tidy and keep, kernels (which read
// their inputs), reads, variables, gradients and optimizers. The engine is one object for the whole
// process, so its methods are replaced there, whatever copies of the package are loaded.

const activities = require('./activities');
const {lookFar, userWithin} = require('./looks');
const {knowFunctions} = require('./stacks');
const {
  Death, Scope, assigned, born, died, freed, isVariable, lives, observers, otherDied, recordOf, used,
} = require('./lives');
const {kernelError} = require('./kernel_errors');
const {disposedError, place} = require('./story');
const {onUndo, patch} = require('./patches');

const kScope = Symbol('scope');
const kOp = Symbol('op');
const kTidy = 3; // frames that show who opens a tidy: ours, tf.tidy's and the user's

// The kernel that runs: what it makes is born where it was called. Kernels call kernels.
let kernel = null;
// The scope, model or optimizer whose end is killing tensors.
let ending = null;
let tidyOrigin = null;     // of the tidy that is about to open its scope
let assigningTo = null;    // the variable that is being given another value
let saving = false;        // a gradient is saving what it will need
let gradientOf = '';       // the op whose gradient runs

// Kernels whose name is not that of the function that runs them.
const kOps = new Map(Object.entries({
  Identity: 'clone', Multiply: 'mul', RealDiv: 'div', BatchMatMul: 'matMul', _FusedMatMul: 'matMul',
  Conv2D: 'conv2d', FusedConv2D: 'conv2d', DepthwiseConv2dNative: 'depthwiseConv2d',
  FusedDepthwiseConv2D: 'depthwiseConv2d', GatherV2: 'gather', Pack: 'stack', Unpack: 'unstack',
  SplitV: 'split', PadV2: 'pad', Select: 'where', FusedBatchNorm: 'batchNorm', ClipByValue:
  'clipByValue', LeakyRelu: 'leakyRelu', TenureSimpleRNN: 'simpleRNN', TenureGRU: 'gru', TenureLSTM:
  'lstm', TenureSimpleRNNGrad: 'gradient of simpleRNN', TenureGRUGrad: 'gradient of gru',
  TenureLSTMGrad: 'gradient of lstm',
}));

function kernelOp(name) {
  let op = kOps.get(name);
  if (op === undefined) {
    op = name.charAt(0).toLowerCase() + name.slice(1);
    kOps.set(name, op);
  }
  return op;
}

function disposedUse(tensor, op, input, below) {
  const {site} = activities.here(lookFar);
  return disposedError(recordOf(tensor), op, input, site, below);
}

// A disposed tensor whose data lives on in another one still works, and TensorFlow.js's own gradients
// count on it.
function isGone(engine, tensor) {
  return tensor && tensor.dataId !== undefined && !engine.state.tensorInfo.has(tensor.dataId) &&
      typeof tensor.dispose === 'function';
}

// Kernels that read the shape only.
const kShapeOnly = new Set(['OnesLike', 'ZerosLike']);

// A kernel fails if an input's data is gone.
function checkInputs(engine, name, inputs, op, below) {
  let index = 0;
  for (const key in inputs) {
    const input = inputs[key];
    if (isGone(engine, input) && !kShapeOnly.has(name)) throw disposedUse(input, op, index, below);
    index++;
  }
}

// The op that the user called, inside of which the library calls others; '' outside of any.
function opOf(engine) {
  const {activeScope} = engine.state;
  return activeScope == null ? '' : activeScope[kOp] || '';
}

function hookKernels(engine) {
  patch(engine, 'runKernel', original => function runKernel(name, inputs, attrs) {
    const outer = kernel;
    let origin, op;
    if (outer !== null) {
      origin = outer.origin;
      op = saving ? outer.op : kernelOp(name);
    } else {
      const activity = activities.current();
      origin = activities.here();
      op = (activity === null || !activity.isClosed ? opOf(this) : '') || kernelOp(name);
    }
    checkInputs(this, name, inputs, op, runKernel);
    kernel = {origin, op};
    const {trace} = observers;
    if (trace !== null) for (const key in inputs) used(inputs[key]);
    const begin = trace === null || outer !== null ? null : trace.opBegin();
    try {
      return original.call(this, name, inputs, attrs);
    } catch (error) {
      throw outer === null ? kernelError(error, op, origin.site, runKernel) : error;
    } finally {
      kernel = outer;
      if (begin !== null) trace.opEnd(begin, op, origin.site);
    }
  });

  // The engine's own clone is made only of what a gradient will need.
  patch(engine, 'clone', original => function(x) {
    const outer = saving;
    saving = true;
    try {
      return original.call(this, x);
    } finally {
      saving = outer;
    }
  });
}

function scopeOf(engine) {
  const {activeScope} = engine.state;
  return activeScope == null ? null : activeScope[kScope] || null;
}

// How many tensors have this one's data.
function holdersOf(engine, tensor) {
  const {backend} = engine.state.tensorInfo.get(tensor.dataId);
  try {
    // A variable is counted after its birth.
    return backend.refCount(tensor.dataId) + (isVariable(tensor) ? 1 : 0);
  } catch {
    return 1; // a backend need not count
  }
}

function stringsOf(engine, tensor) {
  const {backend} = engine.state.tensorInfo.get(tensor.dataId);
  return backend.readSync(tensor.dataId);
}

function hookLives(engine) {
  patch(engine, 'trackTensor', original => function trackTensor(tensor, backend) {
    const result = original.call(this, tensor, backend);
    if (assigningTo === tensor) return result;
    let origin, op;
    if (kernel !== null) {
      ({origin, op} = kernel);
    } else {
      const activity = activities.current();
      origin = activities.here();
      op = activity !== null && activity.isClosed ? 'tensor' : opOf(this) || null;
    }
    if (gradientOf && (op === null || !op.startsWith('gradient of '))) op = `gradient of ${gradientOf}`;
    if (isVariable(tensor)) op = 'variable';
    const owner = isVariable(tensor) ? 'variable' : saving ? 'tape' : '';
    born(tensor, op, origin, scopeOf(this), owner, () => stringsOf(this, tensor),
         () => holdersOf(this, tensor));
    return result;
  });

  // What is made of the user's values, not by a kernel.
  patch(engine, 'makeTensor', original => function makeTensor(...args) {
    try {
      return original.apply(this, args);
    } catch (error) {
      if (kernel !== null) throw error;
      const origin = activities.here(lookFar);
      const op = opOf(this) || activities.callHere(origin) || 'tensor';
      throw kernelError(error, op, origin.site, makeTensor);
    }
  });

  // It would be registered, and fail then.
  patch(engine, 'makeVariable', original => function makeVariable(value, ...rest) {
    if (isGone(this, value)) throw disposedUse(value, 'variable', 0, makeVariable);
    return original.call(this, value, ...rest);
  });

  const deathNow = () => ending === null ?
      new Death('disposed', activities.here(), '', null) :
      new Death(ending.cause, ending.origin, ending.by, ending.what);
  patch(engine, 'disposeTensor', original => function disposeTensor(tensor) {
    const life = lives.get(tensor);
    const isDeath = assigningTo !== tensor;
    const isCounted = this.state.tensorInfo.has(tensor.dataId); // else the engine passes it over
    if (life === undefined) {
      if (isCounted) otherDied(tensor, isDeath ? deathNow() : null);
    } else if (isDeath && life.death === null) {
      died(life, deathNow(), isCounted);
    }
    return original.call(this, tensor);
  });

  patch(engine, 'removeDataId', original => function(dataId, backend) {
    const result = original.call(this, dataId, backend);
    if (!this.state.tensorInfo.has(dataId)) freed(dataId);
    return result;
  });
}

// Scopes that the library opens: an op's, a layer's, a gradient's.
const kLibrarys = Symbol('of the library');
const kLibraryScope = Symbol('library scope');
const kOpEnding = {cause: 'scope_exit', origin: null, by: 'the op ended', what: null};

function libraryEnding(name) {
  const activity = activities.current();
  if (activity === null) return {cause: 'scope_exit', origin: null, by: `${name} ended`, what: null};
  if (activity.ending === null) {
    activity.ending =
        {cause: 'scope_exit', origin: activity.origin, by: `${activity.text} ended`, what: null};
  }
  return activity.ending;
}

// Of a scope that was opened when nobody looked.
function unseenEnding(name) {
  if (name.endsWith('__op')) return kOpEnding;
  const tidy = name === 'unnamed scope' ? 'a tidy' : `tidy "${name}"`;
  return {cause: 'scope_exit', origin: null, by: `${tidy} from before explain() ended`, what: null};
}

const opNames = new Map();

// "relu__op": relu
function opNamed(scopeName) {
  let op = opNames.get(scopeName);
  if (op === undefined) opNames.set(scopeName, op = scopeName.replace(/_?__op$/, ''));
  return op;
}

function hookScopes(engine) {
  patch(engine, 'tidy', original => function tidy(nameOrFn, fn) {
    const activity = activities.current();
    const isClosed = activity !== null && activity.isClosed;
    tidyOrigin = isClosed ? kLibrarys : userWithin(kTidy) || kLibrarys;
    try {
      if (nameOrFn === 'backward' && tidyOrigin === kLibrarys && !isClosed && activity !== null) {
        return activities.run(
            activities.part('backward', true), () => original.call(this, nameOrFn, fn));
      }
      return original.call(this, nameOrFn, fn);
    } finally {
      tidyOrigin = null; // if it opened no scope
    }
  });

  // Ops open scopes too, named after them.
  patch(engine, 'startScope', original => function startScope(name) {
    const isOp = typeof name === 'string' && name.endsWith('__op');
    const isTidy = tidyOrigin !== null;
    const origin = isOp ? kLibrarys : tidyOrigin || userWithin(kTidy) || kLibrarys;
    tidyOrigin = null;
    const outer = scopeOf(this), outerOp = opOf(this);
    const result = original.call(this, name);
    const {activeScope} = this.state;
    if (origin === kLibrarys) {
      activeScope[kScope] = outer;
      activeScope[kLibraryScope] = isOp ? 'op' : name || 'tidy';
      activeScope[kOp] = outerOp || (isOp ? opNamed(name) : '');
    } else {
      const scope = new Scope(name ? String(name) : '', origin, isTidy);
      activeScope[kScope] = scope;
      if (observers.trace !== null) observers.trace.scopeBegin(scope);
    }
    return result;
  });

  patch(engine, 'endScope', original => function(result) {
    const {activeScope} = this.state;
    const scope = scopeOf(this);
    const librarys = activeScope == null ? undefined : activeScope[kLibraryScope];
    const outer = ending;
    if (librarys !== undefined) {
      ending = kernel === null && librarys !== 'op' ? libraryEnding(librarys) : kOpEnding;
    } else if (activeScope != null && !(kScope in activeScope)) {
      ending = unseenEnding(activeScope.name);
    } else if (scope !== null) {
      scope.isAsync = result != null && typeof result.then === 'function';
      // Its label is worked out for who asks.
      const origin = scope.isTidy ? scope.origin : activities.here();
      ending = {cause: 'scope_exit', origin, by: null, what: scope};
    }
    try {
      return original.call(this, result);
    } finally {
      ending = outer;
      if (librarys === undefined && scope !== null && observers.trace !== null) {
        observers.trace.scopeEnd(scope);
      }
    }
  });

  patch(engine, 'keep', original => function keep(tensor) {
    const life = saving ? undefined : lives.get(tensor);
    if (life !== undefined && life.owner === '') life.keeping = userWithin(kTidy);
    return original.call(this, tensor);
  });
}

function hookGradients(engine) {
  patch(engine, 'gradients', original => function gradients(f, xs, dy, allowNoGradients) {
    if (activities.nearest('optimizer') !== null) {
      return original.call(this, f, xs, dy, allowNoGradients);
    }
    const activity = activities.begin('gradient', '', '', null);
    return activities.run(activity, () => original.call(this, f, xs, dy, allowNoGradients));
  });

  // What backward makes says of which op it is the gradient.
  patch(engine, 'addTapeNode', original => function(name, ...rest) {
    const isCustom = rest[2] != null;
    const op = kernel !== null ? kernel.op : isCustom ? 'a custom op' : kernelOp(name);
    const result = original.call(this, name, ...rest);
    const tape = this.state.activeTape;
    const node = tape == null ? null : tape[tape.length - 1];
    if (node != null && node.gradient != null) {
      const {gradient} = node;
      const named = f => function(...args) {
        const outer = gradientOf;
        gradientOf = op;
        try {
          const part = isCustom ? activities.part('gradient', false) : null;
          return part === null ? f.apply(this, args) :
                                 activities.run(part, () => f.apply(this, args));
        } finally {
          gradientOf = outer;
        }
      };
      node.gradient = named(function(...args) {
        const made = gradient.apply(this, args);
        for (const input in made) made[input] = named(made[input]);
        return made;
      });
    }
    return result;
  });
}

function hookTensors(tf) {
  patch(tf.Tensor.prototype, 'throwIfDisposed', original => function throwIfDisposed() {
    if (observers.trace !== null) used(this);
    if (!this.isDisposed) return original.call(this);
    const op = activities.callHere(activities.here(lookFar)) || 'read';
    throw disposedUse(this, op, -1, throwIfDisposed);
  });

  patch(tf.Variable.prototype, 'assign', original => function assign(value) {
    if (value && value.isDisposed) throw disposedUse(value, 'assign', 0, assign);
    const outer = assigningTo;
    assigningTo = this;
    try {
      return original.call(this, value);
    } finally {
      assigningTo = outer;
      assigned(this);
    }
  });
}

// Runs f; what dies meanwhile dies of `what`'s end. {kind, label, inFlight}.
function endingOf(what, origin, f) {
  const outer = ending;
  if (outer === null) {
    const during = what.inFlight ?
        ` while ${what.inFlight.op} ran (called ${place(what.inFlight.site)})` : '';
    ending = {cause: 'owner_disposed', origin, by: `${what.label} disposed${during}`, what};
  }
  try {
    return f(ending);
  } finally {
    ending = outer;
  }
}

function hookOptimizers(tf) {
  const label = optimizer => `optimizer ${optimizer.getClassName()}`;
  const seen = new Set();
  for (const key of Object.keys(tf)) {
    const made = /Optimizer$/.test(key) ? tf[key] : null;
    if (typeof made !== 'function' || !made.prototype || seen.has(made.prototype)) continue;
    seen.add(made.prototype);
    const has = name => Object.prototype.hasOwnProperty.call(made.prototype, name) &&
        typeof made.prototype[name] === 'function';
    for (const op of ['minimize', 'applyGradients', 'computeGradients']) {
      if (!has(op)) continue;
      patch(made.prototype, op, original => function method(...args) {
        const outer = activities.nearest('optimizer');
        if (outer !== null && outer.op === op) return original.apply(this, args);
        const activity = activities.begin('optimizer', this.getClassName(), op, this);
        if (op === 'applyGradients') activity.isClosed = true;
        return activities.run(activity, () => original.apply(this, args));
      });
    }
    if (!has('dispose')) continue;
    patch(made.prototype, 'dispose', original => function dispose() {
      const what = {kind: 'optimizer', label: label(this), inFlight: null};
      return endingOf(what, activities.here(), () => original.call(this));
    });
  }
}

// Once per copy of the package; the engine they share is hooked with the first.
const hooked = new WeakSet();

function once(object, f) {
  if (hooked.has(object)) return;
  hooked.add(object);
  onUndo(() => hooked.delete(object));
  f();
}

let hookedEngine = null;

function hookCore(tf) {
  const engine = tf.engine();
  knowFunctions(tf);
  once(engine, () => {
    hookedEngine = engine;
    onUndo(() => { hookedEngine = null; });
    hookKernels(engine);
    hookLives(engine);
    hookScopes(engine);
    hookGradients(engine);
  });
  once(tf.Tensor.prototype, () => hookTensors(tf));
  once(tf.Optimizer.prototype, () => hookOptimizers(tf));
}

module.exports = {
  disposedUse, endingOf, hookCore, once,
  get engine() { return hookedEngine; },
};
