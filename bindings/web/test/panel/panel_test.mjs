// The panel as people use it: by eye, pointer and keyboard, over a program whose lines are known.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import { drawn, launch, new_context, serve, visit } from "./browser.mjs";

let browser, server;
before(async () => {
  server = await serve();
  browser = await launch();
});
after(async () => {
  await browser.close();
  server.close();
});

// Opens a page, uses it, and fails for any complaint of the browser on the way.
function on_page(name, use, { path = "/", open = {}, init, ...options } = {}) {
  test(name, async () => {
    const context = await new_context(browser, options);
    if (init) await context.addInitScript(init);
    const { page, problems } = await visit(context, server.origin + path);
    try {
      if (open) {
        await page.evaluate((given) => {
          fake.step(60);
          globalThis.panel = open_panel(fake, given);
        }, open);
        if (open.open !== false) await lines(page).first().waitFor();
      }
      await use(page, context);
      assert.deepEqual(problems, []);
    } finally {
      await context.close();
    }
  });
}

const frame = (page) => page.getByRole("region", { name: "Tenure memory panel" });
const launcher = (page) => page.getByRole("button", { name: /^Open the memory panel/ });
const button = (page, name) => page.getByRole("button", { name });
const lines = (page) => page.locator(".row.line");
const tensors = (page) => page.locator(".row.tensor");
const places = (page) => page.locator(".row.line .place").allTextContents();
const story = (page) => page.getByRole("region", { name: "Story" });
const filter = (page) => page.getByRole("searchbox", { name: "Filter the lines" });
const figure = (page, name) => page.locator(`[data-figure=${name}]`);
const voice = (page) => page.locator(".sr-only[role=status]");
// What has the focus, also in the shadow root.
const focused = (page) =>
  page.evaluate(() => {
    const { activeElement } = document;
    const inner = activeElement?.shadowRoot?.activeElement ?? activeElement;
    return inner?.ariaLabel ?? "";
  });

// The program goes on until that is so.
const until = (page, condition, value) =>
  page.waitForFunction(
    ([text, given]) => {
      fake.step(0);
      const { shadowRoot } = document.querySelector("tenure-panel");
      return new Function("root", "given", `return (${text})(root, given)`)(shadowRoot, given);
    },
    [String(condition), value],
  );

on_page(
  "a key opens it and closes it, and the focus returns",
  async (page) => {
    assert.equal(await frame(page).isVisible(), false);
    await page.locator("#field").focus();
    await page.keyboard.press("Alt+Shift+KeyM");
    await frame(page).waitFor();
    assert.equal(await focused(page), "Tenure memory panel");
    await page.keyboard.press("Alt+Shift+KeyM");
    await frame(page).waitFor({ state: "hidden" });
    assert.equal(await focused(page), "A field");
    assert.equal(await page.locator("#field").inputValue(), "");
  },
  { open: { open: false } },
);

on_page(
  "a button opens it, Escape closes it and gives the button the focus",
  async (page) => {
    await launcher(page).click();
    await frame(page).waitFor();
    await page.keyboard.press("Escape");
    await frame(page).waitFor({ state: "hidden" });
    assert.match(await focused(page), /^Open the memory panel/);
    await page.keyboard.press("Enter");
    await frame(page).waitFor();
    await button(page, "Close the panel").click();
    await frame(page).waitFor({ state: "hidden" });
  },
  { open: { open: false } },
);

on_page(
  "what it cannot be told is refused",
  async (page) => {
    const told = await page.evaluate(() =>
      [{ key: 5 }, { foo: 1 }, 5, "x", null, { dock: "top" }].map((options) => {
        try {
          open_panel(fake, options);
        } catch (error) {
          return `${error.name}: ${error.message}`;
        }
      }),
    );
    const known = "key, button, open, dock, fills_page, window_url, name";
    assert.deepEqual(told, [
      'TypeError: panel: key: expected one such as "Alt+Shift+M", or null, got: 5',
      `TypeError: panel: no such option: foo; there are: ${known}`,
      "TypeError: panel: expected options as an object, got: 5",
      "TypeError: panel: expected options as an object, got: x",
      "TypeError: panel: expected options as an object, got: null",
      "TypeError: panel: dock: expected one of right, bottom, float, got: top",
    ]);
    assert.equal(await page.locator("tenure-panel").count(), 0);
  },
  { open: null },
);

