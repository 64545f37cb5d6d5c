// Which page one looks at, where that is another window, and whether it still answers.
import { fill, h } from "../../../web/report/src/dom.ts";
import type { Pages } from "./source.ts";

export class PagesBar {
  readonly choice = h("select", {
    class: "page-choice",
    "aria-label": "Page",
    on: { change: () => this.pages.choose(this.choice.value) },
  });
  readonly note = h("p", { class: "note", role: "status" });
  private readonly end: () => void;
  private shown: string | null = null;

  constructor(
    private readonly pages: Pages,
    private readonly on_other: () => void,
  ) {
    this.end = pages.on_change(() => this.show());
    this.show();
  }

  destroy(): void {
    this.end();
  }

  private show(): void {
    const { chosen, list, state } = this.pages;
    const listed = chosen && !list.some((page) => page.id === chosen.id) ? [chosen, ...list] : list;
    fill(
      this.choice,
      ...listed.map(({ id, title }) => {
        const twins = listed.filter((page) => page.title === title);
        const number =
          twins.length > 1 ? ` (${twins.findIndex((page) => page.id === id) + 1})` : "";
        return h("option", { value: id, selected: id === chosen?.id }, `${title}${number}`);
      }),
    );
    this.choice.hidden = listed.length === 0;
    this.choice.title = chosen?.url ?? "";
    this.note.textContent = {
      none: "No page yet. Open one that calls explain(tf), from the same origin.",
      here: "",
      silent: `“${chosen?.title}” does not answer: it is busy, or the browser stopped it.`,
      gone: `“${chosen?.title}” is gone. What is shown is what was last heard.`,
    }[state];
    this.note.dataset.state = state;
    if (chosen && chosen.id !== this.shown) {
      if (this.shown !== null) this.on_other();
      this.shown = chosen.id;
    }
  }
}
