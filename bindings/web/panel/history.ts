// The samples so far, bounded. When there are too many, the older half keeps of each two the one
// with more bytes: recent times stay exact, and peaks stay.
import type { Sample } from "./source.ts";

const kMost = 2048;

export class History {
  private samples: (Sample | null)[] = []; // null: nobody looked for a while

  get last(): Sample | null {
    return this.samples.findLast((each) => each !== null) ?? null;
  }

  // The last sample that is not after `time_ms`, or else the first.
  at(time_ms: number): Sample | null {
    const until = this.samples.findLast((each) => each !== null && each.time_ms <= time_ms);
    return until ?? this.samples.find((each) => each !== null) ?? null;
  }

  push(sample: Sample): void {
    // Another load of the page has another clock.
    if (this.last && sample.time_ms < this.last.time_ms) this.samples = [];
    this.samples.push(sample);
    if (this.samples.length > kMost) this.thin();
  }

  interrupt(): void {
    if (this.samples[this.samples.length - 1]) this.samples.push(null);
  }

  clear(): void {
    this.samples = [];
  }

  private thin(): void {
    const half = kMost / 2;
    const older: (Sample | null)[] = [];
    for (let i = 0; i < half; i += 2) {
      const [a, b] = [this.samples[i]!, this.samples[i + 1]!];
      if (a === null || b === null) older.push(a ?? b);
      else older.push(a.bytes > b.bytes ? a : b);
    }
    this.samples = [...older, ...this.samples.slice(half)];
  }

  // Times, tensors, bytes, and the bytes held under each name, of the last `span_ms`. At an
  // interruption all but the time is null.
  columns(span_ms: number, names: string[]): [number[], ...(number | null)[][]] {
    const times: number[] = [];
    const columns: (number | null)[][] = [[], [], ...names.map(() => [])];
    const end = this.last?.time_ms ?? 0;
    let last = -Infinity;
    for (const sample of this.samples) {
      if (sample === null) {
        if (!times.length) continue;
        times.push(last + 0.001);
        for (const column of columns) column.push(null);
        continue;
      }
      if (sample.time_ms < end - span_ms) continue;
      times.push((last = sample.time_ms));
      columns[0]!.push(sample.tensors);
      columns[1]!.push(sample.bytes);
      names.forEach((name, i) => {
        const held = sample.held.find((each) => each.name === name);
        columns[i + 2]!.push(held ? held.total : null);
      });
    }
    return [times, ...columns];
  }
}