on_page(
  "another key, or none, and no button",
  async (page) => {
    assert.equal(await launcher(page).count(), 0);
    await page.keyboard.press("Alt+Shift+KeyM");
    assert.equal(await frame(page).isVisible(), false);
    await page.keyboard.press("Control+F9");
    await frame(page).waitFor();
    const none = await page.evaluate(() => {
      panel.close();
      panel = open_panel(fake, { key: null, button: false });
      dispatchEvent(new KeyboardEvent("keydown", { key: "F9", code: "F9", ctrlKey: true }));
      return document.querySelectorAll("tenure-panel").length;
    });
    assert.equal(none, 1);
    const error = await page.evaluate(() => {
      panel.close();
      try {
        open_panel(fake, { key: "Hyper+M" });
      } catch (error) {
        return `${error.name}: ${error.message}`;
      }
    });
    assert.equal(
      error,
      'TypeError: panel: key: expected one such as "Alt+Shift+M", got: Hyper+M',
    );
    assert.equal(await page.locator("tenure-panel").count(), 0);
  },
  { open: { open: false, key: "Ctrl+F9", button: false } },
);

on_page("opened twice it is one panel, which gets the focus", async (page) => {
  const same = await page.evaluate(() => open_panel(new FakeSource()) === panel);
  assert.equal(same, true);
  assert.equal(await page.locator("tenure-panel").count(), 1);
  assert.equal(await focused(page), "Tenure memory panel");
});

on_page("close() leaves nothing behind", async (page) => {
  await page.locator("#field").focus();
  await page.evaluate(() => panel.close());
  assert.equal(await page.locator("tenure-panel").count(), 0);
  assert.equal(await page.evaluate(() => fake.watched), false);
  await page.keyboard.press("Alt+Shift+KeyM");
  assert.equal(await page.locator("tenure-panel").count(), 0);
  await page.evaluate(() => (panel = open_panel(fake)));
  await lines(page).first().waitFor();
});

on_page("nobody is asked while it is closed", async (page) => {
  assert.equal(await page.evaluate(() => fake.watched), true);
  await button(page, "Close the panel").click();
  assert.equal(await page.evaluate(() => fake.watched), false);
});

on_page(
  "what grows comes first, then leaks, then what grew, then the rest by bytes",
  async (page) => {
    assert.deepEqual((await places(page)).slice(0, 6), [
      "classify.ts:41",
      "classify.ts:52",
      "camera.ts:77",
      "history.ts:9",
      "model.ts:24",
      "block_239.ts:249",
    ]);
    assert.deepEqual(
      await page
        .locator(".row.line .badge")
        .evaluateAll((all) => all.slice(0, 5).map((each) => each.textContent)),
      ["grows 2 a frame", "grows 1 a frame", "leak", "grew", ""],
    );
    assert.equal(
      await lines(page).first().getAttribute("aria-label"),
      'classify.ts:41, expandDims in predict of model "classifier", grows 2 a frame, 120 tensors, 5.63 MiB',
    );
    assert.equal(await page.locator(".summary").innerText(), "3 lines of 247 leak or grow");
  },
);

on_page("figures are what the program says, and what the backend holds beside it", async (page) => {
  await drawn(page);
  const sample = await page.evaluate(() => fake.sample());
  assert.equal(await figure(page, "tensors").innerText(), String(sample.tensors));
  assert.equal(
    await figure(page, "bytes").innerText(),
    `${(sample.bytes / 2 ** 20).toFixed(1)} MiB`,
  );
  const text = await page.locator(".figures").innerText();
  const { live, pooled, total } = sample.held[0];
  assert.equal(live + pooled, total);
  assert.match(
    text,
    new RegExp(`textures\\s+${(total / 2 ** 20).toFixed(1)} MiB\\s+${pooled / 2 ** 20} MiB pooled`),
  );
  await page.evaluate(() => fake.step(10));
  await drawn(page);
  assert.equal(await figure(page, "tensors").innerText(), String(sample.tensors + 30));
  assert.match(await page.locator(".figures").innerText(), /\+30 in 0\.2 s/);
});

on_page("the chart tells earlier figures by keyboard", async (page) => {
  const start = await figure(page, "tensors").innerText();
  for (let i = 0; i < 5; ++i) {
    await page.evaluate(() => fake.step(10));
    await drawn(page);
  }
  const end = await figure(page, "tensors").innerText();
  await page.getByRole("application", { name: /^Memory over time/ }).focus();
  await page.keyboard.press("Home");
  assert.equal(await figure(page, "tensors").innerText(), start);
  assert.match(
    await voice(page).innerText(),
    new RegExp(`^0\\.8 s ago: tensors ${start}, in tensors .*, textures .* MiB$`),
  );
  await page.keyboard.press("End");
  assert.equal(await figure(page, "tensors").innerText(), end);
});

