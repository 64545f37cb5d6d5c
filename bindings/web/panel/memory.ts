// Memory over time: what is in tensors, how many they are, and what the backend holds beside it.
import type uPlot from "uplot";
import { h } from "../../../web/report/src/dom.ts";
import { byte_ticks, bytes, count, time_ticks } from "../../../web/report/src/format.ts";
import { LineChart } from "../../../web/report/src/line_chart.ts";
import { Figures, held_colours } from "./figures.ts";
import type { History } from "./history.ts";
import type { Sample } from "./source.ts";
import { span } from "./words.ts";

const kChangeOver = 10_000;
const windows: [string, number][] = [
  ["1 min", 60_000],
  ["10 min", 600_000],
  ["all", Infinity],
];

export interface MarkLine {
  at: number;
  text: string;
}

export class Memory {
  readonly element: HTMLElement;
  private readonly figures = new Figures();
  private readonly place = h("div", { class: "chart" });
  private readonly when = h("span", { class: "dim when" });
  private chart: LineChart | null = null;
  private names: string[] = [];
  private span = windows[0]![1];
  private data: uPlot.AlignedData = [[], []];
  private cursor: number | null = null;

  constructor(
    private readonly history: History,
    private readonly marks: () => MarkLine[],
    private readonly height: number,
  ) {
    const choice = h(
      "select",
      {
        "aria-label": "Time that the chart shows",
        on: {
          change: () => {
            this.span = windows[choice.selectedIndex]![1];
            this.show();
          },
        },
      },
      ...windows.map(([text]) => h("option", {}, text)),
    );
    this.element = h(
      "section",
      { class: "memory", "aria-label": "Memory over time" },
      this.figures.element,
      h("div", { class: "chart-head" }, this.when, choice),
      this.place,
    );
  }

  show(): void {
    const { last } = this.history;
    const names = last?.held.slice(0, held_colours.length).map((each) => each.name) ?? this.names;
    if (!this.chart || names.join() !== this.names.join()) this.build(names);
    this.data = this.history.columns(this.span, names) as uPlot.AlignedData;
    const data = this.data;
    const is_drawn = data[0].length > 1;
    this.place.style.visibility = is_drawn ? "" : "hidden";
    if (is_drawn) this.chart!.update(() => data);
    this.show_figures();
  }

  destroy(): void {
    this.chart?.destroy();
  }

  private readonly show_figures = (): void => {
    const times = this.data[0];
    const end = this.history.last?.time_ms ?? 0;
    const at = this.cursor === null ? null : (times[this.cursor] ?? null);
    const sample = at === null ? this.history.last : this.history.at(at);
    const before: Sample | null = sample ? this.history.at(sample.time_ms - kChangeOver) : null;
    this.figures.show(sample, before);
    this.when.textContent = at === null || at === end ? "" : `${span(end - at)} ago`;
  };

  private build(names: string[]): void {
    this.names = names;
    this.chart?.destroy();
    const ago = (at: number, max: number) => (max - at < 1 ? "now" : `${span(max - at)} ago`);
    this.chart = new LineChart({
      title: "Memory over time",
      height: this.height,
      series: [
        { label: "tensors", stroke: "ink", dash: [4, 3], width: 1.25, right: true },
        { label: "in tensors", stroke: "category-0", fill: "category-0-soft" },
        ...names.map((label, i) => ({ label, stroke: held_colours[i]! })),
      ],
      data: [
        [],
        ...Array.from({ length: names.length + 2 }, () => []),
      ] as unknown as uPlot.AlignedData,
      stepped: true,
      gaps: true,
      x_text: (value) => ago(value, this.history.last?.time_ms ?? value),
      y_text: (value) => (value === 0 ? "0" : bytes(value)),
      right_text: (value) =>
        value >= 10_000 ? `${Math.round(value / 1000)}k` : count(Math.round(value)),
      x_ticks: (min, max, width) =>
        time_ticks((min - max) * 1e6, 0, width / 110).map((tick) => ({
          at: max + tick.at / 1e6,
          text: tick.at === 0 ? "now" : tick.text.replace("-", "−"),
        })),
      y_ticks: (_min, max) => byte_ticks(max, 4).map((tick) => tick.at),
      on_cursor: (index) => {
        this.cursor = index;
        this.show_figures();
      },
      marks: this.marks,
    });
    this.place.replaceChildren(this.chart.element);
  }
}
