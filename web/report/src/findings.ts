// What is wrong, worst first, with the line to look at and what to do; then the errors raised.
import { h, section } from "./dom.ts";
import { bytes, moment, plural } from "./format.ts";
import { spark } from "./spark.ts";
import { type Finding, type Run, kNone, problems } from "./run.ts";
import type { View } from "./view.ts";

const names: Record<(typeof problems)[number], string> = {
  growth: "Growth",
  outlived: "Leak",
  pinned: "Pinned",
  misused: "Misuse",
};

export function source(run: Run, site: number): HTMLElement | null {
  const where = run.sites[site];
  if (!where) return null;
  return h(
    "span",
    { class: "source", title: `${where.file}:${where.line}\n${where.function}` },
    h("code", { class: "mono" }, `${where.base}:${where.line}`),
    where.function ? h("span", { class: "dim" }, ` in ${where.brief}`) : null,
  );
}

// At most so many: the first, the last, and some between.
function some_of(tensors: Uint32Array, most: number): number[] {
  if (tensors.length <= most) return [...tensors];
  return Array.from(
    { length: most },
    (_each, i) => tensors[Math.floor((i * (tensors.length - 1)) / (most - 1))]!,
  );
}

function card(view: View, finding: Finding, number: number): HTMLElement {
  const { run } = view;
  const problem = problems[finding.problem] ?? "misused";
  const picture = problem === "misused" ? null : spark(run, finding.tensors);
  const facts = [
    finding.count ? plural(finding.count, "tensor") : "",
    finding.bytes ? bytes(finding.bytes) : "",
  ];
  return h(
    "li",
    { class: `finding ${problem}` },
    picture,
    h(
      "div",
      { class: "finding-head" },
      h("span", { class: "badge" }, names[problem]),
      h("span", { class: "facts" }, facts.filter(Boolean).join(", ")),
    ),
    h("h3", {}, finding.title),
    finding.site !== kNone ? source(run, finding.site) : null,
    h("p", { class: "remedy" }, finding.remedy),
    h(
      "div",
      { class: "actions" },
      finding.tensors.length
        ? h(
            "button",
            {
              class: "quiet",
              on: {
                click: () => {
                  const search = document.querySelector<HTMLInputElement>("#search")!;
                  search.value = `finding ${number}`;
                  view.set_filter(search.value);
                  document.querySelector("#timeline")!.scrollIntoView({ block: "start" });
                },
              },
            },
            "Show its tensors",
          )
        : null,
      ...some_of(finding.tensors, 4).map((tensor) =>
        h(
          "button",
          { class: "link", on: { click: () => view.open(tensor) } },
          `${run.label(tensor)} #${run.tensors.id[tensor]}`,
        ),
      ),
    ),
  );
}

function error(view: View, index: number): HTMLElement {
  const { run } = view;
  const text = run.text(run.raised.text[index]!);
  const about = run.tensor_with_id(run.raised.tensor[index]!);
  const time = run.raised.time[index]!;
  return h(
    "details",
    { class: "raised" },
    h(
      "summary",
      {},
      h("span", { class: "dim nowrap" }, moment(time, run.length)),
      " ",
      text.split("\n")[0]!,
    ),
    h("pre", {}, text),
    h(
      "div",
      { class: "actions" },
      source(run, run.raised.site[index]!),
      h(
        "button",
        { class: "quiet", on: { click: () => view.set_moment(time) } },
        "Choose this moment",
      ),
      about !== undefined
        ? h("button", { class: "link", on: { click: () => view.open(about) } }, "Its story")
        : null,
    ),
  );
}

export function findings(view: View): HTMLElement {
  const { run } = view;
  const errors = run.raised.time.length;
  const list = run.findings.length
    ? h("ol", { class: "findings" }, ...run.findings.map((each, i) => card(view, each, i + 1)))
    : h(
        "p",
        { class: "healthy" },
        "Nothing to report. No site grew with the steps, no tensor outlived its scope, no view pins a large storage.",
      );
  const shown = Math.min(errors, 50);
  return section(
    "Findings",
    run.findings.length ? "Worst first. Facts from the recording only." : "",
    list,
    errors
      ? h(
          "div",
          { class: "errors" },
          h("h3", {}, plural(errors, "error") + " raised"),
          ...Array.from({ length: shown }, (_each, i) => error(view, i)),
          errors > shown
            ? h("p", { class: "dim" }, `and ${errors - shown} more; they are marked in the chart`)
            : null,
        )
      : null,
  );
}
