// What was recorded, and the figures one asks for first.
import { figure, h } from "./dom.ts";
import { bytes, count, moment, percent, plural, time } from "./format.ts";
import { theme_switch } from "./theme.ts";
import type { View } from "./view.ts";

export function header(view: View, open_keys: () => void): HTMLElement {
  const { run, levels } = view;
  const { tensors } = run;
  let users = 0;
  let alive = 0;
  for (let i = 0; i < tensors.count; ++i) {
    if (tensors.owner[i]) continue;
    ++users;
    if (tensors.died[i] === Infinity) ++alive;
  }
  const at_end = levels.total[levels.total.length - 1] ?? 0;
  const [program = "", ...rest] = run.program.split(" ");
  return h(
    "header",
    { class: "top" },
    h(
      "div",
      { class: "title" },
      h("p", { class: "brand" }, "Tenure report"),
      h(
        "h1",
        { title: run.program },
        program.split(/[/\\]/).pop() || "recorded run",
        rest.length ? h("span", { class: "dim" }, ` ${rest.join(" ")}`) : null,
      ),
      h(
        "p",
        { class: "dim" },
        [
          run.started.getTime() > 0
            ? run.started.toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" })
            : "",
          time(run.length),
          plural(run.events, "event"),
          run.version ? `Tenure ${run.version}` : "",
        ]
          .filter(Boolean)
          .join(" · "),
      ),
      run.cut_short
        ? h(
            "p",
            { class: "warning", role: "note" },
            "The program ended without closing the recording; this is as far as it goes.",
          )
        : null,
    ),
    h(
      "div",
      { class: "tools" },
      theme_switch(),
      h(
        "button",
        { class: "quiet", "aria-label": "Keys", on: { click: open_keys } },
        "Keys ",
        h("kbd", {}, "?"),
      ),
    ),
    h(
      "dl",
      { class: "figures" },
      figure(
        "peak",
        bytes(levels.peak_bytes),
        run.budget
          ? `${percent(levels.peak_bytes, run.budget)} of the budget`
          : `at ${moment(levels.peak_time, run.length)}`,
      ),
      figure("live at the end", bytes(at_end), `${percent(at_end, levels.peak_bytes)} of the peak`),
      figure("tensors", count(users), `${count(alive)} alive at the end`),
      figure(
        "storages",
        count(run.storages.count),
        `${bytes(run.storages.nbytes.reduce((sum, each) => sum + each, 0))} in all`,
      ),
      figure(
        "operations",
        count(run.ops.count),
        `${time(run.ops.took.reduce((sum, each) => sum + each, 0))} together`,
      ),
    ),
  );
}
