// Puts the page together once the recording is read.
import { Bands } from "./bands.ts";
import { Columns } from "./columns.ts";
import { curves } from "./curves.ts";
import { fill, h, section, speaker } from "./dom.ts";
import { findings } from "./findings.ts";
import { Flame } from "./flame.ts";
import { bytes, count, moment, plural } from "./format.ts";
import { header } from "./header.ts";
import { Holders } from "./holders.ts";
import { Keys } from "./keys.ts";
import { Lives } from "./lives.ts";
import { MemoryChart, legend } from "./memory_chart.ts";
import { OpsTable } from "./ops_table.ts";
import { Overview } from "./overview.ts";
import { pool_chart } from "./pool.ts";
import { Run } from "./run.ts";
import { Story } from "./story.ts";
import { print_light, start_theme } from "./theme.ts";
import { tip_element } from "./tip.ts";
import { View } from "./view.ts";

function search_box(view: View): HTMLElement {
  const found = h("span", { class: "dim nowrap", role: "status" });
  let timer: number | undefined;
  const input = h("input", {
    id: "search",
    type: "search",
    placeholder: "Name, operation, file…",
    "aria-label": "Show tensors by name, operation, shape or file",
    autocomplete: "off",
    spellcheck: "false",
    on: {
      input: () => {
        clearTimeout(timer);
        timer = setTimeout(
          () => view.set_filter(input.value),
          view.run.tensors.count > 2e5 ? 250 : 60,
        );
      },
      keydown: (event) => {
        if (event.key === "Escape" && input.value) {
          event.stopPropagation(); // the next one closes the story
          input.value = "";
          view.set_filter("");
        } else if (event.key === "Enter") {
          view.set_filter(input.value);
        }
      },
    },
  });
  view.on(["filter"], () => {
    found.textContent = view.filter
      ? `${count(view.matches)} of ${count(view.run.tensors.count)}`
      : "";
  });
  return h("div", { class: "search" }, input, found);
}

function timeline(view: View): HTMLElement {
  const chart = new MemoryChart(view);
  const bands = new Bands(view);
  const lives = new Lives(view);
  const reset = h(
    "button",
    { class: "quiet", hidden: true, on: { click: () => view.reset() } },
    "Whole run",
  );
  view.on(["window"], () => {
    if (view.whole && document.activeElement === reset) chart.canvas.focus({ preventScroll: true });
    reset.hidden = view.whole;
  });
  const element = section(
    "Memory over time",
    "Live bytes by category. Hover to see who lives, click to choose a moment, drag to zoom.",
    h(
      "div",
      { class: "toolbar" },
      legend(view, chart),
      h("span", { class: "grow" }),
      reset,
      search_box(view),
    ),
    h("div", { class: "charts" }, chart.element, new Overview(view).element),
    bands.empty
      ? null
      : h(
          "h3",
          { class: "sub" },
          "What the program was doing",
          bands.left_out
            ? h(
                "span",
                { class: "dim" },
                `without the ${plural(bands.left_out, "thread")} that did least`,
              )
            : null,
        ),
    bands.empty ? null : h("div", { class: "charts bands" }, bands.element),
    h(
      "h3",
      { class: "sub" },
      "The life of each tensor",
      h(
        "span",
        { class: "dim" },
        "  saved values are thin or pale; a red line: a finding, alive at the end",
      ),
      h("span", { class: "grow" }),
      h(
        "button",
        {
          class: "quiet small",
          "aria-label": "Shorter rows",
          on: { click: () => lives.taller(1 / 1.5) },
        },
        "−",
      ),
      h(
        "button",
        {
          class: "quiet small",
          "aria-label": "Taller rows",
          on: { click: () => lives.taller(1.5) },
        },
        "+",
      ),
    ),
    h("div", { class: "charts" }, lives.element),
  );
  element.id = "timeline";
  return element;
}

function at_the_moment(view: View): HTMLElement {
  const back = h(
    "button",
    { class: "quiet", on: { click: () => view.set_moment(view.levels.peak_time) } },
    "Back to the peak",
  );
  const element = section(
    "",
    "Live bytes by source: file, function, line. Click a box to look into it; choose another moment in the chart above.",
    new Flame(view).element,
    h("h3", { class: "sub" }, "Top holders"),
    new Holders(view).element,
  );
  const heading = element.querySelector("h2")!;
  heading.tabIndex = -1; // where the focus goes when the button does
  const show = () => {
    const peak = view.moment === view.levels.peak_time;
    const focused = document.activeElement === back;
    fill(
      heading,
      `${peak ? "At the peak" : "At the chosen moment"}: ${bytes(view.levels.bytes_at(view.moment))} at ${moment(view.moment, view.run.length)} `,
      peak ? null : back,
    );
    if (focused) (peak ? heading : back).focus({ preventScroll: true });
  };
  view.on(["moment"], show);
  show();
  return element;
}

function build(run: Run): HTMLElement {
  const view = new View(run);
  const keys = new Keys(view);
  const story = new Story(view);
  const lines = curves(run);
  const page = h(
    "div",
    { class: "page" },
    header(view, () => keys.open()),
    h(
      "main",
      {},
      findings(view),
      timeline(view),
      at_the_moment(view),
      run.pool.time.length
        ? section(
            "Pool",
            "Live, slack and pooled bytes make up what is reserved.",
            pool_chart(view),
          )
        : null,
      lines ? section("Training", "Losses and metrics over the steps.", lines) : null,
      section(
        "Operations",
        "Time and bytes made by each operation in the window shown above.",
        new OpsTable(view).element,
      ),
    ),
    h(
      "footer",
      {},
      `Written by tenure report${run.version ? `, Tenure ${run.version}` : ""}. This file holds the whole recording and fetches nothing.`,
    ),
  );
  const root = h("div", {}, page, story.element, tip_element(), keys.dialog, speaker());
  return root;
}

async function start(): Promise<void> {
  start_theme(document.documentElement, "tenure-report-theme");
  print_light();
  const page = document.getElementById("page")!;
  const data = document.getElementById("recording")!;
  try {
    const run = new Run(await Columns.read(data.textContent ?? ""));
    data.remove();
    page.replaceChildren(build(run));
    // The first frame is on the screen when the one after it begins.
    requestAnimationFrame(() =>
      requestAnimationFrame(() => {
        document.documentElement.dataset.ready = String(Math.round(performance.now()));
      }),
    );
  } catch (error) {
    page.replaceChildren(
      h(
        "p",
        { class: "loading", role: "alert" },
        `This report cannot be read: ${error instanceof Error ? error.message : error}`,
      ),
    );
    throw error;
  }
}

void start();