on_page("a click on a line opens its tensors and the story of the first", async (page) => {
  await lines(page).first().click();
  await story(page).getByText("#200000").waitFor();
  assert.equal(await page.locator(".detail h2").innerText(), "classify.ts:41");
  assert.match(
    await page.locator(".detail-body").innerText(),
    /Grows by 2 a frame, for 1 s so far\.\s+120 tensors, 5\.63 MiB/,
  );
  assert.equal(await tensors(page).count(), 100);
  assert.deepEqual(await page.locator(".event .label").allInnerTexts(), ["born", "kept", "used"]);
  assert.match(
    await page.locator(".event.used").innerText(),
    /classify\.ts:47 conv2d, input 0\s+in layer "conv2d_1"/,
  );
  assert.match(await page.locator(".holders").innerText(), /its data lives on in 1 other tensor/);
  assert.match(await page.locator(".remedy").innerText(), /^dispose it when the frame is drawn/);
  await tensors(page).nth(3).click();
  await story(page).getByText("#200003").waitFor();
  assert.equal(await tensors(page).nth(3).getAttribute("aria-selected"), "true");
  await button(page, "and 20 more").click();
  await page.waitForFunction(
    () =>
      document.querySelector("tenure-panel").shadowRoot.querySelectorAll(".row.tensor").length ===
      120,
  );
});

on_page("tensors that were dropped and collected are counted", async (page) => {
  await lines(page).nth(3).click();
  await story(page).getByText("#400010").waitFor();
  assert.equal(await tensors(page).count(), 20);
  assert.match(
    await page.locator(".collected").innerText(),
    /^and 10 tensors that the program dropped without dispose\(\): JavaScript collected them/,
  );
  await page.keyboard.press("Escape");
  await lines(page).first().click();
  await story(page).getByText("#200000").waitFor();
  assert.equal(await page.locator(".collected").isVisible(), false);
});

