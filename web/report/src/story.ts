// A tensor's story, beside the charts: its life in order, and who held its storage.
import { fill, h } from "./dom.ts";
import { source } from "./findings.ts";
import { bytes, count, moment, percent, time as duration } from "./format.ts";
import { category_at } from "./live.ts";
import { categories, kBefore, kNone, kReused, kView } from "./run.ts";
import type { View } from "./view.ts";

const kShownHolders = 40;

export class Story {
  readonly element = h("aside", {
    class: "story",
    role: "dialog",
    "aria-label": "Story of a tensor",
    tabindex: -1,
    hidden: true,
  });
  private before: Element | null = null;

  constructor(private readonly view: View) {
    view.on(["tensor"], () => this.draw());
    this.element.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      event.stopPropagation();
      view.open(null);
    });
  }

  private draw(): void {
    const { view } = this;
    if (view.tensor === null) {
      if (this.element.hidden) return;
      this.element.hidden = true;
      document.body.classList.remove("with-story");
      if (this.before instanceof HTMLElement) this.before.focus();
      return;
    }
    if (this.element.hidden) this.before = document.activeElement;
    this.element.hidden = false;
    document.body.classList.add("with-story");
    fill(
      this.element,
      this.head(view.tensor),
      this.facts(view.tensor),
      this.life(view.tensor),
      this.holders(view.tensor),
      this.errors(view.tensor),
    );
    this.element.scrollTop = 0;
    this.element.focus({ preventScroll: true });
  }

  private head(tensor: number): HTMLElement {
    const { run } = this.view;
    const t = run.tensors;
    const end = Math.min(t.died[tensor]!, run.length);
    return h(
      "header",
      {},
      h("h2", {}, run.label(tensor), h("span", { class: "dim" }, ` #${t.id[tensor]}`)),
      h(
        "button",
        {
          class: "close",
          "aria-label": "Close the story",
          on: { click: () => this.view.open(null) },
        },
        "×",
      ),
      h(
        "div",
        { class: "actions" },
        h(
          "button",
          { class: "quiet", on: { click: () => this.view.show_life(t.born[tensor]!, end) } },
          "Zoom to its life",
        ),
        h(
          "button",
          { class: "quiet", on: { click: () => this.view.set_moment(t.born[tensor]!) } },
          "Choose its birth",
        ),
      ),
    );
  }

  private facts(tensor: number): HTMLElement {
    const { run } = this.view;
    const t = run.tensors;
    const storage = t.storage[tensor]!;
    const flags = t.flags[tensor]!;
    const rows: [string, string][] = [
      ["name", run.text(t.name[tensor]!)],
      ["saved for", run.text(t.owner[tensor]!)],
      ["shape", run.text(t.shape[tensor]!) || "[]"],
      ["dtype", run.text(t.dtype[tensor]!)],
      ["bytes", `${count(t.nbytes[tensor]!)} (${bytes(t.nbytes[tensor]!)})`],
      [
        "category",
        storage === kNone
          ? "symbolic: it has no storage"
          : categories[category_at(run, storage, Math.min(t.died[tensor]! - 1, run.length))]!,
      ],
    ];
    if (flags & kView && storage !== kNone) {
      rows.push([
        "view",
        `of ${bytes(run.storages.nbytes[storage]!)} (${percent(t.nbytes[tensor]!, run.storages.nbytes[storage]!)} of its storage)`,
      ]);
    }
    if (flags & kReused) rows.push(["storage", "taken over from an input that died for it"]);
    return h(
      "dl",
      { class: "facts-list" },
      ...rows
        .filter(([, value]) => value)
        .flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]),
    );
  }

  private life(tensor: number): HTMLElement {
    const { run } = this.view;
    const t = run.tensors;
    const alive = t.died[tensor] === Infinity;
    const end = Math.min(t.died[tensor]!, run.length);
    const when = (time: number) => moment(time, run.length);
    const step = (name: string, time: string, ...children: (Node | string | null)[]) =>
      h("li", {}, h("b", {}, name), h("span", { class: "when" }, time), h("div", {}, ...children));
    const line = (...parts: (Node | string | null)[]) => h("div", {}, ...parts);
    const scopes: string[] = [];
    for (
      let span = t.scope[tensor]!;
      span !== kNone && scopes.length < 8;
      span = run.spans.parent[span]!
    ) {
      scopes.unshift(run.span_label(span));
    }
    return h(
      "div",
      {},
      h("h3", {}, "Life"),
      h(
        "ol",
        { class: "life" },
        step(
          "born",
          t.flags[tensor]! & kBefore ? "before the recording" : when(t.born[tensor]!),
          line(
            h("span", { class: "mono" }, run.text(t.op[tensor]!)),
            ` on thread ${t.thread[tensor]}`,
          ),
          source(run, t.birth_site[tensor]!),
          scopes.length ? line(h("span", { class: "dim" }, `in ${scopes.join(" › ")}`)) : null,
        ),
        step("lived", duration(end - t.born[tensor]!), this.bar(t.born[tensor]!, t.died[tensor]!)),
        alive
          ? step("alive", when(run.length), "when the recording ended")
          : step(
              "died",
              when(t.died[tensor]!),
              line(
                h("span", { class: "mono" }, run.text(t.cause[tensor]!)),
                t.death_by[tensor] ? `: ${run.text(t.death_by[tensor]!)}` : null,
              ),
              source(run, t.death_site[tensor]!),
            ),
      ),
    );
  }

  // Where in the run a life lies.
  private bar(born: number, died: number): HTMLElement {
    const { run } = this.view;
    const left = (100 * born) / run.length;
    const width = Math.max(0.5, (100 * (Math.min(died, run.length) - born)) / run.length);
    return h(
      "span",
      { class: "life-bar", "aria-hidden": "true" },
      h("span", { style: { left: `${Math.min(left, 99.5)}%`, width: `${width}%` } }),
    );
  }

  private holders(tensor: number): HTMLElement | null {
    const { run } = this.view;
    const t = run.tensors;
    const storage = t.storage[tensor]!;
    if (storage === kNone) return null;
    const on = [...run.tensors_on(storage)];
    const kind = (each: number) =>
      t.owner[each]
        ? "saved value"
        : t.flags[each]! & kView
          ? "view"
          : t.flags[each]! & kReused
            ? "reused it"
            : "tensor";
    const { nbytes, slack, born, freed } = run.storages;
    const until =
      freed[storage] === Infinity
        ? "held to the end"
        : `freed at ${moment(freed[storage]!, run.length)}`;
    return h(
      "div",
      {},
      h("h3", {}, "Who held the storage"),
      h(
        "p",
        { class: "dim" },
        `${bytes(nbytes[storage]!)}${slack[storage] ? ` and ${bytes(slack[storage]!)} slack` : ""}, from ${moment(born[storage]!, run.length)}, ${until}.`,
      ),
      h(
        "ul",
        { class: "holders" },
        ...on
          .slice(0, kShownHolders)
          .map((each) =>
            h(
              "li",
              { class: each === tensor ? "self" : undefined },
              each === tensor
                ? h("b", {}, run.label(each))
                : h(
                    "button",
                    { class: "link", on: { click: () => this.view.open(each) } },
                    run.label(each),
                  ),
              h(
                "span",
                { class: "dim" },
                ` ${kind(each)} #${t.id[each]}, ${run.site_text(t.birth_site[each]!)}`,
              ),
              this.bar(t.born[each]!, t.died[each]!),
            ),
          ),
        on.length > kShownHolders
          ? h("li", { class: "dim" }, `and ${count(on.length - kShownHolders)} more`)
          : null,
      ),
    );
  }

  private errors(tensor: number): HTMLElement | null {
    const { run } = this.view;
    const id = run.tensors.id[tensor]!;
    const about = [...run.raised.time.keys()].filter((i) => run.raised.tensor[i] === id);
    if (!about.length || run.tensors.owner[tensor]) return null;
    return h(
      "div",
      {},
      h("h3", {}, "Errors about it"),
      ...about
        .slice(0, 5)
        .map((i) => h("pre", { class: "error-text" }, run.text(run.raised.text[i]!))),
    );
  }
}
