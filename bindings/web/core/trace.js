'use strict';
// A recording of what the hooks see. Each fit that goes on beside others is a thread of its own, so
// that spans nest on every thread.

const {current} = require('./activities');
const {alive} = require('./lives');
const {platform} = require('./platform');
const {TraceWriter} = require('./trace_writer');

// In the order of MemoryInfo's categories.
const kParameter = 0, kGradient = 1, kOptimizerState = 2, kSavedForBackward = 4, kOther = 6;

// Of no tensor: TensorFlow.js counts them from 0, so that 0 is one.
const kNoId = 2 ** 50;

function categoryOf(life) {
  if (life.owner === 'tape') return kSavedForBackward;
  if (life.owner === 'variable') return life.isOptimizers ? kOptimizerState : kParameter;
  return life.op.startsWith('gradient of') ? kGradient : kOther;
}

// As C++ programs name those that hold values: variable "w".
function ownerOf(life) {
  return life.name ? `${life.owner} "${life.name}"` : life.owner;
}

// What a model does that is told as a span.
const kSpans = new Set([
  'fit', 'fitDataset', 'evaluate', 'evaluateDataset', 'predict', 'predictOnBatch', 'trainOnBatch',
  'execute', 'executeAsync', 'predictAsync',
]);

class Trace {
  constructor(sink, version) {
    this.zero = platform.now();
    this.writer = new TraceWriter(sink, {
      program: platform.program(),
      version,
      started: Date.now(),
    });
    this.writer.language(0, 0, this.writer.string('javascript'));
    this.nextSpan = 0;
    this.bytesBorn = 0;
    this.threads = [true]; // which are taken
    this.steps = new WeakMap(); // model -> those trained so far
    const known = new Set();
    for (const life of alive) {
      this.birth(life, !known.has(life.storage), true);
      known.add(life.storage);
    }
  }

  now() {
    return Math.round((platform.now() - this.zero) * 1e6);
  }

  threadNow() {
    const activity = current();
    return activity === null ? 0 : activity.thread;
  }

  shape(dims) {
    const text = `[${dims.join(', ')}]`;
    return this.writer.string(text);
  }

  birth(life, isNewStorage, before) {
    const {writer} = this;
    const time = this.now(), thread = this.threadNow();
    const op = writer.string(life.op), dtype = writer.string(life.dtype);
    const shape = this.shape(life.shape), site = writer.site(life.site);
    const name = writer.string(life.name || (life.layer ? life.layer : ''));
    const saved = life.owner !== '';
    const owner = saved ? writer.string(ownerOf(life)) : 0;
    if (isNewStorage) writer.allocate(time, thread, life.storage.id, life.storage.nbytes, before);
    writer.birth(time, thread, {
      saved, before, holder: life.serial, storage: life.storage.id, id: life.id, op, dtype,
      shape, site, nbytes: life.nbytes, category: categoryOf(life),
      scope: life.scope !== null && life.scope.trace === this ? life.scope.span + 1 : 0, name, owner,
    });
    this.bytesBorn += life.nbytes;
  }

  born(life, isNewStorage) {
    this.birth(life, isNewStorage, false);
  }

  died(life) {
    const {writer} = this;
    const {cause, site, by} = life.death;
    const causeText = writer.string(cause), byText = writer.string(by), place = writer.site(site);
    writer.death(this.now(), this.threadNow(), life.serial, causeText, place, byText);
  }

  assigned(life, isNewStorage) {
    const time = this.now(), thread = this.threadNow();
    if (isNewStorage) {
      this.writer.allocate(time, thread, life.storage.id, life.storage.nbytes, false);
    }
    this.writer.move(time, thread, life.serial, life.storage.id);
  }

  freed(storage) {
    this.writer.free(this.now(), this.threadNow(), storage.id, storage.nbytes);
  }

  opBegin() {
    return {time: this.now(), bytes: this.bytesBorn};
  }

  // What began before close() may end after it, or go on: a fit keeps its recording.

  opEnd(begin, op, site) {
    if (this.writer === null) return;
    const text = this.writer.string(op), place = this.writer.site(site);
    this.writer.op(begin.time, this.now(), this.threadNow(), text, place,
                   this.bytesBorn - begin.bytes);
  }