on_page("by keyboard: to a line, to its tensors, and back to where one was", async (page) => {
  await page.keyboard.press("Alt+Shift+KeyM");
  await page.keyboard.press("/");
  assert.equal(await focused(page), "Filter the lines");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  assert.match(await focused(page), /^classify\.ts:52/);
  await page.keyboard.press("Enter");
  await story(page).getByText("#300000").waitFor();
  await page.waitForFunction(() =>
    /^tensor/.test(document.activeElement.shadowRoot?.activeElement?.ariaLabel),
  );
  await page.keyboard.press("ArrowDown");
  await story(page).getByText("#300001").waitFor();
  assert.match(await voice(page).innerText(), /#300001/);
  await page.keyboard.press("End");
  await story(page).getByText("#300059").waitFor();
  await page.keyboard.press("Escape");
  assert.match(await focused(page), /^classify\.ts:52/);
  assert.equal(await page.locator(".detail").isVisible(), false);
  await page.keyboard.press("Escape");
  await frame(page).waitFor({ state: "hidden" });
});

on_page("everything that takes the focus has a name, and Tab reaches all of it", async (page) => {
  await lines(page).first().click();
  await story(page).getByText("#200000").waitFor();
  const nameless = await page.evaluate(() => {
    const { shadowRoot } = document.querySelector("tenure-panel");
    return [...shadowRoot.querySelectorAll("button, select, input, [tabindex]")]
      .filter((each) => !(each.ariaLabel || each.textContent.trim()))
      .map((each) => each.outerHTML);
  });
  assert.deepEqual(nameless, []);
  await page.evaluate(() =>
    document.querySelector("tenure-panel").shadowRoot.querySelector(".frame").focus(),
  );
  const reached = new Set();
  for (let i = 0; i < 40; ++i) {
    await page.keyboard.press("Tab");
    reached.add(await focused(page));
  }
  for (const name of [
    "Width",
    "Pause",
    "Mark: what is born from here on",
    "Record, for tenure report",
    "Close the panel",
    "Time that the chart shows",
    "Back to all lines",
    "Copy the story",
  ])
    assert.ok(reached.has(name), `${name}: ${[...reached].join(" | ")}`);
});

on_page("pause: nobody looks, nothing moves; then it goes on", async (page) => {
  await button(page, "Pause").click();
  assert.equal(await page.evaluate(() => fake.watched), false);
  const text = await page.locator(".figures").innerText();
  await page.evaluate(() => fake.step(50));
  await drawn(page);
  assert.equal(await page.locator(".figures").innerText(), text);
  await button(page, "Go on").click();
  const tensors = await page.evaluate(() => String(fake.sample().tensors));
  await until(
    page,
    (root, given) => root.querySelector("[data-figure=tensors]").textContent === given,
    tensors,
  );
});

on_page("a mark: what was born since, by line; and back to all", async (page) => {
  await button(page, /^Mark/).click();
  const since = page.getByRole("combobox", { name: "Born when" });
  await since.waitFor();
  assert.equal(await since.inputValue(), "since mark 1");
  await until(page, (root) => root.querySelectorAll(".row.line").length === 0);
  assert.equal(await page.locator(".empty").first().innerText(), "No tensor lives.");
  await page.evaluate(() => fake.step(7));
  await until(page, (root) => root.querySelector(".row.line .number")?.textContent === "14");
  assert.deepEqual(await places(page), ["classify.ts:41", "classify.ts:52"]);
  await lines(page).first().click();
  await story(page).getByText("#200120").waitFor();
  assert.equal(await tensors(page).count(), 14);
  await page.keyboard.press("Escape");
  await since.selectOption("all that live");
  await until(page, (root) => root.querySelectorAll(".row.line").length === 100);
});

on_page("the filter takes words of file, op, layer and state", async (page) => {
  await filter(page).fill("classify expand");
  assert.deepEqual(await places(page), ["classify.ts:41"]);
  assert.equal(await page.locator(".summary").innerText(), "1 of 247 lines");
  await filter(page).fill("LEAK");
  assert.deepEqual(await places(page), ["classify.ts:41", "camera.ts:77"]);
  await filter(page).fill("nothing of that name");
  assert.equal(await page.locator(".empty").first().innerText(), "No line matches.");
  await page.keyboard.press("Escape");
  assert.equal(await filter(page).inputValue(), "");
  assert.equal(await lines(page).count(), 100);
  assert.equal(await frame(page).isVisible(), true);
});

on_page("sorted by line, tensors and bytes, either way", async (page) => {
  const bytes = page.locator(".sort.bytes");
  await bytes.click();
  assert.equal(await bytes.getAttribute("aria-pressed"), "true");
  assert.deepEqual((await places(page)).slice(0, 3), [
    "model.ts:24",
    "classify.ts:41",
    "camera.ts:77",
  ]);
  assert.equal(await voice(page).innerText(), "sorted by bytes");
  await bytes.click();
  assert.equal(await voice(page).innerText(), "sorted by bytes, reversed");
  assert.deepEqual((await places(page)).slice(0, 2), ["block_000.ts:10", "block_001.ts:11"]);
  await page.locator(".sort.count").click();
  assert.deepEqual((await places(page)).slice(0, 3), [
    "classify.ts:41",
    "classify.ts:52",
    "history.ts:9",
  ]);
  await page.locator(".sort.line").click();
  assert.equal((await places(page))[0], "block_000.ts:10");
});

on_page("many lines are shown a hundred at a time", async (page) => {
  assert.equal(await lines(page).count(), 100);
  await button(page, "and 147 more").click();
  assert.equal(await lines(page).count(), 200);
  assert.match(await focused(page), /^block_/);
  await button(page, "and 47 more").click();
  assert.equal(await lines(page).count(), 247);
  assert.equal(await page.locator(".more:visible").count(), 0);
});

on_page(
  "rows keep their places under the pointer, and the focus stays with its line",
  async (page) => {
    await filter(page).fill("classify");
    await lines(page).nth(1).focus();
    await page.evaluate(() => {
      globalThis.kept = document.querySelector("tenure-panel").shadowRoot.activeElement;
      fake.step(10);
    });
    await until(page, (root) => root.querySelector(".row.line .number").textContent === "140");
    assert.equal(
      await page.evaluate(
        () => kept === document.querySelector("tenure-panel").shadowRoot.activeElement,
      ),
      true,
    );
  },
);

on_page("a recording is handed over byte by byte", async (page) => {
  await button(page, "Record, for tenure report").click();
  const stop = button(page, "Stop and download the recording");
  await stop.waitFor();
  assert.equal(await page.evaluate(() => fake.recording), true);
  const [download] = await Promise.all([page.waitForEvent("download"), stop.click()]);
  assert.match(download.suggestedFilename(), /^A-program-\d{4}-\d\d-\d\d-\d\d-\d\d-\d\d\.tenure$/);
  assert.equal(await readFile(await download.path(), "utf8"), "tenure fake recording, 60 frames\n");
  await button(page, "Record, for tenure report").waitFor();
});

on_page("what fails is told, and it goes on", async (page) => {
  const note = page.getByRole("alert");
  await page.evaluate(() => (fake.fails = "record true"));
  await button(page, "Record, for tenure report").click();
  await note.getByText("record: planted failure").waitFor();
  await page.evaluate(() => (fake.fails = "lines"));
  await until(
    page,
    (root) => root.querySelector(".note[role=alert]").textContent === "lines: planted failure",
  );
  await until(page, (root) => root.querySelector(".note[role=alert]").textContent === "");
  await page.evaluate(() => (fake.fails = "story"));
  await lines(page).first().click();
  await note.getByText("story: planted failure").waitFor();
  await tensors(page).nth(1).click();
  await story(page).getByText("#200001").waitFor();
});

on_page("the story can be copied", async (page, context) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await lines(page).first().click();
  await button(page, "Copy the story").click();
  await voice(page).getByText("copied").waitFor();
  assert.match(
    await page.evaluate(() => navigator.clipboard.readText()),
    /^float32 \[1, 64, 64, 3\] \(#200000\)\n\nborn /,
  );
});
