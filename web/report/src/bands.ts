// What the program was doing: scopes, fits, steps, traces and calls as nested bands per thread,
// operations below them.
import { h, say } from "./dom.ts";
import { bytes, count, moment, time as duration } from "./format.ts";
import { upper_bound } from "./levels.ts";
import { Panel } from "./panel.ts";
import type { Run } from "./run.ts";
import { colour } from "./theme.ts";
import { hide_tip, show_tip } from "./tip.ts";
import type { View } from "./view.ts";

const kRow = 18;
const kGap = 8; // between threads
const kMaxDepth = 16;

const kMaxThreads = 12;

const known_kinds = new Set(["tidy", "tape", "trace", "call", "fit", "epoch", "step", "predict"]);

interface Thread {
  depths: number[][];
  ops: number[];
}

interface Row {
  label: string;
  top: number;
  ops: boolean;
  items: Uint32Array; // spans or ops, by beginning
  begin: Float64Array;
  end: Float64Array;
}

function row_of(
  label: string,
  top: number,
  ops: boolean,
  items: number[],
  begin: Float64Array,
  end: (i: number) => number,
): Row {
  const list = Uint32Array.from(items);
  return {
    label,
    top,
    ops,
    items: list,
    begin: Float64Array.from(list, (i) => begin[i]!),
    end: Float64Array.from(list, end),
  };
}

export function make_rows(run: Run): { rows: Row[]; height: number; left_out: number } {
  const threads = new Map<number, Thread>();
  const at = (thread: number) => {
    let entry = threads.get(thread);
    if (!entry) threads.set(thread, (entry = { depths: [], ops: [] }));
    return entry;
  };
  for (let i = 0; i < run.spans.count; ++i) {
    const depth = run.spans.depth[i]!;
    if (depth < kMaxDepth) (at(run.spans.thread[i]!).depths[depth] ??= []).push(i);
  }
  for (let i = 0; i < run.ops.count; ++i) at(run.ops.thread[i]!).ops.push(i);

  const work = ([, { depths, ops }]: [number, Thread]) =>
    depths.reduce((sum, items) => sum + (items?.length ?? 0), ops.length);
  const busiest = [...threads].sort((a, b) => work(b) - work(a)).slice(0, kMaxThreads);
  const rows: Row[] = [];
  let top = 2;
  for (const [thread, { depths, ops }] of busiest.sort((a, b) => a[0] - b[0])) {
    let label = threads.size > 1 ? `thread ${thread}` : "scopes";
    for (const items of depths) {
      if (!items) continue;
      rows.push(row_of(label, top, false, items, run.spans.begin, (i) => run.spans.end[i]!));
      label = "";
      top += kRow;
    }
    if (ops.length) {
      rows.push(
        row_of(
          label && threads.size > 1 ? label : "ops",
          top,
          true,
          ops,
          run.ops.begin,
          (i) => run.ops.begin[i]! + run.ops.took[i]!,
        ),
      );
      top += kRow;
    }
    top += kGap;
  }
  return {
    rows,
    height: Math.max(top - kGap + 2, kRow),
    left_out: threads.size - busiest.length,
  };
}

export class Bands extends Panel {
  readonly left_out: number; // threads that did less than those shown
  private readonly rows: Row[];
  private chosen: { row: number; index: number } | null = null;

  constructor(view: View) {
    const { rows, height, left_out } = make_rows(view.run);
    super(view, {
      label: "Scopes, steps, traces and operations over time",
      keys: "Up and Down choose a row, Left and Right a band, Enter zooms to it.",
      drag: "pan",
      height,
    });
    this.rows = rows;
    this.left_out = left_out;
  }

  get empty(): boolean {
    return this.rows.length === 0;
  }

  protected draw(): void {
    const { g } = this;
    this.rows.forEach((row, r) => {
      this.font(11);
      g.textBaseline = "middle";
      g.textAlign = "right";
      g.fillStyle = colour("muted");
      g.fillText(row.label, this.left - 8, row.top + kRow / 2);
      g.save();
      g.beginPath();
      g.rect(this.left, row.top, this.right - this.left, kRow);
      g.clip();
      this.draw_row(row, r);
      g.restore();
    });
    g.textBaseline = "alphabetic";
  }

