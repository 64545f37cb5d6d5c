'use strict';
// Stories: what the records say, in one shape. What happened, then the life in order, then what to
// do. Facts only.

const {current} = require('./activities');
const {howToSee, observers, toldOf, whenUnseen} = require('./lives');
const {kLibrary} = require('./kinds');
const {kindAt} = require('./positions');
const {frameIn} = require('./stack_text');

// Its fields do not show when it is printed: the message says it all.
class DisposedError extends Error {
  constructor(message, story, site, below) {
    super(message);
    Object.defineProperties(this, {story: {value: story}, site: {value: site}});
    cutStack(this, below);
    showUserFrames(this);
  }
}
Object.defineProperty(DisposedError.prototype, 'name', {value: 'DisposedError'});

// Lets the stack of an error begin where `below` was called, in engines that can.
function cutStack(error, below) {
  if (Error.captureStackTrace) Error.captureStackTrace(error, below);
}

// The frames of a stack that are neither TensorFlow.js's nor ours. A program may have stacks of its
// own form (Error.prepareStackTrace), in which there are none.
function userFrames(stack) {
  if (typeof stack !== 'string') return '';
  const lines = stack.split('\n');
  return lines.filter(line => {
    const frame = frameIn(line);
    return frame !== null && kindAt(frame.file, frame.line, frame.column) !== kLibrary;
  }).join('\n');
}

// Leaves these in the error's stack, if there are any. Only V8's begins with the message.
function showUserFrames(error) {
  const {stack} = error;
  const frames = userFrames(stack);
  if (frames === '') return;
  error.stack = /^ {4}at /m.test(stack) ? `${error.name}: ${error.message}\n${frames}` : frames;
}

function place(site) {
  return site === null ? '(unknown)' : site.toString();
}

function table(rows) {
  let wide = 0, what = 0;
  for (const row of rows) {
    wide = Math.max(wide, row[1].length);
    what = Math.max(what, row[2].length);
  }
  return rows.map(([label, where, event, rest]) =>
    `  ${label.padEnd(9)} ${where.padEnd(wide + 4)}${event.padEnd(what + 5)}${rest}`.trimEnd())
      .join('\n');
}

function title(life) {
  const name = life.name ? ` "${life.name}"` : '';
  return `${life.dtype} [${life.shape.join(', ')}]${name} (#${life.id})`;
}

function birthRest(life) {
  const parts = life.why ? [life.why] : [];
  if (life.layer) parts.push(`in layer "${life.layer}"`);
  else if (life.model) parts.push(`in ${life.model}`);
  const {scope} = life;
  if (scope !== null && life.owner !== 'variable') {
    parts.push(`in ${scope.label} (opened ${place(scope.site)})`);
  }
  return parts.join(', ');
}

function rows(life) {
  const list = [['born', place(life.site), life.op || whenUnseen(), birthRest(life)]];
  if (life.kept !== null) list.push(['kept', place(life.kept), 'keep', '']);
  if (life.death !== null) {
    list.push(['died', place(life.death.site), life.death.cause, life.death.by]);
  }
  return list;
}

// in layer "dense_1", in fit of model "m" (called train.js:8). What the line of use says already is
// left out: the op that was called there.
function during(activity, op, site) {
  const parts = [];
  for (let a = activity; a !== null; a = a.parent) {
    if (a.kind === 'layer') {
      if (parts.length === 0) parts.push(`in ${a.label}`);
    } else if (a.kind === 'model' || a.kind === 'dataset') {
      const isHere = a.site === site;
      if (!isHere || op !== a.op) {
        parts.push(`in ${a.op} of ${a.label}${isHere && !a.isAsync ? '' : ` (called ${place(a.site)})`}`);
      }
      break;
    } else if (a.kind === 'several') {
      parts.push(`in ${a.text}`);
    } else if (a.kind === 'optimizer') {
      if (parts.length === 0) parts.push(`in ${a.op} of ${a.label}`);
    }
  }
  return parts.join(', ');
}

// Who has the data; '' where nobody knows.
function holders(life) {
  if (life.storage === null) return '';
  const {freed, others, tensors} = life.storage;
  return freed ? 'its data was freed' :
      tensors === 0 ? 'its data lives on, held by what was there before explain()' :
      `its data lives on in ${tensors} other tensor${tensors === 1 ? '' : 's'}` +
          `${others > 0 ? ', and in what was there before explain()' : ''}`;
}

