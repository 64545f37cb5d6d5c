// Tensors put into lanes, so that lives which do not overlap share one: as many lanes as tensors
// ever lived at once. Each takes the lowest lane that is free at its birth, so what stays forms
// the floor, what comes and goes ripples above it, and a leak is a stair that never comes down.
import type { Run } from "./run.ts";

// A binary heap of lanes by a key.
class Heap {
  private readonly keys: number[] = [];
  private readonly lanes: number[] = [];

  get empty(): boolean {
    return this.keys.length === 0;
  }
  get key(): number {
    return this.keys[0]!;
  }

  push(key: number, lane: number): void {
    const { keys, lanes } = this;
    let at = keys.length;
    keys.push(key);
    lanes.push(lane);
    while (at > 0) {
      const up = (at - 1) >> 1;
      if (keys[up]! <= key) break;
      keys[at] = keys[up]!;
      lanes[at] = lanes[up]!;
      at = up;
    }
    keys[at] = key;
    lanes[at] = lane;
  }

  pop(): number {
    const { keys, lanes } = this;
    const top = lanes[0]!;
    const key = keys.pop()!;
    const lane = lanes.pop()!;
    const size = keys.length;
    if (size === 0) return top;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= size) break;
      if (child + 1 < size && keys[child + 1]! < keys[child]!) ++child;
      if (keys[child]! >= key) break;
      keys[at] = keys[child]!;
      lanes[at] = lanes[child]!;
      at = child;
    }
    keys[at] = key;
    lanes[at] = lane;
    return top;
  }
}

export class Lanes {
  readonly count: number;
  readonly lane_of: Int32Array; // -1: not shown
  // The tensors of lane l, by birth: members[first[l]] up to members[first[l + 1]].
  readonly first: Uint32Array;
  readonly members: Uint32Array;

  constructor(run: Run, shown: Uint8Array | null) {
    const { count, born, died } = run.tensors;
    const busy = new Heap();
    const free = new Heap();
    const lane_of = new Int32Array(count).fill(-1);
    let lanes = 0;
    let members = 0;
    for (let i = 0; i < count; ++i) {
      if (shown && !shown[i]) continue;
      while (!busy.empty && busy.key <= born[i]!) {
        const lane = busy.pop();
        free.push(lane, lane);
      }
      const lane = free.empty ? lanes++ : free.pop();
      lane_of[i] = lane;
      ++members;
      if (died[i] !== Infinity) busy.push(died[i]!, lane);
    }
    this.count = lanes;
    this.lane_of = lane_of;
    this.first = new Uint32Array(lanes + 2);
    this.members = new Uint32Array(members);
    for (let i = 0; i < count; ++i) if (lane_of[i]! >= 0) ++this.first[lane_of[i]! + 2]!;
    for (let l = 2; l < this.first.length; ++l) this.first[l]! += this.first[l - 1]!;
    for (let i = 0; i < count; ++i) {
      if (lane_of[i]! >= 0) this.members[this.first[lane_of[i]! + 1]!++] = i;
    }
  }

  lane(index: number): Uint32Array {
    return this.members.subarray(this.first[index]!, this.first[index + 1]!);
  }
}

// The last of a lane's tensors that was born at or before a time; -1 when there is none.
export function last_born(run: Run, lane: Uint32Array, time: number): number {
  const { born } = run.tensors;
  let low = 0;
  let high = lane.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (born[lane[middle]!]! <= time) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
