'use strict';
// Which lines hold more with every turn of what repeats: an animation's frames, the steps of a loop.
// What lives is counted by line now and then, densely at first and for the recent past, and a line
// that only ever rose through several of these counts is growing, until it stops.

const {keyOf, what} = require('./leaks');
const lives = require('./lives');
const {platform} = require('./platform');

const kDense = 64;    // turns that are all counted
const kApart = 250;   // milliseconds between counts, after these
const kSamples = 128; // that are remembered
const kRises = 4;     // of a line that grows
const kFlat = 8;      // counts without a rise, of one that has stopped: or as much time without a turn,
const kRest = 1000;   // and so many milliseconds at least

let turns = 0;
let samples = []; // {turn, ms, counts}

function count() {
  const counts = new Map();
  for (const life of lives.alive) {
    const key = keyOf(life);
    counts.set(key, (counts.get(key) || 0) + 1);
  }
  return counts;
}

// Half of the older half goes, so that what is long ago is known roughly and what was just now well.
function thin() {
  const half = samples.length / 2;
  samples = samples.filter((_, i) => i >= half || i % 2 === 0);
}

// Another turn begins.
function turn() {
  const number = ++turns, ms = platform.now();
  const last = samples.at(-1);
  if (last !== undefined && number > kDense && ms - last.ms < kApart) return;
  samples.push({turn: number, ms, counts: count()});
  if (samples.length > kSamples) thin();
}

function forget() {
  turns = 0;
  samples = [];
}

// How a line's count rose: {per_frame, since_ms, stopped_ms}; null if it did not, or not steadily.
function riseOf(key) {
  const at = i => samples[i].counts.get(key) || 0;
  let end = samples.length - 1;
  while (end > 0 && at(end) === at(end - 1)) end--;
  if (end <= 0 || at(end) < at(end - 1)) return null;
  let start = end, rises = 0;
  while (start > 0 && at(start) >= at(start - 1)) {
    if (at(start) > at(start - 1)) rises++;
    start--;
  }
  while (at(start + 1) === at(start)) start++; // it had not begun
  if (rises < kRises) return null;
  const turnsOfRise = samples[end].turn - samples[start].turn;
  const msOfTurn = (samples[end].ms - samples[start].ms) / turnsOfRise;
  const isAtRest = platform.now() - samples.at(-1).ms > Math.max(kRest, kFlat * msOfTurn);
  const isOver = isAtRest || samples.length - 1 - end >= kFlat;
  return {
    per_frame: (at(end) - at(start)) / turnsOfRise,
    since_ms: samples[start].ms,
    stopped_ms: isOver ? samples[end].ms : null,
  };
}

// The lines that grew: {site, op, what, count, bytes, per_frame, since_ms, stopped_ms}, the most
// bytes a turn first, whose toString() says it. Times are milliseconds of platform.now.
function growth() {
  const lines = new Map();
  for (const life of lives.alive) {
    const key = keyOf(life);
    let line = lines.get(key);
    if (line === undefined) {
      const {op, site} = life;
      lines.set(key, line = {site, op, what: what(life), count: 0, bytes: 0});
    }
    line.count++;
    line.bytes += life.nbytes;
  }
  const list = [];
  for (const [key, {site, ...line}] of lines) {
    const rise = riseOf(key);
    if (rise !== null) list.push({site: site === null ? '(unknown)' : String(site), ...line, ...rise});
  }
  list.sort((a, b) => b.per_frame * b.bytes / b.count - a.per_frame * a.bytes / a.count);
  const now = platform.now();
  Object.defineProperty(list, 'toString', {value: () => list.map(line => textOf(line, now)).join('\n')});
  return list;
}

function seconds(ms) {
  return `${Number((ms / 1000).toPrecision(2))} s`;
}

function textOf(line, now) {
  const rate = Number(line.per_frame.toPrecision(2));
  const until = line.stopped_ms === null ? '' : `, stopped ${seconds(now - line.stopped_ms)} ago`;
  return `  ${line.site}   ${line.what}: ${line.count} alive, ${rate} more with every turn, ` +
      `since ${seconds(now - line.since_ms)}${until}`;
}

module.exports = {forget, growth, riseOf, turn};
