// The life of every tensor as a bar from birth to death. Only the lanes in sight are drawn, and of
// each lane at most one bar per pixel, found by bisection: the cost is that of the screen, not of
// the run.
import { h, say } from "./dom.ts";
import { bytes, moment, time as duration } from "./format.ts";
import { Lanes, last_born } from "./lanes.ts";
import { birth_categories, kSymbolic } from "./live.ts";
import { Panel } from "./panel.ts";
import { colour } from "./theme.ts";
import { hide_tip, show_tip } from "./tip.ts";
import type { View } from "./view.ts";

const kHeight = 340;
const kTallest = 18;
const kWithText = 16; // rows from this height on
const kKinds = kSymbolic + 1;
const kPale = 0.4;

export class Lives extends Panel {
  private lanes: Lanes;
  private readonly kinds: Uint8Array;
  private rows: Int32Array = new Int32Array(0); // lanes with a life in the window
  private row_of: Int32Array = new Int32Array(0); // by lane; -1: not shown
  private laid_out: [number, number] | null = null; // the window that the rows are for
  private row = kTallest; // height
  private row_by_hand: number | null = null;
  private scroll = 0;
  private chosen: number | null = null; // a tensor, by the keyboard
  private readonly leaking = new Set<number>(); // tensors
  private thumb: { y: number; scroll: number } | null = null;

  constructor(view: View) {
    super(view, {
      label: "The life of each tensor",
      keys: "Up and Down choose a lane, Left and Right a tensor, Enter tells its story.",
      drag: "pan",
      height: kHeight,
    });
    this.lanes = new Lanes(view.run, null);
    this.kinds = birth_categories(view.run);
    for (const finding of view.run.findings) {
      if (finding.problem <= 1) for (const tensor of finding.tensors) this.leaking.add(tensor);
    }
    this.choose_height();
    view.on(["filter"], () => {
      this.lanes = new Lanes(view.run, view.shown);
      this.chosen = null;
      this.choose_height();
      this.redraw();
    });
    view.on(["tensor"], () => {
      if (view.tensor !== null) this.reveal(view.tensor);
      this.redraw();
    });
    this.canvas.addEventListener("pointerdown", (event) => this.take_thumb(event), {
      capture: true,
    });
    this.canvas.addEventListener("pointermove", (event) => this.move_thumb(event), {
      capture: true,
    });
    this.canvas.addEventListener("pointerup", () => (this.thumb = null), { capture: true });
  }

  // As high as all of the run needs, so that the page stays where it is at every zoom.
  private choose_height(): void {
    const count = Math.max(1, this.lanes.count);
    const row = this.fitting_row(count);
    this.laid_out = null;
    this.scroll = 0;
    this.set_height(Math.min(kHeight, Math.max(3 * kTallest, count * row + 4)));
  }

  // All rows in sight where that leaves them visible; names are worth a little scrolling.
  private fitting_row(count: number): number {
    const fit = Math.floor(kHeight / Math.max(1, count));
    if (fit >= 10) return Math.max(kWithText, Math.min(kTallest, fit));
    return Math.max(4, fit);
  }

  // Lanes where nothing lives in the window take no room.
  private lay_out(): void {
    const { run, t0, t1 } = this.view;
    if (this.laid_out && this.laid_out[0] === t0 && this.laid_out[1] === t1) return;
    this.laid_out = [t0, t1];
    this.row_of = new Int32Array(this.lanes.count).fill(-1);
    const rows: number[] = [];
    for (let lane = 0; lane < this.lanes.count; ++lane) {
      const members = this.lanes.lane(lane);
      const last = members[last_born(run, members, t1)];
      if (last === undefined || run.tensors.died[last]! < t0) continue;
      this.row_of[lane] = rows.length;
      rows.push(lane);
    }
    this.rows = Int32Array.from(rows);
    this.row = this.row_by_hand ?? this.fitting_row(rows.length);
    this.scroll = Math.max(0, Math.min(this.scroll, this.scroll_range));
  }

  taller(factor: number): void {
    const middle = (this.scroll + this.height / 2) / this.row;
    this.row = Math.max(2, Math.min(28, Math.round(this.row * factor)));
    this.row_by_hand = this.row;
    this.scroll_to(middle * this.row - this.height / 2);
  }

