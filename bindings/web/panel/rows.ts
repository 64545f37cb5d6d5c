// A list of which one row is the current one: arrows move it, a click or Enter takes it. Rows are
// kept by key, so that what is hovered or focused stays while figures change; at most kPage rows are
// there until more are asked for.
import { fill, h } from "../../../web/report/src/dom.ts";
import { count } from "../../../web/report/src/format.ts";
import { in_place } from "./order.ts";

const kPage = 100;
const kSteady = 1500; // ms after a pointer or a key in the list, during which rows keep their places

export interface Row<T> {
  element: HTMLElement;
  show(item: T): void;
}

export interface RowsOptions<T> {
  label: string;
  key: (item: T) => string;
  make: () => Row<T>;
  on_take: (item: T) => void;
  follows?: boolean; // a row is taken as soon as it is the current one
  on_more?: (limit: number) => void; // there are more, but not here
}

interface Shown<T> extends Row<T> {
  item: T;
  key: string;
}

export class Rows<T> {
  readonly element: HTMLElement;
  private readonly list: HTMLElement;
  private readonly more = h("button", {
    class: "more",
    type: "button",
    hidden: true,
    on: { click: () => this.show_more() },
  });
  private rows: Shown<T>[] = [];
  private items: T[] = [];
  private total = 0;
  private limit = kPage;
  private current: string | null = null;
  private taken: string | null = null;
  private touched = -Infinity;

  constructor(private readonly options: RowsOptions<T>) {
    const touched = () => (this.touched = performance.now());
    this.list = h("div", {
      class: "rows",
      role: "listbox",
      "aria-label": options.label,
      on: {
        keydown: (event) => this.pressed(event),
        pointermove: touched,
        pointerdown: touched,
        click: (event) => this.clicked(event),
      },
    });
    this.element = h("div", { class: "rows-box" }, this.list, this.more);
  }

  get size(): number {
    return this.rows.length;
  }

  // `total`: how many there are, with those that are not among the items.
  show(items: T[], total = items.length): void {
    const { key, make } = this.options;
    const steady = performance.now() - this.touched < kSteady;
    const before = new Map(this.rows.map((row, i) => [row.key, i]));
    this.items = steady ? in_place(items, before, key) : items;
    this.total = total;
    const old = new Map(this.rows.map((row) => [row.key, row]));
    this.rows = this.items.slice(0, this.limit).map((item) => {
      const name = key(item);
      const row: Shown<T> = old.get(name) ?? { ...make(), item, key: name };
      old.delete(name);
      row.item = item;
      row.show(item);
      return row;
    });
    const had_focus = this.list.matches(":focus-within");
    for (const row of old.values()) row.element.remove();
    this.rows.forEach(({ element }, i) => {
      const there = this.list.children[i];
      if (there === element) return;
      // Moving the focused row would take its focus.
      const focused = element.matches(":focus");
      this.list.insertBefore(element, there ?? null);
      if (focused) element.focus({ preventScroll: true });
    });
    if (!this.rows.some((row) => row.key === this.current))
      this.current = this.rows[0]?.key ?? null;
    this.mark_current();
    if (had_focus && !this.list.matches(":focus-within")) this.focus();
    const rest = this.total - this.rows.length;
    this.more.hidden = rest <= 0;
    const text = `and ${count(rest)} more`;
    if (this.more.textContent !== text) this.more.textContent = text;
  }

  // Shows another list from its beginning.
  reset(): void {
    this.limit = kPage;
    this.current = this.taken = null;
    this.touched = -Infinity;
    this.rows = [];
    this.items = [];
    fill(this.list);
    this.more.hidden = true;
  }

  take(key: string | null): void {
    this.taken = key;
    if (key !== null) this.current = key;
    this.mark_current();
  }

  // The order is asked for anew: rows move at once.
  loosen(): void {
    this.touched = -Infinity;
  }

  focus(): void {
    const row = this.rows.find((each) => each.key === this.current);
    row?.element.focus();
  }

  private mark_current(): void {
    for (const { element, key } of this.rows) {
      element.tabIndex = key === this.current ? 0 : -1;
      element.setAttribute("aria-selected", String(key === this.taken));
    }
  }

  private show_more(): void {
    const first_new = this.rows.length;
    this.limit += kPage;
    if (this.items.length < this.total) this.options.on_more?.(this.limit);
    this.loosen();
    this.show(this.items, this.total);
    const row = this.rows[first_new];
    if (row) this.move(row);
  }

  private move(row: Shown<T>): void {
    this.current = row.key;
    this.mark_current();
    row.element.focus();
    if (this.options.follows) this.options.on_take(row.item);
  }

  private pressed(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    this.touched = performance.now();
    const at = this.rows.findIndex((row) => row.key === this.current);
    const last = this.rows.length - 1;
    const places: Record<string, number> = {
      ArrowUp: at - 1,
      ArrowDown: at + 1,
      PageUp: at - 10,
      PageDown: at + 10,
      Home: 0,
      End: last,
    };
    const place = places[event.key];
    const row = this.rows[place === undefined ? at : Math.max(0, Math.min(place, last))];
    if (!row) return;
    if (place !== undefined) this.move(row);
    else if (event.key === "Enter" || event.key === " ") this.options.on_take(row.item);
    else return;
    event.preventDefault();
  }

  private clicked(event: Event): void {
    const row = this.rows.find(({ element }) => element.contains(event.target as Node));
    if (!row) return;
    this.current = row.key;
    this.mark_current();
    row.element.focus({ preventScroll: true });
    this.options.on_take(row.item);
  }
}
