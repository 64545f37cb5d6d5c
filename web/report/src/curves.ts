// Losses and metrics over the steps; a measure and its validation share a chart.
import type uPlot from "uplot";
import { h } from "./dom.ts";
import { count, value as number } from "./format.ts";
import { LineChart } from "./line_chart.ts";
import type { Run } from "./run.ts";

const strokes = ["category-0", "category-1", "category-5", "category-2"];

function aligned(curves: Map<number, number>[]): uPlot.AlignedData {
  const steps = [...new Set(curves.flatMap((curve) => [...curve.keys()]))].sort((a, b) => a - b);
  // More points than pixels tell no more; of a curve that has few, each counts.
  const most = 2000;
  const stride = Math.max(1, Math.ceil(steps.length / most));
  const short = curves.filter((curve) => curve.size <= most);
  const kept = steps.filter(
    (step, i) =>
      i % stride === 0 || i === steps.length - 1 || short.some((curve) => curve.has(step)),
  );
  return [
    kept,
    ...curves.map((curve) => kept.map((step) => curve.get(step) ?? null)),
  ] as uPlot.AlignedData;
}

export function curves(run: Run): HTMLElement | null {
  const { name, step, value } = run.values;
  const by_name = new Map<string, Map<number, number>>();
  for (let i = 0; i < name.length; ++i) {
    const text = run.text(name[i]!);
    let curve = by_name.get(text);
    if (!curve) by_name.set(text, (curve = new Map()));
    curve.set(step[i]!, value[i]!);
  }
  if (!by_name.size) return null;
  const groups = new Map<string, string[]>();
  for (const text of by_name.keys()) {
    const base = text.replace(/^val_/, "");
    groups.set(base, [...(groups.get(base) ?? []), text]);
  }
  return h(
    "div",
    { class: "curves" },
    ...[...groups].map(([base, names]) => {
      const all = names.map((each) => by_name.get(each)!);
      const last = [...all[0]!.values()].pop()!;
      const chart = new LineChart({
        title: `${base} over the steps, ${number(last)} at the end`,
        height: 200,
        series: names.map((label, i) => ({
          label,
          stroke: strokes[i % strokes.length]!,
          points: all[i]!.size < 40,
        })),
        data: aligned(all),
        stepped: false,
        x_text: (each) => count(Math.round(each)),
        y_text: number,
        y_range: (min, max) => {
          const room = (max - min || Math.abs(max) || 1) * 0.06;
          return [min >= 0 && min < max / 2 ? 0 : min - room, max + room];
        },
      });
      return h(
        "figure",
        {},
        h(
          "figcaption",
          {},
          h("b", {}, base),
          h("span", { class: "dim" }, ` ${number(last)} at the end`),
        ),
        chart.element,
      );
    }),
  );
}