  spanBegin(thread, kind, name, site) {
    const span = this.nextSpan++;
    if (this.writer === null) return span;
    const kindText = this.writer.string(kind), nameText = this.writer.string(name);
    const place = this.writer.site(site);
    this.writer.beginSpan(this.now(), thread, span, kindText, nameText, place);
    return span;
  }

  spanEnd(thread, span) {
    if (this.writer !== null) this.writer.endSpan(this.now(), thread, span);
  }

  scopeBegin(scope) {
    scope.trace = this;
    scope.thread = this.threadNow();
    scope.span = this.spanBegin(scope.thread, 'tidy', scope.name, scope.site);
  }

  scopeEnd(scope) {
    if (scope.trace === this) this.spanEnd(scope.thread, scope.span);
    scope.trace = null;
  }

  activityBegin(activity) {
    if (activity.isAsync) {
      let thread = this.threads.indexOf(false);
      if (thread < 0) thread = this.threads.length;
      this.threads[thread] = true;
      activity.thread = thread;
    }
    if (!kSpans.has(activity.op)) return;
    activity.span = this.spanBegin(activity.thread, activity.op, activity.name, activity.site);
  }

  activityEnd(activity) {
    while (activity.open !== null && activity.open.length > 0) {
      this.spanEnd(activity.thread, activity.open.pop());
    }
    if (kSpans.has(activity.op)) this.spanEnd(activity.thread, activity.span);
    if (activity.isAsync) this.threads[activity.thread] = false;
  }

  // fit's arguments with one callback more, which tells epochs, steps and losses.
  watchFit(tf, activity, op, args) {
    const at = op === 'fit' ? 2 : 1;
    const options = args[at] || {};
    const wrap = config => new tf.CustomCallback(config, options.yieldEvery);
    const given = options.callbacks == null ? [{}] :
        Array.isArray(options.callbacks) ? options.callbacks : [options.callbacks];
    const callbacks = given.map(c => typeof c.setParams === 'function' ? c : wrap(c));
    // An epoch or step that fails is still open when the fit ends.
    activity.open = [];
    const open = (kind, name) => {
      activity.open.push(this.spanBegin(activity.thread, kind, name, activity.site));
    };
    const close = () => this.spanEnd(activity.thread, activity.open.pop());
    let steps = this.steps.get(activity.subject) || 0;
    const values = (logs, prefix) => {
      if (this.writer === null) return;
      for (const [name, value] of Object.entries(logs || {})) {
        if (typeof value !== 'number' || name === 'batch' || name === 'size') continue;
        const text = this.writer.string(prefix + name);
        this.writer.value(this.now(), activity.thread, text, steps, value);
      }
    };
    const spans = {
      onEpochBegin: number => {
        open('epoch', String(number + 1));
      },
      onBatchBegin: () => {
        open('step', '');
      },
      onBatchEnd: (_, logs) => {
        this.steps.set(activity.subject, ++steps);
        values(logs, 'step_');
        close();
      },
      onEpochEnd: (_, logs) => {
        values(logs, '');
        close();
      },
    };
    const watched = [...args];
    watched[at] = {...options, callbacks: [...callbacks, new tf.CustomCallback(spans, 'never')]};
    return watched;
  }

  // `life` is null where it was no tensor. `text` is the whole message.
  raised({type, op, problem, remedy, text}, site, life) {
    const {writer} = this;
    writer.raised(this.now(), this.threadNow(), {
      type: writer.string(type), op: writer.string(op), problem: writer.string(problem),
      remedy: writer.string(remedy), text: writer.string(`${type}: ${text}`),
      site: writer.site(site), tensor: life === null ? kNoId : life.id,
    });
  }

  // Of a life that nobody has ended, and nobody uses any more.
  lastUse(life) {
    const ago = platform.now() - Math.max(life.used_ms, this.zero);
    this.writer.lastUse(this.now(), 0, life.serial, Math.round(ago * 1e6));
  }

  close(isExit) {
    if (this.writer === null) return;
    for (const life of alive) this.lastUse(life);
    this.writer.close(this.now(), isExit);
    this.writer = null;
  }
}

module.exports = {Trace};
