// The panel in a window of its own: it and the pages talk over a BroadcastChannel.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { launch, new_context, serve, visit } from "./browser.mjs";

let browser, server;
before(async () => {
  server = await serve();
  browser = await launch();
});
after(async () => {
  await browser.close();
  server.close();
});

// Opens these pages in one context, and fails for any complaint of the browser in any of them.
function with_pages(name, paths, use) {
  test(name, async () => {
    const context = await new_context(browser);
    const problems = [];
    const visited = async (path) => {
      const each = await visit(context, server.origin + path);
      problems.push(each.problems);
      return each.page;
    };
    try {
      const pages = [];
      for (const path of paths) pages.push(await visited(path));
      await use(...pages, visited);
      assert.deepEqual(problems.flat(), []);
    } finally {
      await context.close();
    }
  });
}

const lines = (page) => page.locator(".row.line");
const note = (page) => page.locator(".note[role=status]");
const choice = (page) => page.getByRole("combobox", { name: "Page" });
const watched = (page) => page.waitForFunction(() => fake.watched);
const rested = (page) => page.waitForFunction(() => !fake.watched);
const step = (page, frames) => page.evaluate((given) => fake.step(given), frames);

// The page goes on until the panel's first line has so many tensors.
async function counted(page, panel, text) {
  for (;;) {
    await step(page, 0);
    const first = lines(panel).first().locator(".number").first();
    if ((await first.count()) && (await first.textContent()) === text) return;
  }
}

with_pages(
  "a panel finds a page that was there before it",
  ["/served", "/panel"],
  async (page, panel) => {
    await watched(page);
    await step(page, 50);
    await counted(page, panel, "100");
    await lines(panel).first().click();
    await panel.locator(".remedy").waitFor();
    await panel.getByRole("button", { name: /^Mark/ }).click();
    await panel.getByRole("combobox", { name: "Born when" }).waitFor();
    assert.equal(await panel.locator("tenure-panel").count(), 1);
    assert.equal(await panel.getByRole("button", { name: "Close the panel" }).count(), 0);
  },
);

with_pages(
  "a page finds a panel that was there before it",
  ["/panel", "/served"],
  async (panel, page) => {
    await watched(page);
    assert.equal(await note(panel).innerText(), "");
  },
);

with_pages("without a page it says so", ["/panel"], async (panel) => {
  await note(panel).getByText("No page yet.").waitFor();
});

with_pages("a recording comes over, whole", ["/served", "/panel"], async (page, panel) => {
  await watched(page);
  await panel.getByRole("button", { name: "Record, for tenure report" }).click();
  const stop = panel.getByRole("button", { name: "Stop and download the recording" });
  const [download] = await Promise.all([panel.waitForEvent("download"), stop.click()]);
  const chunks = [];
  for await (const chunk of await download.createReadStream()) chunks.push(chunk);
  assert.equal(String(Buffer.concat(chunks)), "tenure fake recording, 0 frames\n");
});

with_pages("errors come over with their message", ["/served", "/panel"], async (page, panel) => {
  await watched(page);
  await page.evaluate(() => (fake.fails = "mark"));
  await panel.getByRole("button", { name: /^Mark/ }).click();
  await panel.getByRole("alert").getByText("mark: planted failure").waitFor();
});

with_pages(
  "several pages, and one chooses",
  ["/served", "/served", "/panel"],
  async (one, two, panel) => {
    await Promise.race([watched(one), watched(two)]);
    await panel.waitForFunction(() => remote.pages.list.length === 2);
    const texts = await choice(panel).locator("option").allInnerTexts();
    assert.deepEqual(texts, ["A served program (1)", "A served program (2)"]);
    const [here, there] = (await one.evaluate(() => fake.watched)) ? [one, two] : [two, one];
    await step(here, 10);
    await counted(here, panel, "20");
    const other = await panel.evaluate(
      () => remote.pages.list.find((page) => page.id !== remote.pages.chosen.id).id,
    );
    await choice(panel).selectOption(other);
    await watched(there);
    await rested(here);
    await step(there, 30);
    await counted(there, panel, "60");
  },
);

with_pages(
  "several panels at one page",
  ["/served", "/panel", "/panel"],
  async (page, one, two) => {
    await watched(page);
    await step(page, 20);
    await counted(page, one, "40");
    await counted(page, two, "40");
    await one.close();
    await step(page, 5);
    await counted(page, two, "50");
    assert.equal(await page.evaluate(() => fake.watched), true);
    await two.close();
    await rested(page);
  },
);

