// The pool: what was reserved from the system, and what became of it.
import { figure, h } from "./dom.ts";
import { byte_ticks, bytes, moment, percent, time_ticks } from "./format.ts";
import { upper_bound } from "./levels.ts";
import { LineChart } from "./line_chart.ts";
import type { View } from "./view.ts";

const kSlices = 600;

type Columns = [number[], number[], number[], number[], number[]];

// The recording tells what is reserved when that changes; what is pooled follows at every moment.
const pooled = (reserved: number, live: number, slack: number) =>
  Math.max(0, reserved - live - slack);

// At most two points per slice of the window: its beginning, and where most was reserved.
function sample(view: View): Columns {
  const { pool } = view.run;
  const { levels, t0, t1 } = view;
  const out: Columns = [[], [], [], [], []];
  const add = (time: number, at: number) => {
    const index = levels.at(time);
    const parts = [
      pool.reserved[at] ?? 0,
      levels.total[index] ?? 0,
      levels.slack[index] ?? 0,
    ] as const;
    out[0].push(time);
    parts.forEach((bytes, i) => out[i + 1]!.push(bytes));
    out[4].push(pooled(...parts));
  };
  const slices = levels.slices(t0, t1, kSlices);
  for (let i = 0; i < kSlices; ++i) {
    const time = t0 + (i / kSlices) * (t1 - t0);
    add(time, upper_bound(pool.time, time) - 1);
    const high = view.run.changes.time[slices[i]!];
    const next = t0 + ((i + 1) / kSlices) * (t1 - t0);
    if (high !== undefined && high > time && high < next)
      add(high, upper_bound(pool.time, high) - 1);
  }
  add(t1, upper_bound(pool.time, t1) - 1);
  return out;
}

export function pool_chart(view: View): HTMLElement {
  const { run, levels } = view;
  const chart = new LineChart({
    title: "Reserved, live, slack and pooled bytes over time",
    height: 220,
    series: [
      { label: "reserved", stroke: "ink", dash: [5, 4], width: 1.5 },
      { label: "live", stroke: "category-0", fill: "category-0-soft" },
      { label: "slack", stroke: "category-1" },
      { label: "pooled", stroke: "category-5" },
    ],
    data: sample(view),
    stepped: true,
    wide: true,
    x_text: (value) => moment(value, view.span),
    y_text: (value) => (value === 0 ? "0" : bytes(value)),
    x_ticks: (min, max, width) => time_ticks(min, max, width / 110),
    y_ticks: (_min, max) => byte_ticks(max, 4).map((tick) => tick.at),
    on_select: (min, max) => view.show(min, max),
    on_reset: () => view.reset(),
  });
  view.on(["window"], () => chart.update(() => sample(view)));

  let most = 0;
  for (const reserved of run.pool.reserved) most = Math.max(most, reserved);
  const at_peak = upper_bound(run.pool.time, levels.peak_time) - 1;
  const reserved = run.pool.reserved[at_peak] ?? 0;
  const slack = levels.slack[levels.peak] ?? 0;
  return h(
    "div",
    {},
    h(
      "dl",
      { class: "figures small" },
      figure("most reserved", bytes(most), "from the system"),
      figure(
        "live at the peak",
        percent(levels.peak_bytes, reserved),
        `of ${bytes(reserved)} reserved then`,
      ),
      figure(
        "slack at the peak",
        bytes(slack),
        `${percent(slack, levels.peak_bytes + slack)} lost to rounding`,
      ),
      figure(
        "pooled at the peak",
        bytes(pooled(reserved, levels.peak_bytes, slack)),
        "free, kept for later",
      ),
    ),
    chart.element,
  );
}
