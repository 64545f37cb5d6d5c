// One line of the program in the list: where, what, how it grew, how many and how much.
import { h } from "../../../web/report/src/dom.ts";
import { bytes, count } from "../../../web/report/src/format.ts";
import { StepCurve } from "../../../web/report/src/step_curve.ts";
import { trouble } from "./order.ts";
import type { Row } from "./rows.ts";
import type { Line } from "./source.ts";
import { badge, line_label } from "./words.ts";

const kCurve = 48;

function put(element: HTMLElement, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

// `counts`: how many there were whenever the lines were asked for.
export function line_row(counts: (line: Line) => number[]): Row<Line> {
  const place = h("b", { class: "mono place" });
  const state = h("span", { class: "badge" });
  const what = h("span", { class: "dim what" });
  const number = h("span", { class: "number" });
  const size = h("span", { class: "number" });
  const curve = new StepCurve(kCurve, 24);
  curve.element.setAttribute("class", "trend");
  const element = h(
    "div",
    { class: "row line", role: "option" },
    h("div", { class: "where" }, place, state, what),
    curve.element,
    number,
    size,
  );
  let drawn = "";
  return {
    element,
    show(line) {
      put(place, line.site.text);
      put(what, line.what);
      put(state, badge(line));
      put(number, count(line.count));
      put(size, bytes(line.bytes));
      const level = String(trouble(line));
      if (element.dataset.trouble !== level) element.dataset.trouble = level;
      const label = line_label(line, size.textContent!);
      if (element.getAttribute("aria-label") !== label) element.setAttribute("aria-label", label);
      const file = `${line.site.file}:${line.site.line}:${line.site.column}`;
      if (place.title !== file) place.title = file;
      const levels = counts(line);
      if (levels.join() === drawn) return;
      drawn = levels.join();
      curve.show([...levels, levels[levels.length - 1]!]); // the last has a width, too
    },
  };
}
