// Memory over time, stacked by category.
import { h, say } from "./dom.ts";
import { byte_ticks, bytes, count, moment, time_ticks } from "./format.ts";
import { describe, live_at } from "./live.ts";
import { upper_bound } from "./levels.ts";
import { Panel } from "./panel.ts";
import { categories } from "./run.ts";
import { colour } from "./theme.ts";
import { hide_tip, show_tip, swatch } from "./tip.ts";
import type { View } from "./view.ts";

const kTop = 22; // room for the marks
const kBottom = 26; // and for the axis of time
const kShownTensors = 8;

export class MemoryChart extends Panel {
  private hidden = new Set<number>();

  constructor(view: View) {
    super(view, {
      label: "Memory over time, by category",
      keys: "Arrows move the cursor, plus and minus zoom, Enter chooses the moment, 0 shows all.",
      drag: "select",
      height: 300,
    });
    this.marks_top = 18;
  }

  // Takes a category out of the stack, or puts it back.
  toggle(category: number): boolean {
    if (!this.hidden.delete(category)) this.hidden.add(category);
    this.view.later(this.redraw);
    return !this.hidden.has(category);
  }

  protected draw(): void {
    const { view, g } = this;
    const { levels } = view;
    const base = this.height - kBottom;
    const columns = Math.max(
      1,
      Math.round((this.right - this.left) * Math.min(2, devicePixelRatio || 1)),
    );
    const slices = levels.slices(view.t0, view.t1, columns);

    const level = new Float64Array(categories.length);
    const stack = new Float64Array(columns * categories.length);
    let top = 0;
    for (let i = 0; i < columns; ++i) {
      if (i > 0 && slices[i] === slices[i - 1]) {
        stack.copyWithin(i * categories.length, (i - 1) * categories.length, i * categories.length);
      } else {
        levels.categories_after(slices[i]!, level);
        let sum = 0;
        for (let c = 0; c < categories.length; ++c) {
          if (!this.hidden.has(c)) sum += level[c]!;
          stack[i * categories.length + c] = sum;
        }
      }
      top = Math.max(top, stack[(i + 1) * categories.length - 1]!);
    }
    const { budget } = view.run;
    const with_budget = budget > 0 && budget < 3 * levels.peak_bytes;
    const ceiling = (with_budget && view.whole ? Math.max(top, budget) : top) * 1.04 || 1;
    const y = (value: number) => base - (value / ceiling) * (base - kTop);

    this.draw_grid(ceiling, y, base);
    g.save();
    g.beginPath();
    g.rect(this.left, 0, this.right - this.left, this.height);
    g.clip();
    const width = (this.right - this.left) / columns;
    for (let c = categories.length - 1; c >= 0; --c) {
      if (this.hidden.has(c)) continue;
      g.beginPath();
      g.moveTo(this.left, base);
      let last = NaN;
      for (let i = 0; i < columns; ++i) {
        const at = y(stack[i * categories.length + c]!);
        if (at === last) continue;
        const x = this.left + i * width;
        if (i > 0) g.lineTo(x, last);
        g.lineTo(x, at);
        last = at;
      }
      g.lineTo(this.right, last);
      g.lineTo(this.right, base);
      g.closePath();
      g.fillStyle = colour(`category-${c}`);
      g.fill();
    }
    if (with_budget && budget < ceiling) {
      g.strokeStyle = colour("bad");
      g.setLineDash([6, 4]);
      g.beginPath();
      g.moveTo(this.left, y(budget));
      g.lineTo(this.right, y(budget));
      g.stroke();
      g.setLineDash([]);
      this.font(11, 500);
      g.fillStyle = colour("bad");
      g.textAlign = "right";
      g.fillText(`budget ${bytes(budget)}`, this.right - 6, y(budget) - 5);
    }
    g.restore();
    this.draw_time_axis(base);
  }

  protected override draw_over(): void {
    this.draw_moment();
    this.draw_errors();
  }

  private draw_grid(ceiling: number, y: (value: number) => number, base: number): void {
    const { g } = this;
    this.font(11);
    g.textAlign = "right";
    g.textBaseline = "middle";
    for (const tick of byte_ticks(ceiling, 7)) {
      const at = Math.round(y(tick.at)) + 0.5;
      g.fillStyle = colour("muted");
      g.fillText(tick.text, this.left - 8, Math.min(at, base - 1));
      g.strokeStyle = colour("line");
      g.beginPath();
      g.moveTo(this.left, at);
      g.lineTo(this.right, at);
      g.stroke();
    }
    g.textBaseline = "alphabetic";
  }

  private draw_time_axis(base: number): void {
    const { g, view } = this;
    this.font(11);
    g.fillStyle = colour("muted");
    g.strokeStyle = colour("line");
    for (const tick of time_ticks(view.t0, view.t1, (this.right - this.left) / 110)) {
      const x = this.x(tick.at);
      g.beginPath();
      g.moveTo(Math.round(x) + 0.5, base);
      g.lineTo(Math.round(x) + 0.5, base + 5);
      g.stroke();
      const half = g.measureText(tick.text).width / 2;
      g.textAlign = x + half > this.right ? "right" : x - half < this.left ? "left" : "center";
      g.fillText(tick.text, Math.max(this.left, Math.min(x, this.right)), base + 18);
    }
  }