  private get scroll_range(): number {
    return Math.max(0, this.rows.length * this.row - this.height + 4);
  }

  private scroll_to(y: number): void {
    this.scroll = Math.max(0, Math.min(y, this.scroll_range));
    this.view.later(this.redraw);
  }

  protected override pan_rows(by: number): void {
    this.scroll_to(this.scroll + by);
  }

  // The upper edge of a tensor's row, on the canvas; none when the tensor is not shown.
  private top_of(tensor: number): number | null {
    this.lay_out();
    const lane = this.lanes.lane_of[tensor]!;
    const row = lane < 0 ? -1 : this.row_of[lane]!;
    return row < 0 ? null : row * this.row - this.scroll;
  }

  private reveal(tensor: number): void {
    const top = this.top_of(tensor);
    if (top !== null && (top < 0 || top + this.row > this.height)) {
      this.scroll_to(this.scroll + top - this.height / 2);
    }
  }

  protected draw(): void {
    const { g } = this;
    this.lay_out();
    if (!this.lanes.count) {
      this.font(13);
      g.fillStyle = colour("muted");
      g.textAlign = "center";
      g.fillText(
        this.view.filter ? "No tensor matches." : "No tensors were recorded.",
        (this.left + this.right) / 2,
        this.height / 2,
      );
      return;
    }
    g.save();
    g.beginPath();
    g.rect(this.left, 0, this.right - this.left, this.height);
    g.clip();
    const batches: number[][] = Array.from({ length: 2 * kKinds }, () => []);
    const leaks: number[] = [];
    const texts: { x0: number; x1: number; y: number; tensor: number }[] = [];
    const first = Math.max(0, Math.floor(this.scroll / this.row));
    const last = Math.min(this.rows.length, Math.ceil((this.scroll + this.height) / this.row));
    for (let row = first; row < last; ++row) this.lay_row(row, batches, leaks, texts);
    const fill = (style: string, rects: number[]) => {
      g.fillStyle = style;
      for (let i = 0; i < rects.length; i += 4) {
        g.fillRect(rects[i]!, rects[i + 1]!, rects[i + 2]!, rects[i + 3]!);
      }
    };
    batches.forEach((rects, index) => {
      const kind = index % kKinds;
      g.globalAlpha = index < kKinds ? 1 : kPale;
      fill(colour(kind === kSymbolic ? "symbolic" : `category-${kind}`), rects);
    });
    g.globalAlpha = 1;
    fill(colour("bad"), leaks);
    if (this.row >= kWithText) this.draw_texts(texts);
    this.outline(this.view.tensor, colour("ink"));
    if (document.activeElement === this.canvas) this.outline(this.chosen, colour("accent"));
    g.restore();
    this.draw_gutter(first, last);
  }

  private lay_row(
    row: number,
    batches: number[][],
    leaks: number[],
    texts: { x0: number; x1: number; y: number; tensor: number }[],
  ): void {
    const { view } = this;
    const { run } = view;
    const { born, died, owner } = run.tensors;
    const scale = (this.right - this.left) / view.span;
    const members = this.lanes.lane(this.rows[row]!);
    const gap = this.row >= 4 ? 1 : 0;
    const top = Math.round(row * this.row - this.scroll);
    const thin = Math.max(1, Math.round((this.row - gap) * 0.5));
    for (let i = Math.max(0, last_born(run, members, view.t0)); i < members.length;) {
      const tensor = members[i]!;
      const begin = born[tensor]!;
      if (begin > view.t1) break;
      const x0 = Math.max(this.left - 2, this.left + (begin - view.t0) * scale);
      const end = this.left + (Math.min(died[tensor]!, run.length) - view.t0) * scale;
      if (end < this.left) {
        ++i;
        continue;
      }
      // Bars this short begin on a pixel: half a pixel would be a shade, and slower.
      const short = end - x0 < 8;
      const from = short ? Math.floor(x0) : x0;
      const x1 = Math.min(
        this.right + 2,
        short ? Math.max(Math.ceil(end) - 1, from + 1) : end - 0.5,
      );
      // A saved value is thin, or pale where there is room for its name.
      const saved = owner[tensor] !== 0 && this.row < kWithText;
      const pale = owner[tensor] !== 0 && !saved;
      const batch = batches[this.kinds[tensor]! + (pale ? kKinds : 0)]!;
      const y = saved ? top + ((this.row - gap - thin) >> 1) : top;
      const end_of_last = batch.length - 2;
      if (
        short &&
        batch[end_of_last - 1] === y &&
        batch[end_of_last - 2]! + batch[end_of_last]! === from
      ) {
        batch[end_of_last]! += x1 - from; // one bar with its neighbour, of the same colour
      } else {
        batch.push(from, y, x1 - from, saved ? thin : this.row - gap);
      }
      if (died[tensor] === Infinity && this.leaking.has(tensor)) {
        const thick = this.row >= 8 ? 2 : 1;
        leaks.push(x0, top + this.row - gap - thick, x1 - x0, thick);
      }
      if (x1 - x0 > 34) texts.push({ x0: Math.max(x0, this.left), x1, y: top, tensor });
      if (end < x0 + 1) {
        // All that end within this pixel are one mark.
        i = Math.max(i + 1, last_born(run, members, this.time(Math.floor(x0) + 1)));
      } else {
        ++i;
      }
    }
  }

