// How many tensors each line had, whenever they were counted; bounded in lines and in counts.
import type { Line } from "./source.ts";

const kCounts = 60;
const kLines = 500;

export class Trends {
  private counts = new Map<string, number[]>();
  private is_first = true; // of lines that are there from the start nobody knows how they grew

  add(lines: Line[]): void {
    const kept = new Map<string, number[]>();
    for (const { key, count } of lines.slice(0, kLines)) {
      const counts = this.counts.get(key) ?? (this.is_first ? [] : [0]);
      counts.push(count);
      if (counts.length > kCounts) counts.shift();
      kept.set(key, counts);
    }
    this.counts = kept;
    this.is_first = false;
  }

  of(line: Line): number[] {
    return this.counts.get(line.key) ?? [line.count];
  }

  clear(): void {
    this.counts.clear();
    this.is_first = true;
  }
}
