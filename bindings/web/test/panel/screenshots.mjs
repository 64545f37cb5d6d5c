// Pictures of the panel: of the demo for the guide, and of every shape that it takes to look at.
//
//   node screenshots.mjs ../../../../docs/images guide
//   node screenshots.mjs <folder> [name...]
import { join } from "node:path";
import { serve_demo } from "../../demo/serve.mjs";
import { drawn, launch, new_context, serve, software_webgl, visit } from "./browser.mjs";

const [folder, ...names] = process.argv.slice(2);
const browser = await launch(software_webgl);

async function open_story(page) {
  await page.locator(".row.line").first().click();
  await page.locator(".event").first().waitFor();
}

async function picture(origin, name, { story = false, options = {}, ...context_options }) {
  const context = await new_context(browser, context_options);
  const { page } = await visit(context, origin);
  await page.evaluate((given) => open_panel(fake, { open: true, ...given }), options);
  for (let i = 0; i < 24; ++i) {
    await page.evaluate(() => fake.step(5));
    await page.waitForTimeout(150);
  }
  if (story) await open_story(page);
  await drawn(page);
  await page.screenshot({ path: join(folder, `${name}.png`) });
  await context.close();
}

async function guide_picture(origin, theme) {
  const context = await new_context(browser, { theme, width: 1180, height: 760 });
  const page = await context.newPage();
  await page.goto(origin);
  await page.waitForFunction(() => document.querySelector("#verdict").textContent !== "…");
  await page.waitForTimeout(4000);
  await page.getByRole("button", { name: "Dispose an input too early" }).click();
  await page.getByRole("checkbox", { name: /^Leak/ }).check();
  await page.waitForTimeout(8000);
  await open_story(page);
  await page.screenshot({ path: join(folder, `panel-${theme}.png`) });
  await context.close();
}

const shapes = {
  light: {},
  dark: { theme: "dark" },
  story_light: { story: true },
  story_dark: { story: true, theme: "dark" },
  small: { width: 360, height: 740 },
  small_story: { width: 360, height: 740, story: true, theme: "dark" },
  bottom: { story: true, options: { dock: "bottom" } },
  float: { theme: "dark", options: { dock: "float" } },
  page: { story: true, options: { fills_page: true } },
};

if (names[0] === "guide") {
  const server = await serve_demo();
  for (const theme of ["light", "dark"]) await guide_picture(server.origin, theme);
  server.close();
} else {
  const server = await serve();
  for (const [name, options] of Object.entries(shapes))
    if (!names.length || names.includes(name)) await picture(server.origin, name, options);
  server.close();
}
await browser.close();
