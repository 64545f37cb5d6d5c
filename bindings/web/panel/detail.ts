// One line: its tensors, and the story of the current one.
import { h } from "../../../web/report/src/dom.ts";
import { bytes, plural } from "../../../web/report/src/format.ts";
import { IconButton } from "./button.ts";
import { type Row, Rows } from "./rows.ts";
import type { Line, Source, TensorRow } from "./source.ts";
import { StoryView } from "./story_view.ts";
import { badge, growth_text, span, tensor_label } from "./words.ts";

const kFirst = 100;

function tensor_row(now: () => number): Row<TensorRow> {
  const id = h("span", { class: "dim number id" });
  const what = h("span", { class: "mono what" });
  const size = h("span", { class: "number" });
  const age = h("span", { class: "dim number" });
  const element = h("div", { class: "row tensor", role: "option" }, id, what, size, age);
  return {
    element,
    show(row) {
      id.textContent = `#${row.id}`;
      what.textContent = tensor_label(row);
      what.title = row.what;
      size.textContent = bytes(row.bytes);
      age.textContent = span(now() - row.born_ms);
      const parts = [`tensor ${row.id}`, what.textContent, row.what, size.textContent];
      element.setAttribute("aria-label", `${parts.join(", ")}, ${age.textContent} old`);
    },
  };
}

export class Detail {
  readonly element: HTMLElement;
  readonly story = new StoryView();
  line: Line | null = null;
  private readonly rows: Rows<TensorRow>;
  private readonly title = h("h2", { class: "mono" });
  private readonly state = h("span", { class: "badge" });
  private readonly facts = h("p", { class: "dim facts" });
  private readonly growth = h("p", { class: "growth" });
  private readonly tensors_of = h("h3", { class: "sub" });
  private readonly collected = h("p", { class: "collected", hidden: true });
  private limit = kFirst;
  private asked = 0; // for tensors; an answer to an older question is dropped
  private told = 0; // the same of stories
  private known = -1; // the count for which tensors were asked
  private chosen: number | null = null;
  private listed: TensorRow[] = [];

  constructor(
    private readonly source: Source,
    private readonly now: () => number,
    private readonly since: () => number | undefined, // the mark that counts
    on_back: () => void,
  ) {
    this.rows = new Rows<TensorRow>({
      label: "Tensors of this line",
      key: (row) => String(row.id),
      make: () => tensor_row(now),
      on_take: (row) => void this.choose(row.id),
      follows: true,
      on_more: (limit) => {
        this.limit = limit;
        void this.ask();
      },
    });
    const back = new IconButton("Back to all lines", "back", on_back);
    back.element.classList.add("back-to-lines");
    this.element = h(
      "section",
      { class: "detail", "aria-label": "Tensors of a line", hidden: true },
      h("div", { class: "detail-head" }, back.element, this.title, this.state),
      h(
        "div",
        { class: "detail-body" },
        this.facts,
        this.growth,
        this.tensors_of,
        this.rows.element,
        this.collected,
        this.story.element,
      ),
    );
  }

  get is_open(): boolean {
    return this.line !== null;
  }

  open(line: Line): void {
    const is_new = line.key !== this.line?.key;
    this.line = line;
    this.element.hidden = false;
    if (is_new) {
      this.limit = kFirst;
      this.known = -1;
      this.chosen = null;
      this.collected.hidden = true;
      this.rows.reset();
      this.story.clear();
    }
    this.show(line);
  }

  close(): void {
    this.line = null;
    this.element.hidden = true;
    this.asked++;
    this.told++;
    this.listed = [];
    this.collected.hidden = true;
    this.rows.reset();
    this.story.clear();
  }

  focus(): void {
    if (this.rows.size) this.rows.focus();
    else this.element.querySelector("button")!.focus();
  }

  // The lines were counted again.
  update(lines: Line[]): void {
    if (!this.line) return;
    const { key } = this.line;
    this.show(lines.find((line) => line.key === key) ?? { ...this.line, count: 0, bytes: 0 });
  }

  private show(line: Line): void {
    this.line = line;
    const { site, growth } = line;
    this.title.textContent = site.text;
    this.title.title = `${site.file}:${site.line}:${site.column}`;
    this.state.textContent = badge(line);
    this.element.dataset.trouble = growth?.stopped_ms === null || line.leak ? "bad" : "";
    this.facts.textContent = [line.what, line.owner].filter(Boolean).join(" · ");
    this.growth.textContent = growth ? growth_text(growth, this.now()) : "";
    this.tensors_of.textContent = line.count
      ? `${plural(line.count, "tensor")}, ${bytes(line.bytes)}`
      : "None of its tensors lives any more";
    if (line.count !== this.known) void this.ask();
    else if (this.rows.size) this.show_rows(line.count); // they grew older
  }

  // Fewer than were asked for: the rest can be counted, but no longer named.
  private show_rows(count: number): void {
    const all_named = this.listed.length < this.limit;
    const rest = count - this.listed.length;
    this.rows.show(this.listed, all_named ? this.listed.length : count);
    this.collected.hidden = !all_named || rest <= 0;
    this.collected.textContent = `${this.listed.length ? "and " : ""}${plural(rest, "tensor")} that the program dropped without dispose(): JavaScript collected them, and what they held stays`;
  }

  private async ask(): Promise<void> {
    const line = this.line!;
    const question = ++this.asked;
    this.known = line.count;
    try {
      const rows = line.count ? await this.source.tensors(line.key, this.limit, this.since()) : [];
      if (question !== this.asked) return;
      const had_focus = this.element.contains(
        (this.element.getRootNode() as ShadowRoot).activeElement,
      );
      const was_empty = this.rows.size === 0;
      this.listed = rows;
      this.show_rows(line.count);
      if (this.chosen === null && rows[0]) void this.choose(rows[0].id);
      if (had_focus && was_empty) this.rows.focus();
    } catch (error) {
      if (question === this.asked) this.story.fail(`tensors: ${(error as Error).message}`);
    }
  }

  private async choose(id: number): Promise<void> {
    this.chosen = id;
    this.rows.take(String(id));
    const question = ++this.told;
    try {
      const story = await this.source.story(id);
      if (question === this.told) this.story.show(story);
    } catch (error) {
      if (question === this.told) this.story.fail(`story: ${(error as Error).message}`);
    }
  }
}
