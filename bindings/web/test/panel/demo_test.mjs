// The demo: it sees what it draws on each backend, leaks when asked to, and tells the story.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { launch, new_context, software_webgl } from "./browser.mjs";
import { serve_demo } from "../../demo/serve.mjs";

let browser, server;
before(async () => {
  server = await serve_demo();
  browser = await launch(software_webgl);
});
after(async () => {
  await browser.close();
  server.close();
});

async function visit(use) {
  const context = await new_context(browser);
  const page = await context.newPage();
  const problems = [];
  page.on("console", (message) => {
    if (message.type() === "error") problems.push(message.text());
  });
  page.on("pageerror", (error) => problems.push(error.stack ?? error.message));
  try {
    await page.goto(server.origin);
    await page.waitForFunction(() => document.documentElement.dataset.backend === "webgl");
    await use(page, context);
    assert.deepEqual(problems, []);
  } finally {
    await context.close();
  }
}

const panel = (page) => page.getByRole("region", { name: "Tenure memory panel" });
const tensors = async (page) =>
  Number((await page.locator("[data-figure=tensors]").innerText()).replaceAll(",", ""));

for (const name of ["cpu", "wasm", "webgl"])
  test(`on ${name} it sees each shape that it draws`, () =>
    visit(async (page) => {
      await page.getByRole("combobox", { name: "Backend" }).selectOption(name);
      await page.waitForFunction(
        (given) => document.documentElement.dataset.backend === given,
        name,
      );
      for (const kind of ["circle", "square", "triangle", "cross"])
        await page.waitForFunction(
          (given) => document.querySelector("#verdict").textContent === given,
          kind,
        );
    }));

test("the panel is there, and the leak grows once it is switched on", () =>
  visit(async (page) => {
    await panel(page).waitFor();
    const before = await tensors(page);
    await page.getByRole("checkbox", { name: /^Leak/ }).check();
    await page.waitForFunction(
      (given) =>
        Number(
          document
            .querySelector("tenure-panel")
            .shadowRoot.querySelector("[data-figure=tensors]")
            .textContent.replaceAll(",", ""),
        ) >
        given + 20,
      before,
    );
  }));

test("an input that is disposed too early fails, and says so", () =>
  visit(async (page) => {
    await page.getByRole("button", { name: "Dispose an input too early" }).click();
    await page.locator("#story", { hasText: "dispose" }).waitFor();
  }));

test("the panel in a window of its own", () =>
  visit(async (page) => {
    const [popup] = await Promise.all([
      page.waitForEvent("popup"),
      page.getByRole("button", { name: "Open in a window of its own" }).click(),
    ]);
    await popup.waitForFunction(() =>
      /\d/.test(
        document.querySelector("tenure-panel")?.shadowRoot.querySelector("[data-figure=tensors]")
          .textContent,
      ),
    );
    assert.equal(
      await popup.getByRole("combobox", { name: "Page" }).locator("option").innerText(),
      "Demo",
    );
  }));
