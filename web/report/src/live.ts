// What lives at a moment, largest first.
import { type Run, categories, kNone } from "./run.ts";
import type { View } from "./view.ts";

export interface Live {
  storages: number[]; // the largest
  count: number; // of all
  bytes: number;
}

export function live_at(view: View, time: number, limit: number): Live {
  const { storages } = view.run;
  const { born, freed, nbytes } = storages;
  const shown = view.shown_storages;
  const top: number[] = [];
  let count = 0;
  let bytes = 0;
  for (let s = 0; s < storages.count; ++s) {
    if (born[s]! > time || freed[s]! <= time || (shown && !shown[s])) continue;
    ++count;
    bytes += nbytes[s]!;
    if (top.length === limit && nbytes[s]! <= nbytes[top[limit - 1]!]!) continue;
    let at = top.length;
    while (at > 0 && nbytes[top[at - 1]!]! < nbytes[s]!) --at;
    top.splice(at, 0, s);
    if (top.length > limit) top.pop();
  }
  return { storages: top, count, bytes };
}

// The category that a storage has at a moment.
export function category_at(run: Run, storage: number, time: number): number {
  const { changes } = run;
  let category = run.storages.category[storage]!;
  for (const index of recategorised(run).get(storage) ?? []) {
    if (changes.time[index]! > time) break;
    category = changes.to[index]!;
  }
  return category;
}

export const kSymbolic = categories.length;

// The category that each tensor's storage had at its birth; kSymbolic where there is no storage.
export function birth_categories(run: Run): Uint8Array {
  const { count, storage, born } = run.tensors;
  const out = new Uint8Array(count).fill(kSymbolic);
  for (let i = 0; i < count; ++i) {
    if (storage[i] !== kNone) out[i] = category_at(run, storage[i]!, born[i]!);
  }
  return out;
}

let later_changes: Map<number, number[]> | undefined;
// Few storages ever change their category.
function recategorised(run: Run): Map<number, number[]> {
  if (later_changes) return later_changes;
  later_changes = new Map();
  const { storage, to, freed } = run.changes;
  const seen = new Uint8Array(run.storages.count);
  for (let i = 0; i < storage.length; ++i) {
    const s = storage[i]!;
    if (!seen[s]) {
      seen[s] = 1;
    } else if (to[i] !== freed) {
      const list = later_changes.get(s);
      if (list) list.push(i);
      else later_changes.set(s, [i]);
    }
  }
  return later_changes;
}

// How to call a storage at a moment, and where its memory was asked for.
export function describe(
  run: Run,
  storage: number,
  time: number,
): { tensor: number | undefined; text: string; shape: string; site: number } {
  const tensor = run.face_of(storage, time);
  if (tensor === undefined) {
    return {
      tensor,
      text: run.text(run.storages.op[storage]!) || "workspace",
      shape: "",
      site: run.storages.site[storage]!,
    };
  }
  const site =
    run.storages.site[storage] !== kNone
      ? run.storages.site[storage]!
      : run.tensors.birth_site[tensor]!;
  return {
    tensor,
    text: run.label(tensor),
    shape: `${run.text(run.tensors.dtype[tensor]!)} ${run.text(run.tensors.shape[tensor]!)}`.trim(),
    site,
  };
}
