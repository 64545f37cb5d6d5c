'use strict';
// The engine of TensorFlow.js, which all copies of the package share, and its backends.

function engineOf(tf) {
  const engine = tf != null && typeof tf.engine === 'function' ? tf.engine() : globalThis._tfengine;
  if (engine == null || engine.state == null) {
    throw new TypeError('held: no TensorFlow.js: give it as held(tf)');
  }
  return engine;
}

// Those that exist; one that is still being made is a promise.
function backendsOf(engine) {
  return Object.entries(engine.registry || {})
      .filter(([, backend]) => backend != null && typeof backend.then !== 'function')
      .map(([name, backend]) => ({name, backend}));
}

// What can be reached from the engine itself: variables, and what open scopes will dispose.
function* tensorsOf(engine) {
  yield* Object.values(engine.state.registeredVariables || {});
  for (const scope of engine.state.scopeStack || []) yield* scope.track || [];
}

module.exports = {backendsOf, engineOf, tensorsOf};
