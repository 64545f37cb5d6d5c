// What there is now, or was where the chart's cursor is. The colours are the chart's.
import { fill, h } from "../../../web/report/src/dom.ts";
import { bytes, count } from "../../../web/report/src/format.ts";
import type { Sample } from "./source.ts";
import { span } from "./words.ts";

export const held_colours = ["category-1", "category-5", "category-2"];

interface Box {
  element: HTMLElement;
  value: HTMLElement;
  about: HTMLElement;
}

function box(name: string, colour: string): Box {
  const value = h("dd", { class: "value" });
  const about = h("dd", { class: "dim about" });
  const mark = h("span", {
    class: "stroke",
    "aria-hidden": "true",
    style: { background: `var(--${colour})` },
  });
  return {
    element: h(
      "div",
      { class: "figure" },
      h("dt", {}, mark, h("span", { class: "name", title: name }, name)),
      value,
      about,
    ),
    value,
    about,
  };
}

function put(element: HTMLElement, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

export class Figures {
  readonly element = h("dl", { class: "figures" });
  private readonly tensors = box("tensors", "ink");
  private readonly bytes = box("in tensors", "category-0");
  private held: Box[] = [];
  private names = "";

  constructor() {
    this.tensors.value.dataset.figure = "tensors";
    this.bytes.value.dataset.figure = "bytes";
    this.shape([]);
  }

  private shape(names: string[]): void {
    this.names = names.join();
    this.held = names.map((name, i) => box(name, held_colours[i]!));
    fill(this.element, ...[this.tensors, this.bytes, ...this.held].map((each) => each.element));
  }

  // `before`: the sample some time earlier, to tell what changed.
  show(sample: Sample | null, before: Sample | null): void {
    const held = sample?.held.slice(0, held_colours.length) ?? [];
    // The backend is named beside them.
    const prefix = new RegExp(`^${sample?.backend ?? ""} `, "i");
    const names = held.map((each) => each.name.replace(prefix, ""));
    if (names.join() !== this.names) this.shape(names);
    put(this.tensors.value, sample ? count(sample.tensors) : "–");
    put(this.bytes.value, sample ? bytes(sample.bytes) : "–");
    const change = sample && before ? sample.tensors - before.tensors : 0;
    put(
      this.tensors.about,
      change
        ? `${change > 0 ? "+" : "−"}${count(Math.abs(change))} in ${span(sample!.time_ms - before!.time_ms)}`
        : "steady",
    );
    put(this.bytes.about, sample ? sample.backend : "");
    held.forEach(({ total, live, pooled }, i) => {
      put(this.held[i]!.value, bytes(total));
      put(this.held[i]!.about, pooled ? `${bytes(pooled)} pooled` : `${bytes(live)} live`);
    });
  }
}