  private draw_texts(texts: { x0: number; x1: number; y: number; tensor: number }[]): void {
    const { g } = this;
    const { run } = this.view;
    this.font(Math.min(11.5, this.row - 4), 500);
    g.textAlign = "left";
    g.textBaseline = "middle";
    for (const { x0, x1, y, tensor } of texts) {
      const kind = this.kinds[tensor]!;
      const plain = kind === kSymbolic || run.tensors.owner[tensor] !== 0;
      g.fillStyle = colour(plain ? "ink" : `on-category-${kind}`);
      const shape = run.text(run.tensors.shape[tensor]!);
      g.fillText(
        this.fit_text(`${run.label(tensor)}  ${shape}`, x1 - x0 - 10),
        x0 + 5,
        y + this.row / 2,
      );
    }
    g.textBaseline = "alphabetic";
  }

  private outline(tensor: number | null, style: string): void {
    if (tensor === null) return;
    const top = this.top_of(tensor);
    if (top === null) return;
    const { g } = this;
    const { born, died } = this.view.run.tensors;
    const x0 = Math.max(this.left + 1, this.x(born[tensor]!));
    const x1 = Math.min(
      this.right - 1,
      Math.max(this.x(Math.min(died[tensor]!, this.view.run.length)), x0 + 3),
    );
    g.strokeStyle = style;
    g.lineWidth = 2;
    g.strokeRect(x0, top, x1 - x0, Math.max(3, this.row - 1));
    g.lineWidth = 1;
  }

  private draw_gutter(first: number, last: number): void {
    const { g } = this;
    this.font(11);
    g.fillStyle = colour("muted");
    g.textAlign = "right";
    g.textBaseline = "middle";
    // Numbers of rows: about how many tensors live at once.
    const step =
      [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].find((each) => each * this.row >= 40) ?? 2000;
    for (let row = Math.ceil(Math.max(1, first) / step) * step; row <= last; row += step) {
      const y = row * this.row - this.scroll - this.row / 2;
      if (y > 6 && y < this.height - 4) g.fillText(String(row), this.left - 8, y);
    }
    g.textBaseline = "alphabetic";
    if (this.scroll_range > 0) {
      const share = this.height / (this.rows.length * this.row);
      const size = Math.max(24, this.height * share);
      g.fillStyle = colour("thumb");
      g.beginPath();
      g.roundRect(
        this.right + 3,
        (this.scroll / this.scroll_range) * (this.height - size),
        6,
        size,
        3,
      );
      g.fill();
    }
  }

  private take_thumb(event: PointerEvent): void {
    if (event.offsetX > this.right + 1 && this.scroll_range > 0) {
      this.thumb = { y: event.offsetY, scroll: this.scroll };
      this.canvas.setPointerCapture(event.pointerId);
      event.stopImmediatePropagation();
    }
  }

  private move_thumb(event: PointerEvent): void {
    if (!this.thumb) return;
    event.stopImmediatePropagation();
    const size = Math.max(24, (this.height * this.height) / (this.rows.length * this.row));
    this.scroll_to(
      this.thumb.scroll +
        ((event.offsetY - this.thumb.y) * this.scroll_range) / (this.height - size),
    );
  }

