'use strict';
// Writes a recording that `tenure report` reads: docs/design/recording.md has the format, and
// src/report/writer.h the same in C++.

const kMagic = new Uint8Array([0x54, 0x4e, 0x52, 0x55, 0x4e, 0x1a, 1, 0]);
const encoder = new TextEncoder();
const kHead = 16;             // of a chunk: length, thread, checksum
const kFull = 64 << 10;       // a chunk that long is written
const kRoom = 4 << 10;        // more than any event takes, without strings
const kLongestText = 1 << 20;

const kTag = {
  about: 1, string: 2, site: 3, birth: 4, death: 5, name: 6, claim: 7, move: 8, allocate: 9,
  free: 10, spanBegin: 11, spanEnd: 12, op: 13, value: 14, pool: 15, budget: 16, raisedText: 17,
  live: 18, end: 19, raised: 20, language: 21, lastUse: 22,
};

const kSaved = 1, kBefore = 4, kHasName = 8;

// 64 bits as two halves: BigInt would cost more than all the rest of writing.
const kPrimeLow = 0x7f4a7c15, kPrimeHigh = 0x9e3779b9;
let low = 0, high = 0;

// (low, high) times the prime, modulo 2^64.
function multiply() {
  const a = low & 0xffff, b = low >>> 16;
  const c = kPrimeLow & 0xffff, d = kPrimeLow >>> 16;
  const ac = a * c, cross = a * d + b * c;
  const sum = ac + (cross % 0x10000) * 0x10000;
  const carry = b * d + Math.floor(cross / 0x10000) + Math.floor(sum / 0x100000000);
  high = (carry + Math.imul(low, kPrimeHigh) + Math.imul(high, kPrimeLow)) | 0;
  low = sum | 0;
}

// The checksum of a payload and its thread, into `low` and `high`. `view` is the bytes' own.
function checksum(bytes, view, from, to, thread) {
  low = (to - from) | 0;
  high = thread | 0;
  multiply();
  let sumLow = low, sumHigh = high;
  const mix = (wordLow, wordHigh) => {
    low = wordLow;
    high = wordHigh;
    multiply();
    const x = sumLow ^ low, y = sumHigh ^ high;
    low = x << 29 | y >>> 3;
    high = y << 29 | x >>> 3;
    multiply();
    sumLow = low;
    sumHigh = high;
  };
  let at = from;
  for (; at + 8 <= to; at += 8) mix(view.getInt32(at, true), view.getInt32(at + 4, true));
  const rest = new Uint8Array(8), restView = new DataView(rest.buffer);
  rest.set(bytes.subarray(at, to));
  mix(restView.getInt32(0, true), restView.getInt32(4, true));
  low = sumLow ^ sumHigh;
  high = sumHigh;
}

class TraceWriter {
  // `sink`: {write(bytes), close()}, which has taken or copied the bytes when write returns.
  constructor(sink, {program, version, started}) {
    this.sink = sink;
    this.#room(kFull + kRoom);
    this.at = kHead;
    this.thread = 0;
    this.time = 0;
    this.lastId = 0;
    this.events = 0;
    this.strings = new Map();
    this.sites = new Map();
    sink.write(kMagic);
    const programText = this.string(program), versionText = this.string(version);
    this.byte(kTag.about);
    this.number(programText);
    this.number(versionText);
    this.big(BigInt(started) * 1000000n * 2n);
    this.flush();
  }

