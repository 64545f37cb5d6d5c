'use strict';
// Which tensors are alive, and since when: grouped by the line and the op that made them.

const hooks = require('./engine_hooks');
const {alive, observers, recordOf, whyUnseen} = require('./lives');
const lives = require('./lives');
const {place} = require('./story');
const {typeName} = require('./words');

class Mark {
  constructor(serial, isSeen) {
    this.serial = serial;
    this.isSeen = isSeen; // false: made while nobody looked
  }
}

// Tensors that were dropped are counted, by the line and the op that made them, and by the last mark
// before their birth.
let epochs = [];

function newEpoch(serial, mark) {
  epochs.push({serial, mark, groups: new Map()});
}

function forgetDropped() {
  epochs = [];
  newEpoch(0, null);
}
forgetDropped();

observers.forgotten = forgetDropped;
observers.dropped = life => {
  countLife(epochs.findLast(epoch => epoch.serial <= life.serial).groups, life);
};

function mark() {
  const made = new Mark(lives.births, hooks.engine !== null);
  // A mark that is gone divides nothing.
  const all = epochs;
  epochs = [];
  for (const epoch of all) {
    if (epoch.mark === null || epoch.mark.deref() !== undefined) epochs.push(epoch);
    else for (const [key, group] of epoch.groups) addTo(epochs.at(-1).groups, key, group);
  }
  newEpoch(made.serial, new WeakRef(made));
  return made;
}

function addTo(groups, key, {count, bytes, ids, ...rest}) {
  let group = groups.get(key);
  if (group === undefined) {
    group = {...rest, key, count: 0, bytes: 0, ids: []};
    groups.set(key, group);
  }
  group.count += count;
  group.bytes += bytes;
  group.ids.push(...ids);
}

// Of the line that made it, and what it made there.
function keyOf(life) {
  const {site} = life;
  return `${site === null ? -1 : site.index} ${what(life)}`;
}

// Adds a life to its group.
function countLife(groups, life, ids = []) {
  const {site} = life;
  addTo(groups, keyOf(life), {
    site, op: life.op, layer: life.layer, owner: life.owner, what: what(life),
    count: 1, bytes: life.nbytes, ids,
  });
}

function bytes(n) {
  if (n < 10240) return `${n} bytes`;
  const units = ['KiB', 'MiB', 'GiB', 'TiB'];
  let unit = 0;
  for (n /= 1024; n >= 1024 && unit + 1 < units.length; unit++) n /= 1024;
  return `${Number(n.toPrecision(4))} ${units[unit]}`;
}

function plural(n, noun) {
  return `${n} ${noun}${n === 1 ? '' : 's'}`;
}

function what(life) {
  if (life.owner === 'tape') return `${life.op}, saved for a gradient that never ran`;
  if (life.owner === 'variable') {
    if (life.layer) return `variable of layer "${life.layer}"`;
    if (life.isOptimizers) return 'variable of an optimizer';
    return life.name ? `variable "${life.name}"` : 'variable';
  }
  const inside = life.layer ? ` in layer "${life.layer}"` : life.model ? ` in ${life.model}` : '';
  const why = life.why ? `, ${life.why}` : '';
  return `${life.op}${inside}${why}${life.kept === null ? '' : `, kept ${place(life.kept)}`}`;
}

// What the engine counts beyond the lives that were seen: tensors from before explain(), and those
// that explain(false) forgot. It lists only the variables among them.
function countUnseen(groups) {
  const {engine} = hooks;
  if (engine === null) return;
  const {numBytes, numTensors, registeredVariables} = engine.state;
  let count = numTensors - lives.seen.tensors, bytes = numBytes - lives.seen.bytes;
  for (const variable of Object.values(registeredVariables)) {
    if (lives.lives.get(variable) !== undefined) continue;
    const life = recordOf(variable);
    countLife(groups, life, [life.id]);
    count--;
    bytes -= life.nbytes;
  }
  if (count <= 0) return;
  addTo(groups, 'unseen', {
    site: null, op: '', layer: '', owner: '', what: whyUnseen(), count,
    bytes: Math.max(0, bytes), ids: [],
  });
}

// What lives, of what was born since a mark if there is one, by line and what it is: the most bytes
// first. `site` is a Site, or null. Of those that V8 has collected there is no id.
function groupsSince(since) {
  const first = since === undefined ? 0 : since.serial;
  const groups = new Map();
  for (const life of alive) {
    if (life.serial >= first) countLife(groups, life, [life.id]);
  }
  for (const epoch of epochs) {
    if (epoch.serial < first) continue;
    for (const [key, group] of epoch.groups) addTo(groups, key, group);
  }
  if (since === undefined || !since.isSeen || first < lives.firstLife) countUnseen(groups);
  return [...groups.values()].sort((a, b) => b.bytes - a.bytes || b.count - a.count);
}

// The tensors born since the mark (or ever) that were not disposed: an array of {site, op, count,
// bytes, ids}, most bytes first, whose toString() is the table. Those that may be older than the
// mark, because nobody looked, are among them.
function leaks(since) {
  if (since !== undefined && !(since instanceof Mark)) {
    throw new TypeError(`leaks: expected what mark() gave, got: ${typeName(since)}`);
  }
  const list = groupsSince(since).map(({key, site, ...group}) => ({site: place(site), ...group}));
  Object.defineProperties(list, {
    tensors: {value: list.reduce((sum, group) => sum + group.count, 0)},
    bytes: {value: list.reduce((sum, group) => sum + group.bytes, 0)},
    toString: {value: () => table(list)},
  });
  return list;
}

function table(list) {
  const rows = list.map(g => [String(g.count), bytes(g.bytes), g.site, g.what]);
  const wide = [0, 1, 2].map(i => Math.max(0, ...rows.map(row => row[i].length)));
  return rows.map(row => `  ${row[0].padStart(wide[0])}   ${row[1].padStart(wide[1])}   ` +
      `${row[2].padEnd(wide[2])}   ${row[3]}`.trimEnd()).join('\n');
}

// What is printed when the program ends.
function summary(limit = 20) {
  const all = leaks();
  const tensors = all.filter(g => g.owner !== 'variable');
  const variables = all.filter(g => g.owner === 'variable');
  const sum = (list, key) => list.reduce((total, group) => total + group[key], 0);
  const lines = [];
  const show = list => {
    lines.push(table(list.slice(0, limit)));
    if (list.length > limit) lines.push(`  and at ${plural(list.length - limit, 'other place')}`);
  };
  const size = list => `(${bytes(sum(list, 'bytes'))})`;
  if (tensors.length > 0) {
    lines.push(`tenure: ${plural(sum(tensors, 'count'), 'tensor')} ${size(tensors)} alive at exit, born at`);
    show(tensors);
  }
  if (variables.length > 0) {
    const start = tensors.length > 0 ? '  and' : 'tenure:';
    lines.push(`${start} ${plural(sum(variables, 'count'), 'variable')} ${size(variables)}` +
        `${tensors.length > 0 ? '' : ' alive at exit'}, made at`);
    show(variables);
  }
  if (lines.length === 0) lines.push('tenure: no tensor is alive at exit');
  return lines.join('\n');
}

module.exports = {groupsSince, keyOf, leaks, mark, summary, what};
