// The report page as people use it: by eye, pointer and keyboard, from disk, without a network.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { canvas, launch, load, open } from "./browser.mjs";

const pages = process.env.TENURE_PAGES;
const file = (name) => join(pages, `${name}.html`);
let browser;

before(async () => {
  browser = await launch();
});
after(() => browser.close());

// Opens a page, uses it, and fails for any complaint of the browser on the way.
function on_page(name, page_name, use, options) {
  test(name, async (t) => {
    const opened = await open(browser, file(page_name), options);
    try {
      await use(opened.page, t, opened);
      assert.deepEqual(opened.problems, []);
    } finally {
      await opened.page.context().close();
    }
  });
}

const memory = (page) => canvas(page, /^Memory over time/);
const bands = (page) => canvas(page, /^Scopes, steps/);
const lives = (page) => canvas(page, /^The life of each tensor/);
const tip = (page) => page.getByRole("tooltip");
const story = (page) => page.getByRole("dialog", { name: "Story of a tensor" });
const voice = (page) => page.locator(".sr-only[role=status]");
const whole_run = (page) => page.getByRole("button", { name: "Whole run" });

// What was asked for is on the screen when two frames have passed.
const drawn = (page) =>
  page.evaluate(
    () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))),
  );

// The window of time, as the table of operations names it once it has settled.
async function shown_window(page) {
  await drawn(page);
  await page.locator("[aria-label=Operations]:not([aria-busy])").waitFor();
  return page.locator("table.ops caption").innerText();
}

async function hover(page, target, x, y) {
  await target.scrollIntoViewIfNeeded();
  await target.hover({ position: { x, y } });
  await tip(page).waitFor({ state: "visible" });
}

on_page(
  "a hundred thousand events are on the screen within a second",
  "hundred_thousand",
  async (page, t) => {
    const times = [];
    for (let i = 0; i < 5; ++i) times.push(await load(page, file("hundred_thousand")));
    t.diagnostic(`ready after ${times.join(", ")} ms`);
    assert.ok(Math.min(...times) < 1000, `ready after ${times.join(", ")} ms`);
  },
);

on_page("nothing is fetched but the file itself", "small", async (_page, _t, { requests }) => {
  assert.equal(requests.length, 1, requests.join("\n"));
  assert.match(requests[0], /^file:/);
});

on_page("every figure is what the run says by hand", "known", async (page) => {
  const figures = async (box) => {
    const names = await page.locator(`${box} dt`).allInnerTexts();
    const values = await page.locator(`${box} dt + dd`).allInnerTexts();
    return Object.fromEntries(names.map((name, i) => [name, values[i]]));
  };
  assert.deepEqual(await figures("header .figures"), {
    peak: "5 MiB",
    "live at the end": "4 MiB",
    tensors: "3",
    storages: "3",
    operations: "3",
  });
  assert.deepEqual(await figures(".figures.small"), {
    "most reserved": "8 MiB",
    "live at the peak": "63 %",
    "slack at the peak": "512 KiB",
    "pooled at the peak": "2.50 MiB",
  });
  const rows = await page.locator("table.ops tbody tr").allInnerTexts();
  assert.deepEqual(
    rows.map((row) => row.split("\t").map((cell) => cell.trim())),
    [
      ["mul", "2", "500 µs", "50 %", "250 µs", "250 µs", "3 MiB"],
      ["zeros", "1", "500 µs", "50 %", "500 µs", "500 µs", "3 MiB"],
    ],
  );
  // The chart is ten milliseconds wide.
  const box = await memory(page).boundingBox();
  const at = (ms) => 76 + ((box.width - 86) * ms) / 10;
  await hover(page, memory(page), at(3.5), 150);
  assert.match(
    await tip(page).innerText(),
    /5 MiB live\s+parameter\s+3 MiB\s+saved for backward\s+2 MiB\s+3 MiB/,
  );
  await hover(page, memory(page), at(2.5), 150);
  await drawn(page);
  assert.match(await tip(page).innerText(), /5 MiB live\s+parameter\s+3 MiB\s+other\s+2 MiB/);
  await hover(page, memory(page), at(7), 150);
  await drawn(page);
  assert.match(await tip(page).innerText(), /4 MiB live\s+parameter\s+3 MiB\s+gradient\s+1 MiB/);
  const boxes = await page
    .getByRole("treeitem")
    .evaluateAll((items) => items.map((item) => item.ariaLabel));
  assert.deepEqual(boxes.slice(0, 2), [
    "all live memory: 5 MiB in 2 storages, 100 %",
    "src/a.cpp: 5 MiB in 2 storages, 100 %",
  ]);
  const functions = await page.locator(".flame-box.depth-2 > span:first-child").allInnerTexts();
  assert.deepEqual(functions, ["net::build", "net::step, lambda"]);
});

