// The story of one tensor: its life in order, who holds its data, what to do.
import { fill, h, say } from "../../../web/report/src/dom.ts";
import { IconButton } from "./button.ts";
import type { Story, StoryRow } from "./source.ts";

function row({ label, place, event, rest }: StoryRow): HTMLElement {
  return h(
    "li",
    { class: `event ${label}` },
    h("b", { class: "label" }, label),
    h(
      "div",
      {},
      h("code", { class: "place" }, place),
      event ? h("span", { class: "mono" }, ` ${event}`) : null,
      rest ? h("div", { class: "dim" }, rest) : null,
    ),
  );
}

export class StoryView {
  readonly element = h("section", { class: "story", "aria-label": "Story" });

  clear(text = ""): void {
    fill(this.element, text && h("p", { class: "empty" }, text));
  }

  fail(text: string): void {
    fill(this.element, h("p", { class: "failed", role: "alert" }, text));
  }

  show(story: Story): void {
    const copy = new IconButton("Copy the story", "copy", () => void this.copy(story.text));
    fill(
      this.element,
      h("div", { class: "story-head" }, h("h3", {}, story.title), copy.element),
      h("ol", { class: "life" }, ...story.rows.map(row)),
      story.holders
        ? h(
            "p",
            { class: "holders" },
            h("b", { class: "label" }, "holders"),
            h("span", {}, story.holders),
          )
        : null,
      story.remedy ? h("p", { class: "remedy" }, story.remedy) : null,
    );
    say(story.title);
  }

  private async copy(text: string): Promise<void> {
    try {
      await navigator.clipboard.writeText(text);
      say("copied");
    } catch {
      // Without leave to write there, the text is selected for the user to copy.
      getSelection()?.selectAllChildren(this.element);
      say("selected; copy it with the keyboard");
    }
  }
}
