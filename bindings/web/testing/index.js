'use strict';
// expectNoLeaks: a test fails if the function that it runs leaves tensors behind, with the lines that
// made them. It needs nothing of the runner: what fails is an error like any other.

const {leaks, mark, watch} = require('./implementation');
const {checked} = require('./options');
const {judge, tell} = require('./report');

// Errors that tell leaks, and of how many tensors: a test around must not tell the same again.
const told = new WeakMap();

// The error, made where expectNoLeaks was called: after an await that line has left the stack.
function errorBelow(below) {
  const error = new Error();
  if (typeof Error.captureStackTrace === 'function') Error.captureStackTrace(error, below);
  return error;
}

// Puts a message into an error, and into its stack, which begins with the old one where V8 made it;
// source-map-support, which Jest has, writes a colon after a name without a message too. Gives whether
// the error let it: a frozen one stays as it is.
function setMessage(error, message) {
  const {stack} = error, before = error.message;
  const head = before === '' ? error.name : `${error.name}: ${before}`;
  if (!Reflect.defineProperty(error, 'message', {value: message, configurable: true, writable: true})) return false;
  if (typeof stack === 'string' && stack.startsWith(head)) {
    const frames = stack.slice(head.length).replace(/^: ?(?=\n|$)/, '');
    Reflect.set(error, 'stack', `${error.name}: ${error.message}${frames}`);
  }
  return true;
}

// Of whatever realm: a runner may have several.
function hasMessage(error) {
  return error !== null && typeof error === 'object' && typeof error.message === 'string';
}

class Watched {
  constructor(options, below) {
    this.options = options;
    this.error = errorBelow(below);
    this.end = watch(options.tf);
    this.mark = mark();
  }

  left(result) {
    if (!mark().isSeen) {
      setMessage(this.error, 'expectNoLeaks: found no TensorFlow.js: give it as {tf}');
      throw this.error;
    }
    return judge(leaks(this.mark), this.options, result);
  }

  returned(result) {
    const left = this.left(result);
    if (left.tensors <= this.options.allow) return result;
    const {allow} = this.options;
    setMessage(this.error, tell(left) + (allow > 0 ? `\n\n  ${allow} would have been allowed.` : ''));
    Object.defineProperty(this.error, 'leaks', {value: left.groups});
    told.set(this.error, left.tensors);
    throw this.error;
  }

  // The function's own error goes on, and names what was left because of it. What cannot, because it
  // is no error or lets nothing be changed, goes on too.
  threw(error) {
    if (!mark().isSeen) throw error;
    const left = this.left(undefined);
    if (left.tensors <= this.options.allow || left.tensors <= (told.get(error) || 0)) throw error;
    if (hasMessage(error) && setMessage(error, `${error.message}\n\nand ${tell(left)}`)) {
      told.set(error, left.tensors);
    } else {
      console.warn(`expectNoLeaks: ${tell(left)}`);
    }
    throw error;
  }
}

function call(f, watched) {
  try {
    return f();
  } catch (error) {
    return watched.threw(error);
  }
}

function run(f, options, below) {
  const watched = new Watched(checked(f, options), below);
  let isPending = false;
  try {
    const result = call(f, watched);
    if (result === null || typeof result !== 'object' || typeof result.then !== 'function') {
      return watched.returned(result);
    }
    isPending = true;
    return Promise.resolve(result)
        .then(value => watched.returned(value), error => watched.threw(error))
        .finally(() => watched.end());
  } finally {
    if (!isPending) watched.end();
  }
}

// Runs f, which may be async, and gives what it gives. Throws, or rejects, if tensors that were born
// meanwhile are alive at its end.
function expectNoLeaks(f, options = {}) {
  return run(f, options, expectNoLeaks);
}

// {pass, message} of a matcher, of f or of the promise of f.
function outcome(f, options, below) {
  const passed = {pass: true, message: () => 'expected tensors to be left, and there are none'};
  const failed = error => {
    if (!told.has(error) || error.leaks === undefined) throw error;
    return {pass: false, message: () => error.message};
  };
  try {
    const result = run(f, options, below);
    return result !== null && typeof result === 'object' && typeof result.then === 'function' ?
        result.then(() => passed, failed) : passed;
  } catch (error) {
    return failed(error);
  }
}

// For Jest and Vitest: expect.extend(matchers).
const matchers = {
  toLeakNoTensors(f, options = {}) {
    return outcome(f, options, matchers.toLeakNoTensors);
  },
};

// For Jasmine: jasmine.addAsyncMatchers(jasmineMatchers).
const jasmineMatchers = {
  toLeakNoTensors: () => ({
    async compare(f, options = {}) {
      const {pass, message} = await outcome(f, options, jasmineMatchers.toLeakNoTensors);
      return {pass, message: message()};
    },
  }),
};

module.exports = {expectNoLeaks, jasmineMatchers, matchers};
