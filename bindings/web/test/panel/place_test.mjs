// Where the panel stands, how it looks, and that it and the page leave each other alone.
import assert from "node:assert/strict";
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

async function on_page(path, use, options = {}) {
  const context = await new_context(browser, options);
  if (options.init) await context.addInitScript(options.init);
  const { page, problems } = await visit(context, server.origin + path);
  try {
    await use(page, context);
    assert.deepEqual(problems, []);
  } finally {
    await context.close();
  }
}

async function open(page, options = {}) {
  await page.evaluate((given) => {
    fake.step(60);
    globalThis.panel = open_panel(fake, given);
  }, options);
  await page.locator(".row.line").first().waitFor();
}

const box = (page) => page.locator(".frame").boundingBox();
const button = (page, name) => page.getByRole("button", { name });
const theme = (page) =>
  page.evaluate(
    () =>
      document.querySelector("tenure-panel").shadowRoot.querySelector(".tenure-panel").dataset
        .theme,
  );
const background = (page) =>
  page.locator(".frame").evaluate((each) => getComputedStyle(each).backgroundColor);

test("light or dark as the system has it, until the switch says otherwise, and for the next time", () =>
  on_page(
    "/",
    async (page) => {
      await open(page);
      assert.equal(await theme(page), "dark");
      assert.equal(await background(page), "rgb(25, 28, 31)");
      await page.emulateMedia({ colorScheme: "light" });
      assert.equal(await background(page), "rgb(255, 255, 255)");
      await button(page, "Switch to the dark theme").click();
      assert.equal(await background(page), "rgb(25, 28, 31)");
      assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), undefined);
      await page.reload();
      await page.waitForFunction(() => "fake" in globalThis);
      await open(page);
      assert.equal(await theme(page), "dark");
    },
    { theme: "dark" },
  ));

test("docked right, at the bottom, floating; sized and moved by keys; remembered", () =>
  on_page("/", async (page) => {
    await open(page);
    assert.deepEqual(await box(page), { x: 840, y: 0, width: 440, height: 800 });
    await page.getByRole("separator", { name: "Width" }).focus();
    await page.keyboard.press("ArrowLeft");
    assert.deepEqual(await box(page), { x: 816, y: 0, width: 464, height: 800 });
    await button(page, "Dock at the bottom").click();
    assert.deepEqual(await box(page), { x: 0, y: 440, width: 1280, height: 360 });
    await page.getByRole("separator", { name: "Height" }).focus();
    await page.keyboard.press("ArrowUp");
    assert.deepEqual(await box(page), { x: 0, y: 416, width: 1280, height: 384 });
    await button(page, "Float").click();
    await button(page, /^Move the panel/).focus();
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowDown");
    assert.deepEqual(await box(page), { x: 48, y: 48, width: 460, height: 620 });
    await page.getByRole("separator", { name: "Size" }).focus();
    await page.keyboard.press("ArrowRight");
    await page.reload();
    await page.waitForFunction(() => "fake" in globalThis);
    await open(page);
    assert.deepEqual(await box(page), { x: 48, y: 48, width: 484, height: 620 });
    await page.setViewportSize({ width: 700, height: 400 });
    // The event comes before the frame that is drawn at the new size.
    await page.waitForFunction(() => innerWidth === 700);
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    const { x, y, width, height } = await box(page);
    assert.ok(x >= 0 && y >= 0 && x + width <= 700 && y + height <= 400);
  }));

for (const [width, height] of [[480, 320], [320, 240], [700, 320], [320, 568]])
  test(`at ${width} x ${height} a line is seen, and nothing lies over another thing`, () =>
    on_page(
      "/",
      async (page) => {
        await open(page);
        await drawn(page);
        const sizes = await page.locator(".frame").evaluate((frame) => {
          const box = (name) => frame.querySelector(name).getBoundingClientRect();
          const { left, top, width } = box(".row.line");
          const seen = frame.getRootNode().elementFromPoint(left + width / 3, top + 20);
          return {
            sees: seen?.closest(".row.line") !== null,
            ends: box(".memory").bottom,
            begins: box(".filters").top,
          };
        });
        assert.ok(sizes.sees);
        assert.ok(sizes.begins >= sizes.ends - 1, JSON.stringify(sizes));
      },
      { width, height },
    ));

