// What the panel asks for, of the page that it looks at: plain objects that can be sent to another
// page. Samples are taken only while somebody looks.
import core from '../core/index.js';
import {frameNumber} from './frames.js';
import {record} from './recordings.js';

const {growth, leaks, lives, platform, story} = core;
const kApart = 250; // milliseconds between samples

function siteOf(site) {
  if (site === null) return {file: '', line: 0, column: 0, text: '(unknown)'};
  const {file, line, column} = site;
  return {file: platform.shortPath(file), line, column, text: String(site)};
}

// `heldOf` gives what the backend really holds: [{name, live, pooled, total}].
export class PageSource {
  #tf;
  #heldOf;
  #listeners = new Set();
  #timer = null;
  #marks = [];
  #recording = null;

  constructor(tf, heldOf) {
    this.#tf = tf;
    this.#heldOf = heldOf;
  }

  subscribe(onSample) {
    this.#listeners.add(onSample);
    if (this.#timer === null) this.#timer = setInterval(() => this.#tell(), kApart);
    onSample(this.#sample());
    return () => {
      this.#listeners.delete(onSample);
      if (this.#listeners.size > 0 || this.#timer === null) return;
      clearInterval(this.#timer);
      this.#timer = null;
    };
  }

  #tell() {
    const sample = this.#sample();
    for (const listener of this.#listeners) listener(sample);
  }

  #sample() {
    const {numTensors, numBytes} = this.#tf.memory();
    return {
      time_ms: platform.now(), tensors: numTensors, bytes: numBytes, backend: this.#tf.getBackend(),
      held: this.#heldOf(this.#tf), frame: frameNumber(),
    };
  }

  #markOf(number) {
    const mark = number === undefined ? undefined : this.#marks[number];
    if (number !== undefined && mark === undefined) {
      throw new RangeError(`no mark has the number ${number}`);
    }
    return mark;
  }

  async lines(since) {
    return leaks.groupsSince(this.#markOf(since)).map(({key, site, op, what, count, bytes, owner}) => {
      const rise = growth.riseOf(key);
      const isLeak = rise !== null || owner === 'tape';
      return {key, site: siteOf(site), op, what, count, bytes, owner, growth: rise, leak: isLeak};
    });
  }

  async story(id) {
    for (const life of lives.alive) if (life.id === id) return story.parts(life);
    throw new RangeError(`story: no tensor that lives has the number ${id}`);
  }

  async tensors(key, limit, since) {
    const first = since === undefined ? 0 : this.#markOf(since).serial;
    const rows = [];
    for (const life of lives.alive) {
      if (rows.length >= limit) break;
      if (life.serial < first || leaks.keyOf(life) !== key) continue;
      const {id, dtype, shape, nbytes: bytes, born_ms} = life;
      rows.push({id, dtype, shape: [...shape], bytes, born_ms, what: leaks.what(life)});
    }
    return rows;
  }

  async mark() {
    this.#marks.push(leaks.mark());
    return this.#marks.length - 1;
  }

  // null when a recording begins, the file when it ends.
  async record(isOn) {
    if (isOn === (this.#recording !== null)) return null;
    if (isOn) {
      this.#recording = record();
      return null;
    }
    const file = this.#recording.close();
    this.#recording = null;
    return file;
  }
}
