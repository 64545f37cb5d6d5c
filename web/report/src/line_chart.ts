// uPlot in the page's colours, for the pool, the curves and the panel.
import uPlot from "uplot";
import { h, say } from "./dom.ts";
import type { Tick } from "./format.ts";
import { gutter, kFont, kRight } from "./measures.ts";
import { colour, on_theme } from "./theme.ts";

export interface Series {
  label: string;
  stroke: string; // name of a colour
  fill?: string;
  dash?: number[];
  width?: number;
  points?: boolean;
  right?: boolean; // on the axis at the right
}

export interface LineOptions {
  title: string;
  height: number;
  series: Series[];
  data: uPlot.AlignedData;
  stepped: boolean;
  x_text: (value: number) => string;
  y_text: (value: number) => string;
  x_ticks?: (min: number, max: number, width: number) => Tick[];
  y_ticks?: (min: number, max: number) => number[];
  wide?: boolean; // aligned with the charts above
  on_select?: (min: number, max: number) => void;
  on_reset?: () => void;
  y_range?: (min: number, max: number) => [number, number];
  right_text?: (value: number) => string; // there is an axis at the right
  gaps?: boolean; // a null interrupts the line
  on_cursor?: (index: number | null) => void; // instead of a legend
  marks?: () => { at: number; text: string }[]; // upright lines
}

export class LineChart {
  readonly element: HTMLElement;
  private plot: uPlot | undefined;
  private due: (() => uPlot.AlignedData) | null = null;
  private in_sight = false;
  private readonly ends: (() => void)[] = [];

  constructor(private readonly options: LineOptions) {
    this.element = h("div", {
      class: "lines",
      tabindex: 0,
      role: "application",
      "aria-roledescription": "chart",
      "aria-label": `${options.title}. Arrows move the cursor.`,
      on: {
        keydown: (event) => this.key(event),
        blur: () => this.plot?.setCursor({ left: -10, top: -10 }),
      },
    });
    const size = new ResizeObserver(() => this.fit());
    const sight = new IntersectionObserver((entries) => {
      this.in_sight = entries[entries.length - 1]!.isIntersecting;
      if (this.in_sight) this.catch_up();
    });
    size.observe(this.element);
    sight.observe(this.element);
    addEventListener("beforeprint", this.catch_up);
    this.ends.push(
      () => size.disconnect(),
      () => sight.disconnect(),
      () => removeEventListener("beforeprint", this.catch_up),
      on_theme(() => this.build()),
    );
  }

  // Lets go of the page.
  destroy(): void {
    for (const end of this.ends) end();
    this.plot?.destroy();
    this.plot = undefined;
    this.element.remove();
  }

  // Takes the data when the chart is in sight, or about to be printed.
  update(data: () => uPlot.AlignedData): void {
    this.due = data;
    if (this.in_sight) this.catch_up();
  }

  private readonly catch_up = (): void => {
    if (!this.due || !this.plot) return;
    const data = (this.options.data = this.due());
    this.due = null;
    const x = data[0];
    this.plot.batch(() => {
      this.plot!.setData(data, false);
      this.plot!.setScale("x", { min: x[0]!, max: x[x.length - 1]! });
    });
  };

