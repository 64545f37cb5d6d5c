// Time and bytes per operation, within the window of the charts.
import { fill, h } from "./dom.ts";
import { bytes, count, moment, percent, time } from "./format.ts";
import { upper_bound } from "./levels.ts";
import type { View } from "./view.ts";

interface Row {
  op: string;
  calls: number;
  total: number;
  longest: number;
  bytes: number;
}

const headings: { key: keyof Row | "mean" | "share"; title: string; text: boolean }[] = [
  { key: "op", title: "operation", text: true },
  { key: "calls", title: "calls", text: false },
  { key: "total", title: "time", text: false },
  { key: "share", title: "share", text: false },
  { key: "mean", title: "per call", text: false },
  { key: "longest", title: "longest", text: false },
  { key: "bytes", title: "bytes made", text: false },
];

export class OpsTable {
  readonly element = h("div", {
    class: "table-box",
    tabindex: 0,
    role: "region",
    "aria-label": "Operations",
  });
  private sorted_by: (typeof headings)[number]["key"] = "total";
  private ascending = false;
  private whole_list = false;
  private timer: number | undefined;

  constructor(private readonly view: View) {
    // A table that counts along with every frame of a zoom would only flicker.
    view.on(["window", "filter"], () => {
      clearTimeout(this.timer);
      this.element.setAttribute("aria-busy", "true");
      this.timer = setTimeout(() => this.draw(), 120);
    });
    this.draw();
  }

  private rows(): Row[] {
    const { run, t0, t1, filter, finding } = this.view;
    const { op, begin, took, bytes: made, site } = run.ops;
    const files = filter
      ? run.sites.map((each, i) =>
          finding
            ? i === finding.site
            : `${each.file}:${each.line} ${each.function}`.toLowerCase().includes(filter),
        )
      : [];
    const names = run.strings.map(
      (text) => !filter || (!finding && text.toLowerCase().includes(filter)),
    );
    const by_op = new Map<number, Row>();
    const end = upper_bound(begin, t1);
    for (let i = upper_bound(begin, t0 - 1); i < end; ++i) {
      if (!names[op[i]!] && !files[site[i]!]) continue;
      let row = by_op.get(op[i]!);
      if (!row)
        by_op.set(
          op[i]!,
          (row = { op: run.text(op[i]!), calls: 0, total: 0, longest: 0, bytes: 0 }),
        );
      ++row.calls;
      row.total += took[i]!;
      row.bytes += made[i]!;
      if (took[i]! > row.longest) row.longest = took[i]!;
    }
    const value = (row: Row): number | string => {
      if (this.sorted_by === "mean") return row.total / row.calls;
      return row[this.sorted_by === "share" ? "total" : this.sorted_by];
    };
    const direction = this.ascending ? 1 : -1;
    return [...by_op.values()].sort((a, b) => {
      const [x, y] = [value(a), value(b)];
      return x === y ? (a.op < b.op ? -1 : 1) : x < y ? -direction : direction;
    });
  }

  private sort(key: (typeof headings)[number]["key"], text: boolean): void {
    this.ascending = this.sorted_by === key ? !this.ascending : text;
    this.sorted_by = key;
    this.draw();
  }

  // The button that has the focus keeps it.
  private draw(): void {
    const buttons = () => [...this.element.querySelectorAll("button")];
    const focused = buttons().findIndex((button) => button === document.activeElement);
    this.fill();
    if (focused >= 0) (buttons()[focused] ?? this.element).focus({ preventScroll: true });
  }

  private fill(): void {
    const { view } = this;
    const rows = this.rows();
    this.element.removeAttribute("aria-busy");
    if (!rows.length) {
      fill(
        this.element,
        h(
          "p",
          { class: "empty" },
          view.run.ops.count
            ? "No operation matches in this window."
            : "No operations were recorded.",
        ),
      );
      return;
    }
    const all = rows.reduce((sum, row) => sum + row.total, 0);
    const shown = this.whole_list ? rows : rows.slice(0, 15);
    const head = headings.map(({ key, title, text }) =>
      h(
        "th",
        {
          scope: "col",
          class: text ? undefined : "number",
          "aria-sort":
            this.sorted_by === key ? (this.ascending ? "ascending" : "descending") : undefined,
        },
        h("button", { class: "sort", on: { click: () => this.sort(key, text) } }, title),
      ),
    );
    fill(
      this.element,
      h(
        "table",
        { class: "ops" },
        h(
          "caption",
          { class: "dim" },
          view.whole
            ? "over the whole run"
            : `from ${moment(view.t0, view.span)} to ${moment(view.t1, view.span)}`,
        ),
        h("thead", {}, h("tr", {}, ...head)),
        h(
          "tbody",
          {},
          ...shown.map((row) =>
            h(
              "tr",
              {},
              h("td", { class: "mono" }, row.op),
              h("td", { class: "number" }, count(row.calls)),
              h("td", { class: "number" }, time(row.total)),
              h(
                "td",
                { class: "number share" },
                h("span", {
                  class: "bar",
                  "aria-hidden": "true",
                  style: { width: `${((100 * row.total) / (all || 1)).toFixed(1)}%` },
                }),
                h("span", {}, percent(row.total, all)),
              ),
              h("td", { class: "number" }, time(Math.round(row.total / row.calls))),
              h("td", { class: "number" }, time(row.longest)),
              h("td", { class: "number" }, bytes(row.bytes)),
            ),
          ),
        ),
      ),
      rows.length > shown.length || this.whole_list
        ? h(
            "button",
            {
              class: "quiet after",
              on: {
                click: () => {
                  this.whole_list = !this.whole_list;
                  this.draw();
                },
              },
            },
            this.whole_list ? "Show fewer" : `Show all ${count(rows.length)} operations`,
          )
        : null,
    );
  }
}