  private draw_moment(): void {
    const { g, view } = this;
    const x = this.x(view.moment);
    if (x < this.left || x > this.right) return;
    const peak = view.moment === view.levels.peak_time;
    const text = `${peak ? "peak " : ""}${bytes(view.levels.bytes_at(view.moment))}`;
    this.font(11, 600);
    const width = g.measureText(text).width + 12;
    const left = Math.max(this.left, Math.min(x - width / 2, this.right - width));
    g.fillStyle = colour("ink");
    g.beginPath();
    g.roundRect(left, 1, width, 17, 4);
    g.fill();
    g.fillStyle = colour("surface");
    g.textAlign = "left";
    g.fillText(text, left + 6, 13.5);
  }

  private draw_errors(): void {
    const { g, view } = this;
    g.fillStyle = colour("bad");
    g.strokeStyle = colour("surface");
    let last = -Infinity;
    for (const time of view.run.raised.time) {
      const x = this.x(time);
      if (x < this.left || x > this.right || x < last + 1) continue; // one for a pixel
      last = x;
      g.beginPath();
      g.moveTo(x - 5.5, kTop - 3);
      g.lineTo(x + 5.5, kTop - 3);
      g.lineTo(x, kTop + 6);
      g.closePath();
      g.fill();
      g.stroke();
    }
  }

  private error_near(time: number): number | undefined {
    const { raised } = this.view.run;
    const reach = (7 * this.view.span) / (this.right - this.left);
    const after = upper_bound(raised.time, time);
    let best: number | undefined;
    for (const i of [after - 1, after]) {
      const distance = Math.abs((raised.time[i] ?? Infinity) - time);
      if (
        distance <= reach &&
        (best === undefined || distance < Math.abs(raised.time[best]! - time))
      )
        best = i;
    }
    return best;
  }

  protected override hover(
    time: number,
    _x: number,
    y: number,
    client: { x: number; y: number },
  ): void {
    const { view } = this;
    const { run, levels } = view;
    const error = y < 0 || y < kTop + 8 ? this.error_near(time) : undefined;
    if (error !== undefined) {
      const text = run.text(run.raised.text[error]!);
      say(text);
      show_tip(
        client,
        h(
          "div",
          { class: "tip-title bad" },
          `Error raised at ${moment(run.raised.time[error]!, view.span)}`,
        ),
        h("pre", {}, text),
      );
      return;
    }
    const index = levels.at(time);
    const level = levels.categories_after(index, new Float64Array(categories.length));
    const live = live_at(view, time, kShownTensors);
    if (y > this.height || index < -1) return hide_tip();
    const rows = h("div", { class: "tip-grid" });
    for (let c = 0; c < categories.length; ++c) {
      if (level[c])
        rows.append(
          swatch(colour(`category-${c}`)),
          h("span", {}, categories[c]!),
          h("b", {}, bytes(level[c]!)),
        );
    }
    const tensors = h("div", { class: "tip-grid tensors" });
    for (const storage of live.storages) {
      const { text, shape, site } = describe(run, storage, time);
      tensors.append(
        h("b", {}, bytes(run.storages.nbytes[storage]!)),
        h("span", { class: "what" }, `${text} `, h("span", { class: "dim" }, shape)),
        h("span", { class: "dim mono" }, run.site_text(site)),
      );
    }
    const rest = live.count - live.storages.length;
    say(
      `${moment(time, view.span)}: ${bytes(levels.total[index] ?? 0)} live` +
        (live.storages.length ? `, largest ${describe(run, live.storages[0]!, time).text}` : ""),
    );
    show_tip(
      client,
      h(
        "div",
        { class: "tip-title" },
        h("span", {}, moment(time, view.span)),
        h("b", {}, `${bytes(levels.total[index] ?? 0)} live`),
      ),
      rows,
      tensors,
      rest > 0
        ? h("div", { class: "dim" }, `and ${count(rest)} more${view.shown ? " that match" : ""}`)
        : null,
    );
  }

  protected override press(time: number): void {
    const error = this.error_near(time);
    this.view.set_moment(error !== undefined ? this.view.run.raised.time[error]! : time);
    say(`moment chosen: ${moment(this.view.moment, this.view.span)}`);
  }
}

// A button per category: what the colours mean, and a way to take one out.
export function legend(view: View, chart: MemoryChart): HTMLElement {
  const used = new Set<number>();
  for (const to of view.run.changes.to) if (to !== view.run.changes.freed) used.add(to);
  return h(
    "div",
    { class: "legend", role: "group", "aria-label": "Categories" },
    ...[...used]
      .sort((a, b) => a - b)
      .map((category) => {
        const button = h(
          "button",
          {
            class: "chip",
            "aria-pressed": "true",
            on: {
              click: () => button.setAttribute("aria-pressed", String(chart.toggle(category))),
            },
          },
          h("span", { class: `swatch category-${category}`, "aria-hidden": "true" }),
          categories[category]!,
        );
        return button;
      }),
  );
}
