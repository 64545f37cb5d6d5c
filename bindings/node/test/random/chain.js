// A chain: steps that make tensors of tensors, drawn from a seed. It is drawn while it runs on the
// cpu backend, whose shapes and dtypes say what may come next, and run once more on ours.
'use strict';

const tf = require('@tensorflow/tfjs');
const {ops} = require('./ops');

// Numbers from a seed: mulberry32.
function generator(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

const FLOATS = [0, -0, 1, -1, 0.5, -0.5, 1.5, 2, -2, 2.5, 3, -3, 4, 0.25];
const ODD_FLOATS = [NaN, Infinity, -Infinity];
const INTEGERS = [0, 1, -1, 2, 3, -3, 5, -7, 12];

function text(number) {
  return Object.is(number, -0) ? '-0' : String(number);
}

function leafSource(shape, dtype, values) {
  const tensor = (list, of) => `tf.tensor([${list.map(text)}], [${shape}], '${of}')`;
  if (dtype !== 'complex64') return tensor(values, dtype);
  const part = (offset) => values.filter((_, i) => i % 2 === offset);
  return `tf.complex(${tensor(part(0), 'float32')}, ${tensor(part(1), 'float32')})`;
}

// One value of a chain, as it is on one backend: what a step gave, by numbers only.
function snapshot(tensor) {
  return {shape: tensor.shape, dtype: tensor.dtype, values: Array.from(tensor.dataSync())};
}

function isExact({values}) {
  return values.every(
    (v) => !Number.isFinite(v) || (Math.abs(v) < 65536 && Number.isInteger(v * 64)),
  );
}

function compile(source) {
  // eslint-disable-next-line no-new-func
  return new Function('tf', 'v', `return ${source};`);
}

// $0 becomes v[3], if that is what it refers to.
function resolved(step) {
  return step.source.replace(/\$(\d)/g, (_, i) => `v[${step.refs[i]}]`);
}

// Runs one step. What it gives are tensors, or an error's message.
function runStep(step, v) {
  if (step.act === 'dispose') {
    v[step.refs[0]].dispose();
    return [];
  }
  if (step.act === 'drop') {
    v[step.refs[0]] = null;
    return [];
  }
  try {
    const result = tf.tidy(() => compile(resolved(step))(tf, v));
    return [].concat(result);
  } catch (error) {
    return {error: error.message};
  }
}

function read(tensors, early) {
  try {
    return tensors.map((tensor) => early.get(tensor) || snapshot(tensor));
  } catch (error) {
    return {error: error.message};
  }
}

class Drawing {
  constructor(random) {
    this.random = random;
    this.steps = []; // {source, refs, name, first, count} or {act, refs}
    this.v = []; // tensors on the cpu backend
    this.known = []; // {shape, dtype, exact, usable}
    this.needsExact = false;
  }
  below(n) {
    return Math.floor(this.random() * n);
  }
  chance(p) {
    return this.random() < p;
  }
  one(list) {
    return list[this.below(list.length)];
  }
  number(low, high) {
    return low + this.below(2 * (high - low)) / 2;
  }
  shuffled(list) {
    for (let i = list.length - 1; i > 0; --i) {
      const j = this.below(i + 1);
      [list[i], list[j]] = [list[j], list[i]];
    }
    return list;
  }
  anyShape(most = 4) {
    // Past what waits in a queue, and past what crosses in the shared memory.
    if (most >= 2 && this.chance(0.02)) return this.one([[257], [40, 30]]);
    const rank = this.below(most + 1);
    return Array.from({length: rank}, () => (this.chance(0.08) ? 0 : 1 + this.below(4)));
  }
  shape(i) {
    return this.known[i].shape;
  }
  rank(i) {
    return this.known[i].shape.length;
  }
  dtype(i) {
    return this.known[i].dtype;
  }

  // A value of one of the dtypes, of that shape or of one of the ranks: one that there is, or new.
  value({shape, dtypes, ranks}) {
    const fits = (k) =>
      k.usable &&
      (k.exact || !this.needsExact) &&
      dtypes.includes(k.dtype) &&
      (shape === undefined || tf.util.arraysEqual(shape, k.shape)) &&
      (ranks === undefined || ranks.includes(k.shape.length));
    const there = this.known
      .map((k, i) => [k, i])
      .filter(([k]) => fits(k))
      .map(([, i]) => i);
    if (there.length > 0 && this.chance(0.85))
      return there[this.chance(0.5) ? there.length - 1 : this.below(there.length)];
    if (shape === undefined) {
      do shape = this.anyShape();
      while (ranks !== undefined && !ranks.includes(shape.length));
    }
    return this.leaf({shape, dtype: this.one(dtypes)});
  }
  leaf({shape, dtype, values}) {
    const odd = this.chance(0.1);
    const draw =
      values ||
      (() => {
        if (dtype === 'bool') return this.below(2);
        if (dtype === 'int32') return this.one(INTEGERS);
        return odd && this.chance(0.3) ? this.one(ODD_FLOATS) : this.one(FLOATS);
      });
    const length = tf.util.sizeFromShape(shape) * (dtype === 'complex64' ? 2 : 1);
    const list = Array.from({length}, draw);
    return this.take({
      name: 'leaf',
      kind: 'exact',
      source: leafSource(shape, dtype, list),
      refs: [],
    });
  }

  // Adds a step, with what the cpu backend gives for it. The first value's index.
  take(step) {
    const exact = step.kind !== 'smooth' && step.refs.every((ref) => this.known[ref].exact);
    step.inputs = step.refs.map((ref) => this.known[ref]);
    const result = runStep(step, this.v);
    step.first = this.v.length;
    step.wanted = result.error === undefined ? read(result, new Map()) : result;
    if (step.wanted.error === undefined) {
      step.wanted.forEach((one, i) => {
        this.v.push(result[i]);
        const wild = one.values.some((x) => Math.abs(x) > 1e6 && Number.isFinite(x));
        const isNoTruth = one.dtype === 'bool' && one.values.some((x) => x > 1); // there a byte
        this.known.push({
          ...one,
          exact: exact && isExact(one),
          usable: !wild && !isNoTruth && one.values.length < 3000,
        });
      });
    }
    this.steps.push(step);
    return step.first;
  }

  act(name) {
    const usable = this.known.map((k, i) => [k, i]).filter(([k]) => k.usable);
    if (usable.length === 0) return;
    const [k, i] = this.one(usable);
    k.usable = name === 'dispose' && this.chance(0.2); // so that it may be used after its end
    const step = {act: name, refs: [i]};
    runStep(step, this.v);
    this.steps.push(step);
  }

  // A step of the table; of a float32 maybe its gradient; maybe on the other backend.
  draw() {
    if (this.chance(0.06)) return this.act('dispose');
    if (this.chance(0.06)) return this.act('drop');
    const op = this.one(ops);
    const isGradient = this.chance(0.2); // which may jump where its function does not
    this.needsExact = op.kind === 'steep' || isGradient;
    const step = {name: op.name, kind: op.kind, ...op.draw(this)};
    const x = this.known[step.refs[0]];
    if (isGradient && x !== undefined && x.dtype === 'float32' && step.source.includes('$0')) {
      step.source = `tf.grad((x) => ${step.source.replaceAll('$0', 'x')})($0)`;
      step.name = `gradient of ${step.name}`;
      step.kind = 'smooth';
    }
    step.onCpu = this.chance(0.1); // when it runs on ours, whose tensors move there and back
    return this.take(step);
  }
}

function drawChain(seed) {
  tf.setBackend('cpu');
  const drawing = new Drawing(generator(seed));
  const length = 3 + drawing.below(14);
  for (let i = 0; i < length; ++i) drawing.draw();
  for (const tensor of drawing.v) if (tensor !== null && !tensor.isDisposed) tensor.dispose();
  return drawing.steps;
}

const PRECISION = 1e-4;

// Where two results of a step differ, or null. `scale` is of the largest number on the way there.
function difference(wanted, given, scale) {
  const thrown = (result) => (result.error === undefined ? null : result.error);
  if (thrown(wanted) !== null || thrown(given) !== null) {
    if (thrown(wanted) !== null && thrown(given) !== null) return null;
    const [who, message] = thrown(given) !== null ? ['tenure', given.error] : ['cpu', wanted.error];
    return `only ${who} throws: ${message}`;
  }
  if (wanted.length !== given.length) return `${given.length} results, not ${wanted.length}`;
  for (let k = 0; k < wanted.length; ++k) {
    const [w, g] = [wanted[k], given[k]];
    const of = wanted.length > 1 ? ` of result ${k}` : '';
    if (g.dtype !== w.dtype) return `dtype${of}: ${g.dtype}, not ${w.dtype}`;
    if (!tf.util.arraysEqual(g.shape, w.shape)) return `shape${of}: [${g.shape}], not [${w.shape}]`;
    if (g.values.length !== w.values.length)
      return `${g.values.length} values, not ${w.values.length}`;
    const isFloat = w.dtype === 'float32' || w.dtype === 'complex64';
    const at = w.values.findIndex((a, i) => {
      const b = g.values[i];
      if (a === b || (Number.isNaN(a) && Number.isNaN(b))) return false;
      if (!isFloat || !Number.isFinite(a) || !Number.isFinite(b)) return true;
      return Math.abs(a - b) > PRECISION * (Math.abs(a) + scale / 10);
    });
    if (at >= 0) return `value ${at}${of}: ${text(g.values[at])}, not ${text(w.values[at])}`;
  }
  return null;
}

function largest(result) {
  if (result.error !== undefined) return 0;
  let most = 0;
  for (const {values} of result) {
    for (const v of values) if (Number.isFinite(v)) most = Math.max(most, Math.abs(v));
  }
  return most;
}

// Runs a chain on our backend. The first step that differs, {step, difference, given}, or null.
// `accepted` knows the differences that are meant.
function runChain(steps, accepted) {
  tf.setBackend('tenure');
  const v = [];
  const early = new Map(); // values of tensors that are disposed of
  const scales = []; // of each value
  const later = []; // what may wait is read at the end
  let failure = null;
  for (const step of steps) {
    if (step.act !== undefined) {
      const tensor = v[step.refs[0]];
      if (tensor == null) continue;
      if (step.act === 'dispose' && !early.has(tensor) && !tensor.isDisposed) {
        const values = read([tensor], early);
        if (values.error === undefined) early.set(tensor, values[0]);
      }
      runStep(step, v);
      continue;
    }
    if (step.onCpu) tf.setBackend('cpu');
    const tensors = runStep(step, v);
    if (step.onCpu) tf.setBackend('tenure');
    if (tensors.error === undefined) tensors.forEach((tensor, i) => (v[step.first + i] = tensor));
    later.push([step, tensors]);
  }
  for (const [step, tensors] of later) {
    const scale = Math.max(1, largest(step.wanted), ...step.refs.map((ref) => scales[ref] || 0));
    let given = tensors;
    if (tensors.error === undefined) given = read(tensors, early);
    if (step.wanted.error === undefined)
      step.wanted.forEach((_, i) => (scales[step.first + i] = scale));
    const found = difference(step.wanted, given, scale);
    if (found !== null && failure === null) {
      if (accepted(step, found)) break; // what follows has other inputs
      failure = {step, difference: found};
    }
  }
  for (const tensor of v) if (tensor != null && !tensor.isDisposed) tensor.dispose();
  return failure;
}

function makes(step, ref) {
  const count = step.wanted === undefined || step.wanted.error ? 0 : step.wanted.length;
  return ref >= step.first && ref < step.first + count;
}

// The steps that the last one needs, and what happens to their values on the way.
function needed(steps, last) {
  const refs = new Set(last.refs);
  const kept = [...steps].reverse().filter((step) => {
    if (step === last || step.act !== undefined) return true;
    if (![...refs].some((ref) => makes(step, ref))) return false;
    step.refs.forEach((ref) => refs.add(ref));
    return true;
  });
  return kept.reverse().filter((step) => step.act === undefined || refs.has(step.refs[0]));
}

// A step that gives the same values without computing them.
function literal(step) {
  const values = step.wanted.map((one) => leafSource(one.shape, one.dtype, one.values));
  const source = values.length === 1 ? values[0] : `[${values}]`;
  return {...step, name: 'leaf', onCpu: false, refs: [], inputs: [], source};
}

// A shorter chain that fails at the same step: what can be left out is, and what can be given
// instead of computed.
function shrink(steps, failure, accepted) {
  const last = failure.step;
  const fails = (candidate) => {
    const again = runChain(candidate, accepted);
    return again !== null && again.step === last;
  };
  let best = steps.slice(0, steps.indexOf(last) + 1);
  if (fails(needed(best, last))) best = needed(best, last);
  for (let changed = true; changed;) {
    changed = best.some((step) => {
      if (step === last || (step.name === 'leaf' && !step.onCpu) || step.wanted?.error)
        return false;
      const others =
        step.act === undefined
          ? best.map((other) => (other === step ? literal(step) : other))
          : best.filter((other) => other !== step);
      const candidate = needed(others, last);
      if (!fails(candidate)) return false;
      best = candidate;
      return true;
    });
  }
  return best;
}

// As a program to run in this package's folder.
function program(steps, failure, seed) {
  const lines = [
    `// seed ${seed}: ${failure.step.name}: ${failure.difference}`,
    "const tf = require('@tensorflow/tfjs');",
    "require('.');",
    "for (const backend of ['cpu', 'tenure']) {",
    '  tf.setBackend(backend);',
    '  try {',
    '    const v = [];',
  ];
  for (const step of steps) {
    if (step.onCpu) lines.push("    tf.setBackend('cpu');");
    if (step.act === 'dispose') lines.push(`    v[${step.refs[0]}].dispose();`);
    else if (step.act === 'drop') lines.push(`    v[${step.refs[0]}] = null;`);
    else if (step === failure.step)
      lines.push(`    [].concat(${resolved(step)}).forEach((t) => t.print(true));`);
    else if (step.wanted.error === undefined) {
      const names = step.wanted.map((_, i) => `v[${step.first + i}]`);
      lines.push(`    [${names}] = [].concat(${resolved(step)});`);
    }
    if (step.onCpu) lines.push('    tf.setBackend(backend);');
  }
  lines.push('  } catch (error) {', '    console.log(error.message);', '  }', '}');
  return lines.join('\n');
}

module.exports = {Drawing, drawChain, generator, program, runChain, shrink};