function dataRow(life) {
  const text = holders(life);
  return text === '' ? '' : `\n  ${'holders'.padEnd(9)} ${text}`;
}

function remedy(life) {
  const {death} = life;
  if (death === null) return 'its data went with the backend: make it again after the switch.';
  if (death.cause === 'scope_exit') {
    if (death.ending !== null && death.ending.isAsync) {
      return 'tidy cannot wait for a Promise: what is made before the first await dies at once.\n' +
          '  Make it outside of the tidy and dispose it yourself, or tidy only what is synchronous.';
    }
    if (death.ending === null) return 'return it from the function, or tf.keep(it) inside.';
    return 'return it from the tidy, or tf.keep(it) before the tidy ends.';
  }
  if (death.cause === 'owner_disposed') {
    const {ending} = death;
    if (ending !== null && ending.inFlight) {
      return `await ${ending.inFlight.op} before disposing the ${ending.kind}.`;
    }
    return `use it before the ${ending === null ? 'owner' : ending.kind} is disposed, or clone it first.`;
  }
  if (!death.isSeen) {
    return `use it before it is disposed; to see where that is, ${howToSee()}.`;
  }
  for (let a = current(); a !== null; a = a.parent) {
    // What was born in it is its own affair.
    if (!a.isAsync || death.begun < a.number || life.begun >= a.number) continue;
    return `await ${a.op} (called ${place(a.site)}) before disposing it.`;
  }
  return 'use it before it is disposed, or dispose it later.';
}

// `told`: its op, problem and remedy.
function report(error, told, life) {
  if (observers.trace !== null) {
    const recorded = life !== null && life.storage !== null ? life : null;
    const parts = {type: 'DisposedError', ...told, text: error.message};
    observers.trace.raised(parts, error.site, recorded);
  }
  return error;
}

// A tensor was used after its death. `input`: which of the op's, or -1.
function disposedError(life, op, input, site, below) {
  const what = input < 0 ? 'the tensor was disposed' : `input ${input} was disposed`;
  const told = {op, problem: `${what}: ${title(life)}`, remedy: remedy(life)};
  const list = rows(life);
  list.push(['used', place(site), input < 0 ? op : `${op}, input ${input}`, during(current(), op, site)]);
  const text =
      `${op}: ${told.problem}\n\n${table(list)}${dataRow(life)}\n\n  ${told.remedy}\n`;
  return report(new DisposedError(text, toldOf(life), site, below), told, life);
}

// A layer, model or optimizer was used after its end. `record`: {label, origin, death}.
function endedError(record, op, site, below) {
  const list = [];
  const {origin} = record;
  if (origin !== null) list.push(['born', place(origin.site), origin.call.name, '']);
  const {death} = record;
  if (death !== null) list.push(['died', place(death.site), death.cause, death.by]);
  list.push(['used', place(site), op, during(current(), op, site)]);
  const inFlight = death !== null && death.ending !== null ? death.ending.inFlight : null;
  const problem = `${record.label} was disposed`;
  const advice = inFlight ? `await ${inFlight.op} (called ${place(inFlight.site)}) before dispose.` :
                            `use it before it is disposed, or make a new one.`;
  const error = new DisposedError(
      `${op}: ${problem}\n\n${table(list)}\n\n  ${advice}\n`, null, site, below);
  return report(error, {op, problem, remedy: advice}, null);
}

// The same as parts, for who shows it otherwise.
function parts(life) {
  const isDead = life.death !== null;
  return {
    title: title(life),
    text: tell(life),
    rows: rows(life).map(([label, where, event, rest]) => ({label, place: where, event, rest})),
    holders: isDead ? holders(life) : '',
    remedy: isDead ? remedy(life) : '',
  };
}

// The life of a tensor so far, as text.
function tell(life) {
  return `${title(life)}\n\n${table(rows(life))}${life.death === null ? '' : dataRow(life)}\n`;
}

module.exports = {
  DisposedError, cutStack, disposedError, during, endedError, parts, place, showUserFrames, table, tell, title,
  userFrames,
};