test("sized and moved by pointer", () =>
  on_page("/", async (page) => {
    await open(page);
    await page.mouse.move(842, 400);
    await page.mouse.down();
    await page.mouse.move(700, 400, { steps: 3 });
    await page.mouse.up();
    assert.equal((await box(page)).width, 582);
    await button(page, "Dock at the bottom").click();
    await button(page, "Float").click();
    const grip = await button(page, /^Move the panel/).boundingBox();
    await page.mouse.move(grip.x + 5, grip.y + 5);
    await page.mouse.down();
    await page.mouse.move(grip.x + 105, grip.y + 55, { steps: 3 });
    await page.mouse.up();
    assert.deepEqual(await box(page), { x: 124, y: 74, width: 460, height: 620 });
  }));

test("open or closed as its user left it, unless the program says", () =>
  on_page("/", async (page) => {
    await open(page);
    await button(page, "Close the panel").click();
    const reopened = (options) =>
      page.evaluate((given) => {
        panel.close();
        panel = open_panel(fake, given);
        return !document.querySelector("tenure-panel").shadowRoot.querySelector(".frame").hidden;
      }, options);
    assert.equal(await reopened({}), false);
    assert.equal(await reopened({ open: true }), true);
    assert.equal(await reopened({}), true);
    assert.equal(await reopened({ open: false }), false);
  }));

for (const [name, init] of [
  [
    "that is denied",
    () =>
      Object.defineProperty(globalThis, "localStorage", {
        get() {
          throw new DOMException("no", "SecurityError");
        },
      }),
  ],
  [
    "with nonsense in it",
    () => localStorage.setItem("tenure-panel", '{"dock":7,"right":"wide","x":null}'),
  ],
  ["that is not ours", () => localStorage.setItem("tenure-panel", "<xml>")],
])
  test(`works with a storage ${name}`, () =>
    on_page(
      "/",
      async (page) => {
        await open(page);
        assert.deepEqual(await box(page), { x: 840, y: 0, width: 440, height: 800 });
        await button(page, /^Switch to the/).click();
        await button(page, "Dock at the bottom").click();
        assert.equal((await box(page)).width, 1280);
      },
      { init },
    ));

test("on a screen 360 pixels wide it is a sheet, nothing is cut off, and a story has room", () =>
  on_page(
    "/",
    async (page) => {
      await open(page);
      assert.deepEqual(await box(page), { x: 0, y: 222, width: 360, height: 518 });
      const too_wide = () =>
        page.evaluate(() => {
          const { shadowRoot } = document.querySelector("tenure-panel");
          return [...shadowRoot.querySelectorAll(".frame *")]
            .filter((each) => {
              const { left, right, width } = each.getBoundingClientRect();
              return width && each.checkVisibility() && (left < -0.5 || right > innerWidth + 0.5);
            })
            .map((each) => each.className);
        });
      assert.deepEqual(await too_wide(), []);
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 360);
      await page.locator(".row.line").first().tap();
      await page.locator(".remedy").waitFor();
      assert.equal(await page.locator(".memory").isVisible(), false);
      assert.ok((await page.locator(".story").boundingBox()).height > 150);
      assert.deepEqual(await too_wide(), []);
      await button(page, "Back to all lines").tap();
      assert.equal(await page.locator(".memory").isVisible(), true);
    },
    { width: 360, height: 740, hasTouch: true, isMobile: true },
  ));