on_page(
  "the planted leak comes first, with its line and its remedy",
  "hundred_thousand",
  async (page) => {
    const first = page.locator(".finding").first();
    assert.match(await first.innerText(), /Growth/);
    assert.match(await first.locator("h3").innerText(), /tensors from train\.cpp:52 still alive/);
    assert.equal(await first.locator("code").innerText(), "train.cpp:52");
    assert.match(await first.locator(".remedy").innerText(), /dispose each/);
    assert.equal(await page.locator("h2").first().innerText(), "Findings");
  },
);

on_page(
  "a finding's figures, its curve and its tensors are of the same tensors",
  "hundred_thousand",
  async (page) => {
    const first = page.locator(".finding").first();
    const [, count, bytes] = (await first.locator(".facts").innerText()).match(
      /^([\d,]+) tensors, (.*)$/,
    );
    assert.equal(
      await first.locator("figcaption").innerText(),
      `held over the run, at most ${bytes}`,
    );
    await first.getByRole("button", { name: "Show its tensors" }).click();
    await drawn(page);
    assert.equal(await page.locator("#search").inputValue(), "finding 1");
    const shown = await page.locator(".search [role=status]").innerText();
    assert.equal(shown.split(" of ")[0], count);
  },
);

on_page("hovering names who lives, largest first, with bytes and line", "small", async (page) => {
  await hover(page, memory(page), 600, 150);
  assert.match(await tip(page).innerText(), /MiB live/);
  const sizes = await tip(page).locator(".tensors b").allInnerTexts();
  assert.equal(sizes.length, 8);
  const scale = { B: 1, KiB: 1024, MiB: 1024 ** 2 };
  const bytes = sizes.map((text) => parseFloat(text) * scale[text.split(" ")[1]]);
  assert.deepEqual(
    bytes,
    [...bytes].sort((a, b) => b - a),
  );
  assert.match(await tip(page).locator(".tensors .mono").first().innerText(), /^\w+\.cpp:\d+$/);
});

on_page("the wheel zooms, a double click shows all again", "small", async (page) => {
  assert.equal(await shown_window(page), "over the whole run");
  await hover(page, memory(page), 600, 150);
  for (let i = 0; i < 5; ++i) await page.mouse.wheel(0, -200);
  const zoomed = await shown_window(page);
  assert.match(zoomed, /^from .* to /);
  assert.ok(await whole_run(page).isVisible());
  await page.mouse.wheel(150, 0);
  assert.notEqual(await shown_window(page), zoomed, "a sideways wheel pans");
  await memory(page).dblclick({ position: { x: 600, y: 150 } });
  assert.equal(await shown_window(page), "over the whole run");
});

on_page("dragging selects a range in the chart and moves the lives", "small", async (page) => {
  await memory(page).scrollIntoViewIfNeeded();
  const box = await memory(page).boundingBox();
  await page.mouse.move(box.x + 300, box.y + 100);
  await page.mouse.down();
  await page.mouse.move(box.x + 500, box.y + 100, { steps: 5 });
  await page.mouse.up();
  const selected = await shown_window(page);
  assert.match(selected, /^from .* to /);
  await lives(page).scrollIntoViewIfNeeded();
  const below = await lives(page).boundingBox();
  await page.mouse.move(below.x + 400, below.y + 60);
  await page.mouse.down();
  await page.mouse.move(below.x + 250, below.y + 60, { steps: 5 });
  await page.mouse.up();
  assert.notEqual(await shown_window(page), selected);
});

