// Moments that the user marked, and the choice of what to look at: all that lives, or what was born
// since one of them.
import { fill, h, say } from "../../../web/report/src/dom.ts";
import type { MarkLine } from "./memory.ts";
import type { Source } from "./source.ts";

const kMost = 20;

export class Marks {
  readonly choice = h("select", {
    class: "since",
    "aria-label": "Born when",
    hidden: true,
    on: { change: () => this.changed() },
  });
  private list: { number: number; name: string; at: number }[] = [];
  private count = 0;

  constructor(
    private readonly source: Source,
    private readonly now: () => number,
    private readonly changed: () => void,
  ) {
    this.draw(0);
  }

  // Undefined: since ever.
  get since(): number | undefined {
    return this.list[this.choice.selectedIndex - 1]?.number;
  }

  get lines(): MarkLine[] {
    return this.list.map(({ at, name }) => ({ at, text: name }));
  }

  async add(): Promise<void> {
    const number = await this.source.mark();
    const name = `mark ${++this.count}`;
    this.list.push({ number, name, at: this.now() });
    if (this.list.length > kMost) this.list.shift();
    this.draw(this.list.length);
    say(`${name} set; shown is what was born since`);
    this.changed();
  }

  reset(): void {
    this.list = [];
    this.count = 0;
    this.draw(0);
  }

  private draw(chosen: number): void {
    fill(
      this.choice,
      h("option", {}, "all that live"),
      ...this.list.map(({ name }) => h("option", {}, `since ${name}`)),
    );
    this.choice.selectedIndex = chosen;
    this.choice.hidden = this.list.length === 0;
  }
}
