// Bytes by category over time, at any zoom.
//
// The levels after every change would take eight numbers per event. Kept are the total after each
// change, and the categories at every 64th; the ones between are replayed. A range is summed up by
// its highest moment, so that a peak shows at any zoom, with the categories it had.
import { categories, type Run } from "./run.ts";

const kBlock = 64;
const kKinds = categories.length;

// The first index with a value above `value`, in an ascending array.
export function upper_bound(values: ArrayLike<number>, value: number, from = 0): number {
  let low = from;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle]! <= value) low = middle + 1;
    else high = middle;
  }
  return low;
}

export class Levels {
  readonly total: Float64Array; // after each change
  readonly slack: Float64Array;
  readonly peak: number; // index of a change
  private readonly before: Float64Array; // categories before each block
  private readonly highest: Uint32Array; // index of the change with the highest total, by block
  private readonly from: Uint8Array; // category before each change; kKinds: it was born

  constructor(private readonly run: Run) {
    const { time, storage, to, freed } = run.changes;
    const count = time.length;
    const current = new Uint8Array(run.storages.count).fill(kKinds);
    const level = new Float64Array(kKinds);
    let sum = 0;
    let slack = 0;
    let peak = 0;
    this.total = new Float64Array(count);
    this.slack = new Float64Array(count);
    this.from = new Uint8Array(count);
    this.before = new Float64Array(Math.ceil(count / kBlock) * kKinds);
    this.highest = new Uint32Array(Math.ceil(count / kBlock));
    for (let i = 0; i < count; ++i) {
      const block = (i / kBlock) | 0;
      if (i % kBlock === 0) {
        this.before.set(level, block * kKinds);
        this.highest[block] = i;
      }
      const s = storage[i]!;
      const bytes = run.storages.nbytes[s]!;
      const was = current[s]!;
      const now = to[i]!;
      this.from[i] = was;
      if (was !== kKinds) level[was]! -= bytes;
      else {
        sum += bytes;
        slack += run.storages.slack[s]!;
      }
      if (now !== freed) level[now]! += bytes;
      else {
        sum -= bytes;
        slack -= run.storages.slack[s]!;
      }
      current[s] = now;
      this.total[i] = sum;
      this.slack[i] = slack;
      if (sum > this.total[this.highest[block]!]!) this.highest[block] = i;
      if (sum > this.total[peak]!) peak = i;
    }
    this.peak = peak;
  }

  get peak_time(): number {
    return this.run.changes.time[this.peak] ?? 0;
  }
  get peak_bytes(): number {
    return this.total[this.peak] ?? 0;
  }

  // The last change at or before a time; -1 when there is none.
  at(time: number): number {
    return upper_bound(this.run.changes.time, time) - 1;
  }

  bytes_at(time: number): number {
    return this.total[this.at(time)] ?? 0;
  }

  // The categories after change `index`, into `out`.
  categories_after(index: number, out: Float64Array): Float64Array {
    if (index < 0) return out.fill(0);
    const { storage, to, freed } = this.run.changes;
    const block = (index / kBlock) | 0;
    out.set(this.before.subarray(block * kKinds, (block + 1) * kKinds));
    for (let i = block * kBlock; i <= index; ++i) {
      const bytes = this.run.storages.nbytes[storage[i]!]!;
      if (this.from[i] !== kKinds) out[this.from[i]!]! -= bytes;
      if (to[i] !== freed) out[to[i]!]! += bytes;
    }
    return out;
  }

  // The change with the highest total among [begin, end).
  highest_in(begin: number, end: number): number {
    let best = begin;
    for (let i = begin; i < end;) {
      if (i % kBlock === 0 && i + kBlock <= end) {
        const candidate = this.highest[i / kBlock]!;
        if (this.total[candidate]! > this.total[best]!) best = candidate;
        i += kBlock;
      } else {
        if (this.total[i]! > this.total[best]!) best = i;
        ++i;
      }
    }
    return best;
  }

  // For `count` slices of [t0, t1]: the change that stands for each, -1 before the first.
  slices(t0: number, t1: number, count: number): Int32Array {
    const out = new Int32Array(count);
    const { time } = this.run.changes;
    let begin = upper_bound(time, t0) - 1;
    for (let slice = 0; slice < count; ++slice) {
      const end = upper_bound(time, t0 + ((slice + 1) / count) * (t1 - t0), Math.max(begin, 0));
      // The level that the slice begins with counts too.
      out[slice] =
        begin < 0
          ? end > 0
            ? this.highest_in(0, end)
            : -1
          : this.highest_in(begin, Math.max(end, begin + 1));
      begin = end - 1;
    }
    return out;
  }
}
