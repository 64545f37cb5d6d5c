// What lives, by the line that made it: worst first unless sorted otherwise, filtered as one types.
import { h, say } from "../../../web/report/src/dom.ts";
import { count, plural } from "../../../web/report/src/format.ts";
import { line_row } from "./line_row.ts";
import { type SortKey, matching, sorted, trouble } from "./order.ts";
import { Rows } from "./rows.ts";
import type { Line } from "./source.ts";
import { Trends } from "./trends.ts";

// Largest first, or worst; the names of lines from a to z.
const headings: { key: SortKey; text: string; about: string }[] = [
  { key: "line", text: "line", about: "by file and line" },
  { key: "trouble", text: "trend", about: "leaks and growth first" },
  { key: "count", text: "tensors", about: "by number of tensors" },
  { key: "bytes", text: "bytes", about: "by bytes" },
];

export class LinesView {
  readonly element: HTMLElement;
  readonly rows: Rows<Line>;
  private readonly trends = new Trends();
  private readonly filter: HTMLInputElement;
  private readonly buttons: HTMLButtonElement[];
  private readonly summary = h("p", { class: "summary", role: "status" });
  private readonly empty = h("p", { class: "empty", hidden: true });
  private lines: Line[] | null = null;
  private key: SortKey = "trouble";
  private reversed = false;

  constructor(since: HTMLElement, on_take: (line: Line) => void) {
    this.rows = new Rows<Line>({
      label: "Lines that made tensors that live",
      key: (line) => line.key,
      make: () => line_row((line) => this.trends.of(line)),
      on_take,
    });
    this.filter = h("input", {
      type: "search",
      placeholder: "Filter: file, op, layer, leak…",
      "aria-label": "Filter the lines",
      autocomplete: "off",
      spellcheck: "false",
      on: {
        input: () => this.draw(true),
        keydown: (event) => this.filter_key(event),
      },
    });
    this.buttons = headings.map(({ key, about }, i) =>
      h(
        "button",
        { class: `sort ${key}`, type: "button", on: { click: () => this.sort(key) } },
        headings[i]!.text,
        h("span", { class: "sr-only" }, `, sort ${about}`),
      ),
    );
    this.element = h(
      "section",
      { class: "lines-view", "aria-label": "What lives, by line" },
      h("div", { class: "filters" }, this.filter, since),
      this.summary,
      h("div", { class: "headings", role: "group", "aria-label": "Order" }, ...this.buttons),
      this.empty,
      this.rows.element,
    );
    this.show_order();
  }

  show(lines: Line[]): void {
    this.lines = lines;
    this.trends.add(lines);
    this.draw(false);
  }

  // Of another program, or since another mark.
  reset(): void {
    this.lines = null;
    this.trends.clear();
    this.rows.reset();
    this.summary.textContent = "";
  }

  focus_filter(): void {
    this.filter.focus();
  }

  // Anew by the same heading: the other way round.
  private sort(key: SortKey): void {
    this.reversed = key === this.key && !this.reversed;
    this.key = key;
    this.show_order();
    this.draw(true);
    const { about } = headings.find((each) => each.key === key)!;
    say(`sorted ${about}${this.reversed ? ", reversed" : ""}`);
  }

  private show_order(): void {
    this.buttons.forEach((button, i) => {
      const is_ours = headings[i]!.key === this.key;
      button.setAttribute("aria-pressed", String(is_ours));
      button.dataset.order = !is_ours
        ? ""
        : (this.key === "line") !== this.reversed
          ? "up"
          : "down";
    });
  }

  private filter_key(event: KeyboardEvent): void {
    if (event.key === "ArrowDown") {
      event.preventDefault();
      this.rows.focus();
    } else if (event.key === "Escape" && this.filter.value) {
      event.stopPropagation(); // the next one closes
      event.preventDefault();
      this.filter.value = "";
      this.draw(true);
    }
  }

  private draw(anew: boolean): void {
    const { lines } = this;
    if (!lines) return;
    if (anew) this.rows.loosen();
    const shown = sorted(matching(lines, this.filter.value), this.key, this.reversed);
    this.rows.show(shown);
    this.empty.hidden = shown.length > 0;
    this.empty.textContent = lines.length ? "No line matches." : "No tensor lives.";
    const bad = lines.filter((line) => trouble(line) >= 2).length;
    const text =
      shown.length < lines.length
        ? `${count(shown.length)} of ${plural(lines.length, "line")}`
        : bad
          ? `${plural(bad, "line")} of ${count(lines.length)} ${bad === 1 ? "leaks or grows" : "leak or grow"}`
          : lines.length
            ? `${plural(lines.length, "line")}, no leak seen`
            : "";
    if (this.summary.textContent !== text) this.summary.textContent = text;
    this.summary.classList.toggle("bad", bad > 0);
  }
}
