// The pictures in docs/images, from the report of examples/recorded_training:
//
//   cmake --build build/release --target report_screenshots
//
//   node screenshots.mjs <page> <folder>
import { join, resolve } from "node:path";

import { canvas, launch, open } from "./browser.mjs";

const [file, folder] = process.argv.slice(2);
const browser = await launch();
const shoot = (page, name) => page.screenshot({ path: join(folder, `${name}.png`) });
for (const theme of ["light", "dark"]) {
  const { page, problems } = await open(browser, resolve(file), {
    width: 1280,
    height: 1420,
    theme,
    scale: 1.5,
  });
  const memory = canvas(page, /^Memory over time/);
  const box = await memory.boundingBox();
  await page.mouse.move(box.x + box.width * 0.42, box.y + 130);
  await page.getByRole("tooltip").waitFor();
  await shoot(page, `report-${theme}`);
  if (theme === "light") {
    await page.mouse.move(5, 5);
    await page.locator(".finding button.link").first().click();
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.locator("#timeline").scrollIntoViewIfNeeded();
    await page.evaluate(() => document.querySelector("#timeline").scrollIntoView());
    await shoot(page, "report-story");
  }
  if (problems.length) throw new Error(problems.join("\n"));
  await page.context().close();
}
await browser.close();