  private draw_row(row: Row, r: number): void {
    const { g, view } = this;
    const scale = (this.right - this.left) / view.span;
    g.textAlign = "left";
    this.font(11, 500);
    // One that began before the window may reach into it.
    for (let i = Math.max(0, upper_bound(row.begin, view.t0) - 1); i < row.items.length;) {
      const begin = row.begin[i]!;
      if (begin > view.t1) break;
      const x0 = Math.max(this.left - 2, this.left + (begin - view.t0) * scale);
      const x1 = Math.min(this.right + 2, this.left + (row.end[i]! - view.t0) * scale);
      if (x1 < this.left) {
        ++i;
        continue;
      }
      const item = row.items[i]!;
      const width = x1 - x0;
      g.fillStyle = this.colour_of(row, item);
      if (width < 1.5) {
        // All that begin within this pixel are one mark.
        g.globalAlpha = 0.75;
        g.fillRect(Math.floor(x0), row.top + 1, 1, kRow - 2);
        g.globalAlpha = 1;
        i = Math.max(i + 1, upper_bound(row.begin, this.time(Math.floor(x0) + 1), i));
        continue;
      }
      g.fillRect(x0, row.top + 1, Math.max(1, width - (width > 4 ? 1 : 0)), kRow - 2);
      if (width > 26) {
        const from = Math.max(x0, this.left) + 5;
        g.fillStyle = colour("band-ink");
        g.fillText(
          this.fit_text(this.text_of(row, item), x1 - from - 5),
          from,
          row.top + kRow / 2 + 0.5,
        );
      }
      if (this.chosen?.row === r && this.chosen.index === i) {
        g.strokeStyle = colour("ink");
        g.lineWidth = 2;
        g.strokeRect(x0 + 1, row.top + 2, width - 3, kRow - 4);
        g.lineWidth = 1;
      }
      ++i;
    }
  }

  private colour_of(row: Row, item: number): string {
    if (row.ops) return colour("span-op");
    const kind = this.view.run.text(this.view.run.spans.kind[item]!);
    return colour(known_kinds.has(kind) ? `span-${kind}` : "span-own");
  }

  private text_of(row: Row, item: number): string {
    const { run } = this.view;
    return row.ops ? run.text(run.ops.op[item]!) : run.span_label(item);
  }

  private find(time: number, y: number): { row: number; index: number } | null {
    const r = this.rows.findIndex((row) => y >= row.top && y < row.top + kRow);
    const row = this.rows[r];
    if (!row) return null;
    const reach = (2 * this.view.span) / (this.right - this.left);
    const i = upper_bound(row.begin, time + reach / 2) - 1;
    if (i < 0 || row.end[i]! < time - reach) return null;
    return { row: r, index: i };
  }

  private describe(found: { row: number; index: number }, client: { x: number; y: number }): void {
    const { run, span } = this.view;
    const row = this.rows[found.row]!;
    const item = row.items[found.index]!;
    const begin = row.begin[found.index]!;
    const took = Math.min(row.end[found.index]!, run.length) - begin;
    const site = row.ops ? run.ops.site[item]! : run.spans.site[item]!;
    const open = !row.ops && run.spans.end[item] === Infinity;
    const text = this.text_of(row, item);
    say(`${text}, ${duration(took)}, ${run.site_text(site)}`);
    show_tip(
      client,
      h("div", { class: "tip-title" }, h("span", {}, text), h("b", {}, duration(took))),
      h(
        "div",
        {},
        `from ${moment(begin, span)}${open ? ", still open when the recording ended" : ""}`,
      ),
      row.ops ? h("div", {}, `${bytes(run.ops.bytes[item]!)} of results`) : null,
      h(
        "div",
        { class: "dim mono" },
        `${run.site_text(site)}  thread ${count(row.ops ? run.ops.thread[item]! : run.spans.thread[item]!)}`,
      ),
    );
  }

  protected override hover(
    time: number,
    _x: number,
    y: number,
    client: { x: number; y: number },
  ): void {
    const found = this.find(time, y);
    if (found) this.describe(found, client);
    else hide_tip();
  }

  private zoom_to(found: { row: number; index: number }): void {
    const row = this.rows[found.row]!;
    this.view.show_life(row.begin[found.index]!, row.end[found.index]!);
  }

  protected override press(time: number, _x: number, y: number): void {
    this.chosen = this.find(time, y);
    this.view.later(this.redraw);
  }

  protected override key(event: KeyboardEvent): boolean {
    const { view } = this;
    if (event.key === "Enter" && this.chosen) {
      this.zoom_to(this.chosen);
      return true;
    }
    const steps: Record<string, [number, number]> = {
      ArrowUp: [-1, 0],
      ArrowDown: [1, 0],
      ArrowLeft: [0, -1],
      ArrowRight: [0, 1],
    };
    const step = steps[event.key];
    if (!step || !this.rows.length) return false;
    if (!this.chosen) {
      this.chosen = { row: 0, index: Math.max(0, upper_bound(this.rows[0]!.begin, view.t0) - 1) };
    } else if (step[0]) {
      const begin = this.rows[this.chosen.row]!.begin[this.chosen.index]!;
      const r = Math.max(0, Math.min(this.chosen.row + step[0], this.rows.length - 1));
      this.chosen = {
        row: r,
        index: Math.max(0, upper_bound(this.rows[r]!.begin, Math.max(begin, view.t0)) - 1),
      };
    } else {
      const last = this.rows[this.chosen.row]!.items.length - 1;
      this.chosen.index = Math.max(0, Math.min(this.chosen.index + step[1], last));
    }
    const row = this.rows[this.chosen.row]!;
    const begin = row.begin[this.chosen.index]!;
    if (begin < view.t0 || begin > view.t1) view.show(begin - view.span / 2, begin + view.span / 2);
    view.later(this.redraw);
    const box = this.canvas.getBoundingClientRect();
    const x = Math.max(this.left, Math.min(this.x(begin), this.right));
    this.describe(this.chosen, { x: box.left + x, y: box.top + row.top + kRow });
    return true;
  }
}
