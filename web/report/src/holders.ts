// The largest storages at the chosen moment, and everyone who holds them.
import { fill, h } from "./dom.ts";
import { bytes, count, percent } from "./format.ts";
import { category_at, describe, live_at } from "./live.ts";
import { categories } from "./run.ts";
import type { View } from "./view.ts";

const kRows = 12;

export class Holders {
  readonly element = h("div", {
    class: "table-box",
    tabindex: 0,
    role: "region",
    "aria-label": "Top holders",
  });

  constructor(private readonly view: View) {
    view.on(["moment", "filter"], () => this.draw());
    this.draw();
  }

  private draw(): void {
    const { view } = this;
    const { run, moment } = view;
    const live = live_at(view, moment, kRows);
    const all = view.levels.bytes_at(moment);
    if (!live.count) {
      fill(
        this.element,
        h(
          "p",
          { class: "empty" },
          view.filter
            ? "Nothing that matches is alive at this moment."
            : "Nothing is alive at this moment.",
        ),
      );
      return;
    }
    const rows = live.storages.map((storage) => {
      const { tensor, text, shape, site } = describe(run, storage, moment);
      const category = category_at(run, storage, moment);
      return h(
        "tr",
        {},
        h("td", { class: "number" }, bytes(run.storages.nbytes[storage]!)),
        h("td", { class: "number dim" }, percent(run.storages.nbytes[storage]!, all)),
        h(
          "td",
          { class: "tensor-cell" },
          tensor === undefined
            ? text
            : h("button", { class: "link", on: { click: () => view.open(tensor) } }, text),
          h("span", { class: "dim" }, ` ${shape}`),
        ),
        h(
          "td",
          { class: "nowrap" },
          h("span", { class: `swatch category-${category}`, "aria-hidden": "true" }),
          categories[category]!,
        ),
        h("td", { class: "mono nowrap", title: run.sites[site]?.file }, run.site_text(site)),
        h("td", { class: "dim" }, this.held_by(storage)),
      );
    });
    const rest = live.count - live.storages.length;
    fill(
      this.element,
      h(
        "table",
        {},
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            ...["bytes", "share", "tensor", "category", "asked for at", "held by"].map((title, i) =>
              h("th", { scope: "col", class: i < 2 ? "number" : undefined }, title),
            ),
          ),
        ),
        h("tbody", {}, ...rows),
      ),
      rest > 0
        ? h(
            "p",
            { class: "dim after" },
            `and ${count(rest)} more, ${bytes(live.bytes - live.storages.reduce((sum, s) => sum + run.storages.nbytes[s]!, 0))} together`,
          )
        : null,
    );
  }

  // "2 tensors, tape "step"".
  private held_by(storage: number): string {
    const { run, moment } = this.view;
    const owners = new Map<string, number>();
    let tensors = 0;
    for (const each of run.tensors_on(storage)) {
      if (run.tensors.born[each]! > moment || run.tensors.died[each]! <= moment) continue;
      if (!run.tensors.owner[each]) ++tensors;
      else {
        const owner = run.text(run.tensors.owner[each]!);
        owners.set(owner, (owners.get(owner) ?? 0) + 1);
      }
    }
    const parts = [...owners].map(([owner, times]) => (times > 1 ? `${owner} (${times})` : owner));
    if (tensors) parts.unshift(tensors === 1 ? "1 tensor" : `${tensors} tensors`);
    return (
      parts.slice(0, 3).join(", ") + (parts.length > 3 ? `, and ${parts.length - 3} more` : "") ||
      "the library"
    );
  }
}
