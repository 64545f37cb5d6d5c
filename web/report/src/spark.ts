// A small curve: the bytes that a set of storages held over the run.
import { h } from "./dom.ts";
import { bytes } from "./format.ts";
import type { Run } from "./run.ts";

const kWidth = 240;
const kHeight = 54;

function svg(tag: string, attributes: Record<string, string>): SVGElement {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}

export function spark(run: Run, storages: Iterable<number>): HTMLElement | null {
  const changes: [number, number][] = [];
  for (const storage of storages) {
    changes.push([run.storages.born[storage]!, run.storages.nbytes[storage]!]);
    if (run.storages.freed[storage] !== Infinity)
      changes.push([run.storages.freed[storage]!, -run.storages.nbytes[storage]!]);
  }
  if (!changes.length) return null;
  changes.sort((a, b) => a[0] - b[0] || b[1] - a[1]);
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
  let line = "";
  for (let x = 0; x <= kWidth; ++x) {
    const y = (kHeight - 2 - (level[x]! / top) * (kHeight - 6)).toFixed(1);
    line += x === 0 ? `M0 ${y}` : `H${x}V${y}`;
  }
  const picture = svg("svg", {
    viewBox: `0 0 ${kWidth} ${kHeight}`,
    preserveAspectRatio: "none",
    "aria-hidden": "true",
  });
  picture.append(
    svg("path", { class: "spark-area", d: `${line}V${kHeight}H0Z` }),
    svg("path", { class: "spark-line", d: line, "vector-effect": "non-scaling-stroke" }),
  );
  return h(
    "figure",
    { class: "spark" },
    picture as unknown as HTMLElement,
    h("figcaption", { class: "dim" }, `held over the run, at most ${bytes(top)}`),
  );
}
