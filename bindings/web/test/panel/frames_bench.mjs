// Frames a second of the demo, with the panel and without: node frames_bench.mjs [seconds]
//
// Times are those that requestAnimationFrame hands out. A frame counts as late when more than one
// and a half of a 60 Hz display's went by since the one before.
import { launch, new_context, software_webgl } from "./browser.mjs";
import { serve_demo } from "../../demo/serve.mjs";

const seconds = Number(process.argv[2] ?? 10);
const server = await serve_demo();
const browser = await launch(software_webgl);

const frames = (page) =>
  page.evaluate(
    (length) =>
      new Promise((done) => {
        const times = [];
        requestAnimationFrame(function next(time) {
          times.push(time);
          if (time - times[0] < length) requestAnimationFrame(next);
          else done(times);
        });
      }),
    1000 * seconds,
  );

function row(name, times) {
  const gaps = times
    .slice(1)
    .map((time, i) => time - times[i])
    .sort((a, b) => a - b);
  const at = (share) => gaps[Math.floor(share * (gaps.length - 1))].toFixed(1);
  const rate = (1000 * gaps.length) / (times.at(-1) - times[0]);
  const late = gaps.filter((gap) => gap > 25).length;
  console.log(
    `${name.padEnd(34)} ${rate.toFixed(1).padStart(5)} fps   median ${at(0.5)} ms   99 % ${at(0.99)} ms   longest ${at(1)} ms   late ${late}`,
  );
}

for (const backend of ["cpu", "wasm", "webgl"]) {
  const context = await new_context(browser);
  const page = await context.newPage();
  await page.goto(server.origin);
  await page.selectOption("#backend", backend);
  await page.waitForFunction(
    (given) => document.documentElement.dataset.backend === given,
    backend,
  );
  await page.waitForFunction(() => document.querySelector("#verdict").textContent !== "…");
  await page.getByRole("button", { name: "Close the panel" }).click();
  row(`${backend}, panel closed`, await frames(page));
  await page.getByRole("button", { name: /^Open the memory panel/ }).click();
  row(`${backend}, panel open`, await frames(page));
  await page.locator(".row.line").first().click();
  await page.getByRole("checkbox").check();
  row(`${backend}, a story open, leaking`, await frames(page));
  await context.close();
}
await browser.close();
server.close();