  private find(time: number, y: number): number | null {
    const lane = this.rows[Math.floor((y + this.scroll) / this.row)];
    if (lane === undefined) return null;
    const { run, span } = this.view;
    const members = this.lanes.lane(lane);
    const reach = (3 * span) / (this.right - this.left);
    const tensor = members[last_born(run, members, time + reach / 2)];
    if (tensor === undefined || run.tensors.died[tensor]! < time - reach) return null;
    return tensor;
  }

  private describe(tensor: number, client: { x: number; y: number }): void {
    const { run, span } = this.view;
    const t = run.tensors;
    const alive = t.died[tensor] === Infinity;
    const lived = Math.min(t.died[tensor]!, run.length) - t.born[tensor]!;
    const shape = `${run.text(t.dtype[tensor]!)} ${run.text(t.shape[tensor]!)}`;
    const fate = alive ? "alive when the recording ended" : `died of ${run.text(t.cause[tensor]!)}`;
    say(
      `${run.label(tensor)}, ${shape}, ${bytes(t.nbytes[tensor]!)}, ${run.site_text(t.birth_site[tensor]!)}, ${fate}`,
    );
    show_tip(
      client,
      h(
        "div",
        { class: "tip-title" },
        h("span", {}, run.label(tensor)),
        h("b", {}, bytes(t.nbytes[tensor]!)),
      ),
      h("div", {}, `${shape}  `, h("span", { class: "dim" }, `#${t.id[tensor]}`)),
      h("div", {}, `lived ${duration(lived)} from ${moment(t.born[tensor]!, span)}; ${fate}`),
      h("div", { class: "dim mono" }, run.site_text(t.birth_site[tensor]!)),
    );
  }

  protected override hover(
    time: number,
    _x: number,
    y: number,
    client: { x: number; y: number },
  ): void {
    if (y < 0) return;
    const tensor = this.find(time, y);
    this.canvas.style.cursor = tensor === null ? "grab" : "pointer";
    if (tensor !== null) this.describe(tensor, client);
    else hide_tip();
  }

  protected override press(time: number, _x: number, y: number): void {
    const tensor = this.find(time, y);
    if (tensor === null) return;
    this.chosen = tensor;
    this.view.open(tensor);
  }

  protected override key(event: KeyboardEvent): boolean {
    const { view } = this;
    const { run } = view;
    if (event.key === "Enter" && this.chosen !== null) {
      hide_tip();
      view.open(this.chosen);
      return true;
    }
    this.lay_out();
    if (!this.rows.length) return false;
    const { born, died } = run.tensors;
    const nearest = (lane: number, time: number): number => {
      const members = this.lanes.lane(lane);
      return members[Math.max(0, last_born(run, members, time))]!;
    };
    const lane = this.chosen === null ? -1 : this.lanes.lane_of[this.chosen]!;
    if (event.key === "ArrowUp" || event.key === "ArrowDown") {
      const from = lane < 0 ? -1 : this.row_of[lane]!;
      const by = event.key === "ArrowUp" ? -1 : 1;
      const to = this.rows[Math.max(0, Math.min(from + by, this.rows.length - 1))]!;
      const time =
        view.cursor ?? (this.chosen === null ? view.t0 : Math.max(born[this.chosen]!, view.t0));
      this.chosen = nearest(to, time);
    } else if ((event.key === "ArrowLeft" || event.key === "ArrowRight") && this.chosen !== null) {
      const members = this.lanes.lane(lane);
      const at = last_born(run, members, born[this.chosen]!) + (event.key === "ArrowLeft" ? -1 : 1);
      this.chosen = members[Math.max(0, Math.min(at, members.length - 1))]!;
    } else {
      return false;
    }
    const begin = born[this.chosen]!;
    if (died[this.chosen]! < view.t0 || begin > view.t1)
      view.show(begin - view.span / 2, begin + view.span / 2);
    this.reveal(this.chosen);
    view.later(this.redraw);
    const box = this.canvas.getBoundingClientRect();
    const x = Math.max(this.left, Math.min(this.x(begin), this.right));
    const y = (this.top_of(this.chosen) ?? 0) + this.row;
    this.describe(this.chosen, { x: box.left + x, y: box.top + y });
    return true;
  }
}