  #room(bytes) {
    this.chunk = new Uint8Array(bytes);
    this.view = new DataView(this.chunk.buffer);
  }

  byte(value) {
    this.chunk[this.at++] = value;
  }

  number(value) {
    while (value >= 0x80) {
      this.chunk[this.at++] = value % 0x80 | 0x80;
      value = Math.floor(value / 0x80);
    }
    this.chunk[this.at++] = value;
  }

  signed(value) {
    this.number(value < 0 ? -2 * value - 1 : 2 * value);
  }

  big(value) {
    for (; value >= 0x80n; value >>= 7n) this.chunk[this.at++] = Number(value & 0x7fn) | 0x80;
    this.chunk[this.at++] = Number(value);
  }

  string(text) {
    if (text === '') return 0;
    let index = this.strings.get(text);
    if (index !== undefined) return index;
    index = this.strings.size + 1;
    this.strings.set(text, index);
    let bytes = encoder.encode(text);
    if (bytes.length > kLongestText) bytes = bytes.subarray(0, kLongestText);
    this.reserve(bytes.length + 16);
    this.byte(kTag.string);
    this.number(bytes.length);
    this.chunk.set(bytes, this.at);
    this.at += bytes.length;
    return index;
  }

  // A Site's place in the file; 0 for null.
  site(site) {
    if (site === null) return 0;
    let index = this.sites.get(site);
    if (index !== undefined) return index;
    const file = this.string(site.file), name = this.string(site.function);
    index = this.sites.size + 1;
    this.sites.set(site, index);
    this.reserve(64);
    this.byte(kTag.site);
    this.number(file);
    this.number(site.line);
    this.number(name);
    return index;
  }

  reserve(bytes) {
    if (this.at + bytes <= this.chunk.length - kRoom / 2) return;
    this.flush();
    if (kHead + bytes > this.chunk.length - kRoom / 2) {
      this.#room(bytes + kFull + kRoom);
    }
  }

  // Strings and sites that the event refers to are in this chunk or in one before it.
  begin(tag, time, thread) {
    if (this.at >= kFull || thread !== this.thread) {
      this.flush();
      this.thread = thread;
    }
    time = Math.max(time, this.time);
    this.byte(tag);
    this.number(time - this.time);
    this.time = time;
    this.events++;
  }

  birth(time, thread, birth) {
    this.begin(kTag.birth, time, thread);
    this.byte((birth.saved ? kSaved : 0) | (birth.before ? kBefore : 0) | (birth.name ? kHasName : 0));
    this.number(birth.holder);
    this.signed(birth.id - this.lastId);
    this.lastId = birth.id;
    this.number(birth.storage);
    this.number(birth.op);
    this.number(birth.site);
    this.number(birth.dtype);
    this.number(birth.shape);
    this.number(birth.nbytes);
    this.number(birth.category);
    this.number(birth.scope);
    if (birth.name) this.number(birth.name);
    if (birth.saved) this.number(birth.owner);
  }

  death(time, thread, holder, cause, site, by) {
    this.begin(kTag.death, time, thread);
    this.number(holder);
    this.number(cause);
    this.number(site);
    this.number(by);
  }

  // The holder holds another storage.
  move(time, thread, holder, storage) {
    this.begin(kTag.move, time, thread);
    this.number(holder);
    this.number(storage);
    this.number(0);
  }

  allocate(time, thread, storage, nbytes, before) {
    this.begin(kTag.allocate, time, thread);
    this.number(storage);
    this.number(nbytes);
    this.number(nbytes);
    this.number(before ? 1 : 0);
  }

  free(time, thread, storage, nbytes) {
    this.begin(kTag.free, time, thread);
    this.number(storage);
    this.number(nbytes);
    this.number(nbytes);
  }

  beginSpan(time, thread, span, kind, name, site) {
    this.begin(kTag.spanBegin, time, thread);
    this.number(span);
    this.number(kind);
    this.number(name);
    this.number(site);
    this.number(0);
  }

  endSpan(time, thread, span) {
    this.begin(kTag.spanEnd, time, thread);
    this.number(span);
  }

  op(begin, end, thread, op, site, bytes) {
    this.begin(kTag.op, end, thread);
    this.number(op);
    this.number(site);
    this.number(Math.max(0, end - begin));
    this.number(bytes);
  }

  value(time, thread, name, step, value) {
    this.begin(kTag.value, time, thread);
    this.number(name);
    this.number(step);
    this.view.setFloat64(this.at, value, true);
    this.at += 8;
  }

  raised(time, thread, {type, op, problem, remedy, text, site, tensor}) {
    this.begin(kTag.raised, time, thread);
    for (const field of [type, op, problem, remedy, text, site, tensor]) this.number(field);
  }

  language(time, thread, name) {
    this.begin(kTag.language, time, thread);
    this.number(name);
  }

  // The holder was an input so many nanoseconds ago, and then no more.
  lastUse(time, thread, holder, ago) {
    this.begin(kTag.lastUse, time, thread);
    this.number(holder);
    this.number(ago);
  }

  flush() {
    if (this.at === kHead) return;
    checksum(this.chunk, this.view, kHead, this.at, this.thread);
    this.view.setUint32(0, this.at - kHead, true);
    this.view.setUint32(4, this.thread, true);
    this.view.setInt32(8, low, true);
    this.view.setInt32(12, high, true);
    this.sink.write(this.chunk.subarray(0, this.at));
    this.at = kHead;
    this.time = 0;
    this.lastId = 0;
  }

  // `wholeProcess`: because the process ends.
  close(time, wholeProcess) {
    this.begin(kTag.end, time, this.thread);
    this.events--;
    this.number(this.events);
    this.number(wholeProcess ? 1 : 0);
    this.flush();
    this.sink.close();
  }
}

module.exports = {TraceWriter, kTag};
