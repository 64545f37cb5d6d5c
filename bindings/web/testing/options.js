'use strict';
// What expectNoLeaks may be told, checked: a misspelt option would let leaks pass.

const kChecks = {
  tf: [value => typeof value === 'object' && typeof value.engine === 'function', 'TensorFlow.js'],
  allow: [value => Number.isInteger(value) && value >= 0, 'a number of tensors'],
  variables: [value => typeof value === 'boolean', 'true or false'],
  ignore: [value => typeof value === 'function', 'a function'],
  returned: [value => value === 'ok' || value === 'leak', '\'ok\' or \'leak\''],
};

function show(value) {
  return value === null ? 'null' : typeof value === 'object' ? 'an object' : String(value);
}

function checked(f, options) {
  if (typeof f !== 'function') {
    throw new TypeError(`expectNoLeaks: expected a function, got: ${show(f)}`);
  }
  if (options === null || typeof options !== 'object') {
    throw new TypeError(`expectNoLeaks: expected options as an object, got: ${show(options)}`);
  }
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined) continue;
    const check = Object.hasOwn(kChecks, name) ? kChecks[name] : null;
    if (check === null) {
      throw new TypeError(
          `expectNoLeaks: no such option: ${name}; there are: ${Object.keys(kChecks).join(', ')}`);
    }
    const [isRight, expected] = check;
    if (value === null || !isRight(value)) {
      throw new TypeError(`expectNoLeaks: ${name}: expected ${expected}, got: ${show(value)}`);
    }
  }
  const {tf, allow = 0, variables = false, ignore = () => false, returned = 'leak'} = options;
  return {tf, allow, variables, ignore, returned};
}

module.exports = {checked};