with_pages(
  "a page that goes away is told, and found again when it is back",
  ["/served", "/panel"],
  async (page, panel, visited) => {
    await watched(page);
    await step(page, 20);
    await counted(page, panel, "40");
    await page.close();
    await note(panel).getByText("“A served program” is gone.").waitFor();
    assert.equal(await lines(panel).first().locator(".number").first().textContent(), "40");
    await lines(panel).first().click();
    await panel.getByRole("alert").getByText("no page to ask").waitFor();
    const again = await visited("/served");
    await watched(again);
    await panel.waitForFunction(() => remote.pages.state === "here");
    assert.equal(await note(panel).innerText(), "");
    await step(again, 3);
    await counted(again, panel, "6");
  },
);

with_pages(
  "a page that comes back from the browser's cache goes on",
  ["/served", "/panel"],
  async (page, panel) => {
    await watched(page);
    await page.evaluate(() =>
      dispatchEvent(new PageTransitionEvent("pagehide", { persisted: true })),
    );
    await note(panel).getByText("is gone.").waitFor();
    assert.equal(await page.evaluate(() => fake.watched), false);
    await page.evaluate(() =>
      dispatchEvent(new PageTransitionEvent("pageshow", { persisted: true })),
    );
    await watched(page);
    assert.equal(await note(panel).innerText(), "");
  },
);

with_pages(
  "a page that does not answer is told to be silent, until it answers",
  ["/served", "/panel"],
  async (page, panel) => {
    await watched(page);
    await panel.clock.install();
    // From here on the panel's clock is ours; the page is made deaf, as if it were busy.
    await panel.evaluate(() => {
      remote.close();
    });
    const state = await panel.evaluate(async () => {
      const deaf = new BroadcastChannel("deaf");
      const source = remote_source({ channel: "deaf" });
      const states = [];
      source.pages.on_change(() => states.push(source.pages.state));
      deaf.postMessage({
        tenure: 1,
        kind: "here",
        page: { id: "x", title: "Deaf", url: "http://x" },
      });
      await new Promise((done) => source.pages.on_change(done));
      source.subscribe(() => {});
      globalThis.deaf = { channel: deaf, source, states };
      return source.pages.state;
    });
    assert.equal(state, "here");
    await panel.clock.runFor(10_000);
    assert.equal(await panel.evaluate(() => deaf.source.pages.state), "silent");
    await panel.evaluate(
      () =>
        new Promise((done) => {
          deaf.source.pages.on_change(done);
          deaf.channel.postMessage({ tenure: 1, kind: "seen", page: "x", panel: "y" });
        }),
    );
    assert.equal(await panel.evaluate(() => deaf.source.pages.state), "here");
  },
);

with_pages(
  "a panel that vanished without a word costs the page nothing",
  ["/served"],
  async (page) => {
    await page.clock.install();
    const was_watched = await page.evaluate(async () => {
      const source = new FakeSource();
      const served = serve_source(source, { channel: "quiet" });
      const panel = new BroadcastChannel("quiet");
      const seen = new Promise((done) => {
        panel.onmessage = ({ data }) => {
          if (data.kind === "here")
            panel.postMessage({ tenure: 1, kind: "look", page: data.page.id, panel: "p" });
          if (data.kind === "seen") done();
        };
      });
      panel.postMessage({ tenure: 1, kind: "who" });
      await seen;
      globalThis.quiet = { source, served };
      return source.watched;
    });
    assert.equal(was_watched, true);
    await page.clock.runFor(10_000);
    assert.equal(
      await page.evaluate(() => {
        quiet.source.step();
        return quiet.source.watched;
      }),
      false,
    );
  },
);

with_pages("other talk on the channel is not ours", ["/served", "/panel"], async (page, panel) => {
  await watched(page);
  await panel.evaluate(() => {
    const other = new BroadcastChannel("tenure-explain");
    for (const data of [
      null,
      7,
      "who",
      {},
      { tenure: 2, kind: "gone" },
      { tenure: 1, kind: "ask" },
    ])
      other.postMessage(data);
    other.postMessage({
      tenure: 1,
      kind: "ask",
      page: remote.pages.chosen.id,
      panel: "x",
      id: 1,
      method: "constructor",
      args: [],
    });
  });
  await step(page, 10);
  await counted(page, panel, "20");
});

with_pages(
  "a page with a button for it opens the window, and stays served",
  ["/"],
  async (page) => {
    await page.evaluate(() => {
      fake.step(5);
      open_panel(fake, { open: true, window_url: "/panel" });
    });
    const [popup] = await Promise.all([
      page.waitForEvent("popup"),
      page.getByRole("button", { name: "Open in a window of its own" }).click(),
    ]);
    await popup.waitForFunction(() => globalThis.remote?.pages.state === "here");
    await counted(page, popup, "10");
    assert.equal(
      await choice(popup).inputValue(),
      await popup.evaluate(() => remote.pages.chosen.id),
    );
  },
);