  // From point to point, a hundredth of them at a time; with Shift a tenth.
  private key(event: KeyboardEvent): void {
    const { plot, options } = this;
    if (!plot || event.ctrlKey || event.metaKey || event.altKey) return;
    const x = plot.data[0];
    const last = x.length - 1;
    const step = Math.max(1, Math.round(x.length / (event.shiftKey ? 10 : 100)));
    const from = plot.cursor.idx ?? Math.round(last / 2);
    const places: Record<string, number> = {
      ArrowLeft: from - step,
      ArrowRight: from + step,
      Home: 0,
      End: last,
    };
    const place = places[event.key];
    if (place === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    const to = Math.max(0, Math.min(place, last));
    plot.setCursor({ left: plot.valToPos(x[to]!, "x"), top: plot.over.clientHeight / 2 });
    const values = options.series.flatMap(({ label }, i) => {
      const value = plot.data[i + 1]![to];
      return value == null ? [] : [`${label} ${this.text(options.series[i]!)(value)}`];
    });
    say(`${options.x_text(x[to]!)}: ${values.join(", ")}`);
  }

  private text(series: Series): (value: number) => string {
    return (series.right && this.options.right_text) || this.options.y_text;
  }

  private fit(): void {
    const width = this.element.clientWidth;
    if (!width) return;
    if (this.plot) this.plot.setSize({ width, height: this.options.height });
    else this.build();
  }

  private build(): void {
    const { options } = this;
    const width = this.element.clientWidth;
    if (!width) return;
    this.plot?.destroy();
    const axis = (more: uPlot.Axis): uPlot.Axis => ({
      stroke: colour("muted"),
      font: `11px ${kFont}`,
      grid: { stroke: colour("line"), width: 1 },
      ticks: { stroke: colour("line"), width: 1, size: 5 },
      ...more,
    });
    this.plot = new uPlot(
      {
        width,
        height: options.height,
        padding: [10, options.right_text ? 0 : kRight, 0, 0],
        cursor: {
          points: { size: 6 },
          drag: { x: !options.on_cursor, y: false, setScale: !options.on_select },
          focus: { prox: options.on_cursor ? -1 : 24 },
        },
        legend: { show: !options.on_cursor, live: true },
        scales: {
          x: { time: false },
          y: {
            range: (_u, min, max) =>
              options.y_range?.(min, max) ?? [Math.min(0, min), max <= 0 ? 1 : max * 1.06],
          },
          ...(options.right_text && {
            right: {
              range: (_u: uPlot, _min: number, max: number) => [0, Math.max(4, max * 1.06)],
            },
          }),
        },
        axes: [
          axis({
            size: 30,
            gap: 4,
            grid: { show: false },
            values: (_u, splits) => splits.map(options.x_text),
            ...(options.x_ticks && {
              splits: (u: uPlot, _i: number, min: number, max: number) =>
                options.x_ticks!(min, max, u.width).map((tick) => tick.at),
              // A label that would be cut off at the edge is left out.
              values: (u: uPlot) =>
                options.x_ticks!(u.scales.x!.min!, u.scales.x!.max!, u.width).map((tick) =>
                  u.valToPos(tick.at, "x") < u.bbox.width / devicePixelRatio - 12 ? tick.text : "",
                ),
            }),
          }),
          axis({
            size: options.wide ? gutter(width) : 58,
            gap: 4,
            ticks: { show: false },
            values: (_u, splits) =>
              splits.map((value) => (value === null ? "" : options.y_text(value))),
            ...(options.y_ticks && {
              splits: (_u: uPlot, _i: number, min: number, max: number) =>
                options.y_ticks!(min, max),
            }),
          }),
          ...(options.right_text
            ? [
                axis({
                  scale: "right",
                  side: 1,
                  size: 44,
                  gap: 4,
                  grid: { show: false },
                  ticks: { show: false },
                  values: (_u, splits) => splits.map(options.right_text!),
                }),
              ]
            : []),
        ],
        series: [
          { label: "at", value: (_u, value) => (value === null ? "" : options.x_text(value)) },
          ...options.series.map((series) => ({
            label: series.label,
            scale: series.right ? "right" : "y",
            stroke: colour(series.stroke),
            width: series.width ?? 1.75,
            ...(series.fill && { fill: colour(series.fill) }),
            ...(series.dash && { dash: series.dash }),
            ...(options.stepped && { paths: uPlot.paths.stepped!({ align: 1 }) }),
            spanGaps: !options.gaps,
            points: { show: series.points ?? false, size: 5 },
            value: (_u: uPlot, value: number | null) =>
              value === null ? "–" : this.text(series)(value),
          })),
        ],
        hooks: this.hooks(),
      },
      options.data,
      this.element,
    );
    if (options.on_reset)
      this.plot.over.addEventListener("dblclick", options.on_reset, { capture: true });
  }

  private hooks(): uPlot.Hooks.Arrays {
    const { on_cursor, on_select, marks } = this.options;
    return {
      ...(on_select && {
        setSelect: [
          (u) => {
            if (u.select.width > 3)
              on_select(
                u.posToVal(u.select.left, "x"),
                u.posToVal(u.select.left + u.select.width, "x"),
              );
            u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          },
        ],
      }),
      ...(on_cursor && { setCursor: [(u) => on_cursor(u.cursor.idx ?? null)] }),
      ...(marks && { draw: [(u) => this.draw_marks(u, marks())] }),
    };
  }

  private draw_marks(u: uPlot, marks: { at: number; text: string }[]): void {
    const { ctx, bbox } = u;
    const ratio = devicePixelRatio || 1;
    ctx.save();
    ctx.font = `${11 * ratio}px ${kFont}`;
    ctx.fillStyle = ctx.strokeStyle = colour("muted");
    ctx.lineWidth = ratio;
    ctx.setLineDash([3 * ratio, 3 * ratio]);
    for (const { at, text } of marks) {
      const x = Math.round(u.valToPos(at, "x", true)) + 0.5;
      if (x < bbox.left || x > bbox.left + bbox.width) continue;
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
      ctx.textAlign = x > bbox.left + bbox.width - 40 * ratio ? "right" : "left";
      ctx.fillText(text, x + (ctx.textAlign === "left" ? 3 : -3) * ratio, bbox.top + 9 * ratio);
    }
    ctx.restore();
  }
}
