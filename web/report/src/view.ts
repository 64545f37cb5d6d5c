// What the page looks at: the window of time, the cursor, the chosen moment, the filter. Every
// panel reads it and redraws, at most once per frame, when it changes.
import { Levels } from "./levels.ts";
import { type Finding, type Run, kNone } from "./run.ts";

export type Aspect = "window" | "cursor" | "moment" | "filter" | "tensor";

export class View {
  t0 = 0;
  t1: number;
  cursor: number | null = null;
  moment: number;
  filter = "";
  // Which tensors and storages the filter lets through; null when there is no filter.
  shown: Uint8Array | null = null;
  shown_storages: Uint8Array | null = null;
  finding: Finding | null = null; // that the filter asks for: "finding 2"
  matches: number;
  tensor: number | null = null;
  readonly levels: Levels;
  private readonly listeners: { aspects: Aspect[]; listener: () => void }[] = [];
  private readonly due = new Set<() => void>();

  constructor(readonly run: Run) {
    this.levels = new Levels(run);
    this.t1 = run.length;
    this.moment = this.levels.peak_time;
    this.matches = run.tensors.count;
    // Before printing there is no next frame.
    addEventListener("tenure-draw-now", () => this.flush());
  }

  on(aspects: Aspect[], listener: () => void): void {
    this.listeners.push({ aspects, listener });
  }

  later(listener: () => void): void {
    if (this.due.size === 0) requestAnimationFrame(() => this.flush());
    this.due.add(listener);
  }

  private flush(): void {
    const now = [...this.due];
    this.due.clear();
    for (const listener of now) listener();
  }

  changed(aspect: Aspect): void {
    for (const { aspects, listener } of this.listeners) {
      if (aspects.includes(aspect)) this.later(listener);
    }
  }

  get whole(): boolean {
    return this.t0 === 0 && this.t1 === this.run.length;
  }
  get span(): number {
    return this.t1 - this.t0;
  }

  show(t0: number, t1: number): void {
    const { length } = this.run;
    const span = Math.min(length, Math.max(t1 - t0, Math.min(100, length)));
    const begin = Math.max(0, Math.min(t0, length - span));
    if (begin === this.t0 && begin + span === this.t1) return;
    this.t0 = begin;
    this.t1 = begin + span;
    this.changed("window");
  }

  // Around a moment that stays where it is on the screen.
  zoom(factor: number, around: number): void {
    this.show(around - (around - this.t0) * factor, around + (this.t1 - around) * factor);
  }
  pan(by: number): void {
    this.show(this.t0 + by, this.t1 + by);
  }
  reset(): void {
    this.show(0, this.run.length);
  }

  // A little room on both sides.
  show_life(begin: number, end: number): void {
    const last = Math.min(end, this.run.length);
    const margin = Math.max((last - begin) * 0.15, 50);
    this.show(begin - margin, last + margin);
  }

  set_cursor(time: number | null): void {
    if (time === this.cursor) return;
    this.cursor = time === null ? null : Math.max(0, Math.min(time, this.run.length));
    this.changed("cursor");
  }

  // The keyboard's way: the window follows.
  move_cursor(by: number): number {
    const from =
      this.cursor !== null && this.cursor >= this.t0 && this.cursor <= this.t1
        ? this.cursor
        : (this.t0 + this.t1) / 2;
    const to = Math.max(0, Math.min(from + by, this.run.length));
    if (to < this.t0) this.pan(to - this.t0);
    if (to > this.t1) this.pan(to - this.t1);
    this.set_cursor(to);
    return to;
  }

  set_moment(time: number): void {
    this.moment = Math.max(0, Math.min(time, this.run.length));
    this.changed("moment");
  }

  open(tensor: number | null): void {
    this.tensor = tensor;
    this.changed("tensor");
  }

  set_filter(text: string): void {
    const wanted = text.trim().toLowerCase();
    if (wanted === this.filter) return;
    this.filter = wanted;
    this.shown = null;
    this.shown_storages = null;
    this.matches = this.run.tensors.count;
    const asked = /^finding (\d+)$/.exec(wanted);
    this.finding = (asked && this.run.findings[Number(asked[1]) - 1]) || null;
    if (this.finding) this.show_tensors(this.finding.tensors);
    else if (wanted) this.apply_filter(wanted);
    this.changed("filter");
  }

  private show_tensors(chosen: Uint32Array): void {
    const { tensors, storages } = this.run;
    this.shown = new Uint8Array(tensors.count);
    this.shown_storages = new Uint8Array(storages.count);
    this.matches = chosen.length;
    for (const i of chosen) {
      this.shown[i] = 1;
      if (tensors.storage[i] !== kNone) this.shown_storages[tensors.storage[i]!] = 1;
    }
  }

  // Words are matched once against the few distinct strings, then looked up per tensor.
  private apply_filter(wanted: string): void {
    const { run } = this;
    const { tensors } = run;
    const texts = run.strings.map((text) => text.toLowerCase().includes(wanted));
    const sites = run.sites.map(
      (site) =>
        `${site.file}:${site.line}`.toLowerCase().includes(wanted) ||
        site.function.toLowerCase().includes(wanted),
    );
    texts[0] = false;
    const id = /^#\d+$/.test(wanted) ? Number(wanted.slice(1)) : -1;
    this.shown = new Uint8Array(tensors.count);
    this.shown_storages = new Uint8Array(run.storages.count);
    this.matches = 0;
    for (let s = 0; s < run.storages.count; ++s) {
      if (texts[run.storages.op[s]!] || sites[run.storages.site[s]!]) this.shown_storages[s] = 1;
    }
    for (let i = 0; i < tensors.count; ++i) {
      const match =
        texts[tensors.name[i]!] ||
        texts[tensors.op[i]!] ||
        texts[tensors.owner[i]!] ||
        texts[tensors.shape[i]!] ||
        texts[tensors.dtype[i]!] ||
        sites[tensors.birth_site[i]!] ||
        tensors.id[i] === id;
      if (!match) continue;
      this.shown[i] = 1;
      ++this.matches;
      if (tensors.storage[i] !== kNone) this.shown_storages[tensors.storage[i]!] = 1;
    }
  }
}