on_page("a click on a bar tells the tensor's story", "small", async (page) => {
  await page.getByRole("searchbox").fill("train.cpp:52");
  await page.getByText(/^\d+ of [\d,]+$/).waitFor();
  await lives(page).scrollIntoViewIfNeeded();
  const box = await lives(page).boundingBox();
  await lives(page).click({ position: { x: box.width - 40, y: 8 } });
  await story(page).waitFor();
  const text = await story(page).innerText();
  for (const part of [
    "h #",
    "[32, 8, 192]",
    "float32",
    "192 KiB",
    "born",
    "clone on thread 1",
    "train.cpp:52",
    'fit "sequence" › epoch',
    'tidy "step"',
    "alive",
    "when the recording ended",
    "Who held the storage",
  ]) {
    assert.ok(text.includes(part), `${part} is not in:\n${text}`);
  }
  await page.keyboard.press("Escape");
  await story(page).waitFor({ state: "hidden" });
  assert.match(
    await page.evaluate(() => document.activeElement.ariaLabel),
    /^The life of each tensor/,
  );
});

on_page(
  "a saved value's story says who saved it and who shared the storage",
  "small",
  async (page) => {
    await page.getByRole("searchbox").fill("model.cpp:37");
    await page.getByText(/^\d+ of [\d,]+$/).waitFor();
    await lives(page).focus();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await story(page).waitFor();
    const text = await story(page).innerText();
    assert.match(text, /lstm tensor #/);
    assert.match(text, /tape "step": lstm saved value #/);
    assert.match(text, /saved for backward/);
    assert.match(text, /scope_exit: tidy "step" ended/);
  },
);

on_page("everything works from the keyboard", "small", async (page) => {
  await memory(page).focus();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  await tip(page).waitFor({ state: "visible" });
  assert.match(await voice(page).innerText(), /MiB live, largest /);
  const heading = page.getByRole("heading", { name: /^At the / });
  assert.match(await heading.innerText(), /^At the peak/);
  await page.keyboard.press("Enter");
  await drawn(page);
  assert.match(await heading.innerText(), /^At the chosen moment/);
  await page.keyboard.press("p");
  await drawn(page);
  assert.match(await heading.innerText(), /^At the peak/);
  await page.keyboard.press("+");
  assert.match(await shown_window(page), /^from/);
  await page.keyboard.press("-");
  await page.keyboard.press("0");
  assert.equal(await shown_window(page), "over the whole run");

  await bands(page).focus();
  await page.keyboard.press("ArrowDown");
  assert.match(await voice(page).innerText(), /^fit "sequence"/);
  await page.keyboard.press("ArrowDown");
  assert.match(await voice(page).innerText(), /^epoch "1"/);
  await page.keyboard.press("ArrowRight");
  assert.match(await voice(page).innerText(), /^epoch "2"/);
  await page.keyboard.press("Enter");
  assert.match(await shown_window(page), /^from/);

  await lives(page).focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await story(page).waitFor();
  await page.keyboard.press("Escape");
  await story(page).waitFor({ state: "hidden" });

  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Keys and pointer" }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog", { name: "Keys and pointer" }).waitFor({ state: "hidden" });
  await page.keyboard.press("/");
  assert.equal(await page.evaluate(() => document.activeElement.id), "search");
});

on_page(
  "every control is reached by Tab, shows its focus and has a name",
  "small",
  async (page) => {
    const seen = new Set();
    for (let i = 0; i < 90; ++i) {
      await page.keyboard.press("Tab");
      const focused = await page.evaluate(() => {
        const element = document.activeElement;
        if (!element || element === document.body) return null;
        return {
          name: (element.ariaLabel || element.innerText || element.placeholder || "").trim(),
          tag: element.tagName,
          outline: getComputedStyle(element).outlineStyle,
        };
      });
      if (!focused) break;
      assert.ok(focused.name, `a ${focused.tag} without a name`);
      assert.notEqual(focused.outline, "none", `${focused.name} does not show its focus`);
      seen.add(focused.name.split(".")[0]);
    }
    for (const part of [
      "Memory over time, by category",
      "Overview of the whole run",
      "The life of each tensor",
      "Reserved, live, slack and pooled bytes over time",
    ]) {
      assert.ok(seen.has(part), `${part} was not reached`);
    }
  },
);

on_page("the source view opens boxes and follows the chosen moment", "small", async (page) => {
  const tree = page.getByRole("tree");
  const items = tree.getByRole("treeitem");
  const total = await items.first().innerText();
  assert.match(total, /MiB live/);
  const boxes = await items.count();
  await tree.getByRole("treeitem", { name: /model\.cpp: / }).click();
  assert.ok((await tree.getByRole("treeitem", { name: /train\.cpp: / }).count()) === 0);
  await page.keyboard.press("Escape");
  assert.equal(await items.count(), boxes);
  await page.keyboard.press("ArrowDown");
  assert.match(await page.evaluate(() => document.activeElement.ariaLabel), /^forward: /);
  await memory(page).click({ position: { x: 100, y: 150 } });
  await drawn(page);
  assert.notEqual(await items.first().innerText(), total);
  await page.getByRole("button", { name: "Back to the peak" }).click();
  await drawn(page);
  assert.equal(await items.first().innerText(), total);
});

on_page("the table of operations sorts by any column", "small", async (page) => {
  const table = page.locator("table.ops");
  const cells = (column) => table.locator(`tbody td:nth-child(${column})`).allInnerTexts();
  const calls = async () => (await cells(2)).map((text) => Number(text.replaceAll(",", "")));
  await table.getByRole("button", { name: "calls" }).click();
  assert.deepEqual(
    await calls(),
    (await calls()).sort((a, b) => b - a),
  );
  await table.getByRole("button", { name: "calls" }).click();
  assert.deepEqual(
    await calls(),
    (await calls()).sort((a, b) => a - b),
  );
  await table.getByRole("button", { name: "operation" }).click();
  assert.deepEqual(await cells(1), (await cells(1)).sort());
});

on_page("losses and metrics are curves, with their validation", "small", async (page) => {
  const figures = page.locator(".curves figure");
  const captions = await figures.locator("figcaption b").allInnerTexts();
  assert.deepEqual(captions.sort(), ["accuracy", "loss"]);
  for (const figure of await figures.all()) {
    assert.match(await figure.locator("figcaption").innerText(), /[0-9.]+ at the end$/);
    assert.ok((await figure.locator("canvas").boundingBox()).height > 100);
  }
});

on_page("the pool and the curves have a cursor for the keyboard", "small", async (page) => {
  await canvas(page, /^Reserved, live, slack/).focus();
  await page.keyboard.press("ArrowRight");
  const first = await voice(page).innerText();
  assert.match(first, /: reserved .*, live .*, slack .*, pooled /);
  await page.keyboard.press("ArrowRight");
  const second = await voice(page).innerText();
  assert.notEqual(second, first);
  await page.keyboard.press("Shift+ArrowLeft");
  await page.keyboard.press("End");
  assert.notEqual(await voice(page).innerText(), second);
  await canvas(page, /^loss over the steps/).focus();
  await page.keyboard.press("Home");
  assert.match(await voice(page).innerText(), /^\d+: (val_)?loss /);
  const legend = page.locator(".curves figure", { hasText: "loss" }).locator(".u-legend");
  assert.match(await legend.innerText(), /at\s*\d/);
});

const focused = (page) =>
  page.evaluate(() => {
    const { activeElement: element } = document;
    return element === document.body ? "" : element.ariaLabel || element.innerText;
  });

on_page("the focus stays where a button was that is gone", "small", async (page) => {
  await memory(page).focus();
  await page.keyboard.press("+");
  await shown_window(page);
  await whole_run(page).focus();
  await page.keyboard.press("Enter");
  assert.equal(await shown_window(page), "over the whole run");
  assert.match(await focused(page), /^Memory over time/);

  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Enter");
  await drawn(page);
  const back = page.getByRole("button", { name: "Back to the peak" });
  await back.focus();
  await page.keyboard.press("Enter");
  await drawn(page);
  assert.match(await focused(page), /^At the peak/);

  const heading = page.locator("table.ops").getByRole("button", { name: "calls" });
  await heading.focus();
  await page.evaluate(() => {
    const wheel = new WheelEvent("wheel", { deltaY: -300, bubbles: true, cancelable: true });
    document.querySelector(".plot canvas").dispatchEvent(wheel);
  });
  assert.match(await shown_window(page), /^from/);
  assert.equal(await focused(page), "calls");
  await page.keyboard.press("Enter");
  assert.equal(await focused(page), "calls");
});

on_page("the button for more operations keeps the focus", "hostile", async (page) => {
  for (const [name, rows] of [
    [/^Show all 20/, 20],
    [/^Show fewer/, 15],
  ]) {
    await page.getByRole("button", { name }).focus();
    await page.keyboard.press("Enter");
    assert.match(await focused(page), /^Show /);
    assert.equal(await page.locator("table.ops tbody tr").count(), rows);
  }
});

on_page("Esc clears the search first, then closes the story", "small", async (page) => {
  await lives(page).focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await story(page).waitFor();
  await page.getByRole("searchbox").fill("softmax");
  await page.getByRole("searchbox").press("Enter");
  await page.getByRole("searchbox").press("Escape");
  await drawn(page);
  assert.equal(await page.getByRole("searchbox").inputValue(), "");
  assert.ok(await story(page).isVisible());
  await page.getByRole("searchbox").press("Escape");
  await story(page).waitFor({ state: "hidden" });
});

on_page("the search shows what matches by name, operation and file", "small", async (page) => {
  const counts = {};
  for (const text of ["softmax", "data.cpp", "grad/embedding", "no such thing"]) {
    await page.getByRole("searchbox").fill(text);
    await page.getByRole("searchbox").press("Enter");
    await drawn(page);
    counts[text] = Number((await page.locator(".search span").innerText()).split(" ")[0]);
  }
  assert.ok(
    counts.softmax > 0 && counts["data.cpp"] > 0 && counts["grad/embedding"] > 0,
    JSON.stringify(counts),
  );
  assert.equal(counts["no such thing"], 0);
  await page.getByRole("searchbox").press("Escape");
  await drawn(page);
  assert.equal(await page.locator(".search span").textContent(), "");
});

on_page("an error is marked where it was raised and told in full", "small", async (page) => {
  const raised = page.locator("details.raised");
  assert.equal(await raised.count(), 1);
  await raised.locator("summary").click();
  assert.match(await raised.locator("pre").innerText(), /died {6}train\.cpp:46/);
  await raised.getByRole("button", { name: "Choose this moment" }).click();
  await drawn(page);
  assert.match(
    await page.getByRole("heading", { name: /^At the / }).innerText(),
    /^At the chosen moment/,
  );
});

for (const theme of ["light", "dark"]) {
  on_page(
    `${theme}: the system's theme is taken, the switch is kept`,
    "small",
    async (page) => {
      const other = theme === "light" ? "dark" : "light";
      const shown = () => page.evaluate(() => document.documentElement.dataset.theme);
      assert.equal(await shown(), theme);
      await page.getByRole("button", { name: `Switch to the ${other} theme` }).click();
      assert.equal(await shown(), other);
      await load(page, file("small"));
      assert.equal(await shown(), other);
    },
    { theme },
  );

  on_page(
    `${theme}: text stands out from what is behind it`,
    "small",
    async (page) => {
      const ratios = await page.evaluate(() => {
        const style = getComputedStyle(document.documentElement);
        const light = (name) => {
          const hex = style.getPropertyValue(`--${name}`).trim();
          const [r, g, b] = [1, 3, 5]
            .map((at) => parseInt(hex.slice(at, at + 2), 16) / 255)
            .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
          return 0.2126 * r + 0.7152 * g + 0.0722 * b;
        };
        const ratio = (a, b) =>
          (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);
        const pairs = [
          ["ink", "bg"],
          ["ink", "surface"],
          ["muted", "surface"],
          ["muted", "bg"],
          ["accent", "surface"],
          ["bad", "bad-soft"],
          ["warn", "warn-soft"],
          ["good", "good-soft"],
          ["band-ink", "span-step"],
          ["band-ink", "flame-1"],
          ["band-ink", "flame-2"],
          ["band-ink", "flame-3"],
        ];
        return Object.fromEntries(pairs.map(([a, b]) => [`${a} on ${b}`, ratio(a, b)]));
      });
      for (const [pair, ratio] of Object.entries(ratios))
        assert.ok(ratio >= 4.5, `${pair}: ${ratio.toFixed(2)}`);
    },
    { theme },
  );
}

on_page(
  "a narrow window scrolls only down",
  "small",
  async (page) => {
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(overflow <= 0, `${overflow} pixels too wide`);
    await page.locator(".finding button.link").first().click();
    await story(page).waitFor();
    assert.ok((await story(page).boundingBox()).width <= 390);
  },
  { width: 390, height: 800 },
);

on_page(
  "it prints",
  "small",
  async (page) => {
    const pdf = await page.pdf({ format: "A4" });
    assert.ok(pdf.length > 20_000, `${pdf.length} bytes`);
  },
  { theme: "dark" },
);

on_page("nothing in a recording becomes part of the page", "hostile", async (page) => {
  const evil = "</script><img src=x onerror=\"document.title='owned'\"><!--";
  const check = async () => {
    assert.notEqual(await page.title(), "owned");
    assert.equal(await page.locator("img").count(), 0);
  };
  await check();
  assert.equal(await page.locator(".finding h3").innerText(), evil);
  await page.locator(".finding button.link").click();
  await story(page).waitFor();
  assert.ok((await story(page).innerText()).includes(evil));
  await check();
  await page.keyboard.press("Escape");
  await hover(page, memory(page), 400, 150);
  await check();
});

on_page("an empty recording makes an empty report", "empty", async (page) => {
  assert.match(await page.locator(".healthy").innerText(), /^Nothing to report/);
  await memory(page).hover();
  await lives(page).focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
});

on_page("a million events can be looked through", "million", async (page, t) => {
  t.diagnostic(
    `ready after ${await page.evaluate(() => document.documentElement.dataset.ready)} ms`,
  );
  await hover(page, memory(page), 600, 150);
  assert.match(await tip(page).innerText(), /MiB live/);
  const frames = await page.evaluate(async () => {
    const target = document.querySelector("canvas");
    const box = target.getBoundingClientRect();
    const times = [];
    for (let i = 0; i < 30; ++i) {
      const begin = performance.now();
      const event = {
        deltaY: i < 15 ? -80 : 80,
        clientX: box.left + 600,
        clientY: box.top + 100,
        bubbles: true,
        cancelable: true,
      };
      target.dispatchEvent(new WheelEvent("wheel", event));
      await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
      times.push(performance.now() - begin);
    }
    return times.sort((a, b) => a - b);
  });
  t.diagnostic(
    `a step of the zoom takes ${frames[15].toFixed(0)} ms, at most ${frames[29].toFixed(0)} ms`,
  );
  await page.getByRole("searchbox").fill("train.cpp:52");
  await page.getByText(/^[\d,]+ of [\d,]+$/).waitFor();
});
