// A small curve: the bytes that some tensors held over the run.
import { h } from "./dom.ts";
import { bytes } from "./format.ts";
import { type Run, kNone } from "./run.ts";
import { StepCurve } from "./step_curve.ts";

const kWidth = 240;
const kHeight = 54;

// When what they hold changes, and by how much, in order of time. A storage that nobody else holds
// is theirs as a whole; of one that others hold as well they hold what they see. Births come before
// the deaths of their moment: what is handed on is not let go in between.
function changes_of(run: Run, tensors: Uint32Array): [number, number][] {
  const { born, died, nbytes, storage } = run.tensors;
  const ours = new Set(tensors);
  const holds = new Map<number, { held: number; seen: number; ours: number; others: number }>();
  const moves: [number, number, number][] = []; // time, 1 or -1, tensor
  for (const tensor of tensors) {
    const s = storage[tensor]!;
    if (s === kNone || holds.has(s)) continue;
    holds.set(s, { held: 0, seen: 0, ours: 0, others: 0 });
    for (const holder of run.tensors_on(s)) {
      moves.push([born[holder]!, 1, holder]);
      if (died[holder] !== Infinity) moves.push([died[holder]!, -1, holder]);
    }
  }
  moves.sort((a, b) => a[0] - b[0] || b[1] - a[1]);
  return moves.map(([time, change, holder]) => {
    const hold = holds.get(storage[holder]!)!;
    const whole = run.storages.nbytes[storage[holder]!]!;
    if (ours.has(holder)) {
      hold.ours += change;
      hold.seen += change * nbytes[holder]!;
    } else {
      hold.others += change;
    }
    const before = hold.held;
    hold.held = hold.ours === 0 ? 0 : hold.others === 0 ? whole : Math.min(hold.seen, whole);
    return [time, hold.held - before];
  });
}

export function spark(run: Run, tensors: Uint32Array): HTMLElement | null {
  const changes = changes_of(run, tensors);
  if (!changes.length) return null;
  // The highest level within each pixel.
  const level = new Float64Array(kWidth + 1);
  let now = 0;
  let next = 0;
  for (let x = 0; x <= kWidth; ++x) {
    level[x] = now;
    while (next < changes.length && changes[next]![0] <= (x / kWidth) * run.length) {
      now += changes[next++]![1];
      level[x] = Math.max(level[x]!, now);
    }
  }
  const top = level.reduce((a, b) => Math.max(a, b), 1);
  const curve = new StepCurve(kWidth, kHeight);
  curve.show(level);
  return h(
    "figure",
    { class: "spark" },
    curve.element,
    h("figcaption", { class: "dim" }, `held over the run, at most ${bytes(top)}`),
  );
}