const looks = (page) =>
  page.evaluate(() => {
    const { shadowRoot } = document.querySelector("tenure-panel");
    const taken = [
      "color",
      "font",
      "letterSpacing",
      "padding",
      "border",
      "display",
      "float",
      "background",
      "transform",
      "position",
      "margin",
      "boxSizing",
      "direction",
      "textAlign",
      "height",
      "width",
    ];
    return [
      ...shadowRoot.querySelectorAll(
        ".frame, .head, .tool, .row.line, .row.line *, .sort, input, select, .value, h2",
      ),
    ].map((each) => {
      const style = getComputedStyle(each);
      return `${each.className}: ${taken.map((name) => style[name]).join("; ")}`;
    });
  });

test("a page that styles all its elements does not style the panel", async () => {
  let polite;
  await on_page("/", async (page) => {
    await open(page);
    await drawn(page);
    polite = await looks(page);
  });
  await on_page("/rude", async (page) => {
    await open(page);
    await drawn(page);
    assert.deepEqual(await looks(page), polite);
    assert.deepEqual(await box(page), { x: 840, y: 0, width: 440, height: 800 });
  });
});

test("the panel changes nothing of the page but for its one element", () =>
  on_page("/", async (page) => {
    const look = () =>
      page.evaluate(() => ({
        styles: [...document.querySelectorAll("html, head, body, main, main *")]
          .map((each) => {
            const style = getComputedStyle(each);
            const rect = each.getBoundingClientRect();
            return `${each.outerHTML.length} ${rect.x} ${rect.y} ${rect.width} ${[...style].map((name) => style.getPropertyValue(name)).join()}`;
          })
          .map((text, i) => (i === 0 ? text.replace(/^\d+/, "") : text)), // the element is in it
        sheets: document.styleSheets.length + document.adoptedStyleSheets.length,
        children: [...document.documentElement.children].map((each) => each.tagName),
        attributes: document.documentElement.attributes.length + document.body.attributes.length,
        globals: Object.keys(globalThis).length,
      }));
    await page.evaluate(() => (globalThis.panel = null));
    const before = await look();
    await open(page);
    await page.locator(".row.line").first().click();
    await page.locator(".remedy").waitFor();
    const during = await look();
    assert.deepEqual(during.children, [...before.children, "TENURE-PANEL"]);
    assert.deepEqual({ ...during, children: before.children }, before);
    await page.evaluate(() => panel.close());
    assert.deepEqual(await look(), before);
  }));

test("keys and clicks that are meant for the panel do not reach the page", () =>
  on_page("/", async (page) => {
    await page.evaluate(() => {
      globalThis.heard = [];
      for (const type of [
        "keydown",
        "keyup",
        "keypress",
        "input",
        "click",
        "pointerdown",
        "mousedown",
        "wheel",
      ])
        document.addEventListener(type, ({ type }) => heard.push(type));
    });
    await open(page);
    await page.getByRole("searchbox").fill("");
    await page.getByRole("searchbox").click();
    await page.keyboard.type("leak");
    await page.mouse.wheel(0, 100);
    await page.locator(".row.line").first().click();
    assert.deepEqual(await page.evaluate(() => heard), []);
    await page.locator("#field").click();
    await page.keyboard.type("a");
    assert.ok((await page.evaluate(() => heard)).includes("keydown"));
  }));

test("works where a policy forbids inline styles, inline scripts, eval and markup from text", () =>
  on_page("/strict", async (page) => {
    await page.locator(".row.line").first().waitFor();
    await page.locator(".row.line").first().click();
    await page.locator(".remedy").waitFor();
    assert.equal(await background(page), "rgb(255, 255, 255)");
    assert.deepEqual(await box(page), { x: 840, y: 0, width: 440, height: 800 });
    await button(page, "Record, for tenure report").click();
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      button(page, "Stop and download the recording").click(),
    ]);
    assert.equal(await download.failure(), null);
  }));

test("is not printed with the page", () =>
  on_page("/", async (page) => {
    await open(page);
    await page.emulateMedia({ media: "print" });
    assert.equal(await page.locator(".frame").isVisible(), false);
  }));
