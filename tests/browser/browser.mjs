// Debian's chromium, and a page of the report in it that is watched for errors.
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const packages = process.env.TENURE_BROWSER_PACKAGES;
if (!packages) throw new Error("TENURE_BROWSER_PACKAGES must name the folder with node_modules");
const { chromium } = createRequire(join(packages, "package.json"))("playwright-core");

export function launch() {
  const candidates = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser"];
  const executablePath = candidates.find((path) => path && existsSync(path));
  if (!executablePath)
    throw new Error("no chromium: install Debian's, or set CHROMIUM to its path");
  // Chromium refuses its sandbox to root.
  return chromium.launch({
    executablePath,
    args: process.getuid?.() === 0 ? ["--no-sandbox"] : [],
  });
}

export async function open(
  browser,
  file,
  { width = 1360, height = 1000, theme = "light", scale = 1 } = {},
) {
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: theme,
    deviceScaleFactor: scale,
    reducedMotion: "reduce",
  });
  const page = await context.newPage();
  const problems = [];
  const requests = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) problems.push(message.text());
  });
  page.on("pageerror", (error) => problems.push(error.stack ?? error.message));
  page.on("request", (request) => requests.push(request.url()));
  await load(page, file);
  return { page, problems, requests };
}

// Milliseconds from the start of navigation until the first frame is on the screen.
export async function load(page, file) {
  await page.goto(pathToFileURL(file).href);
  await page.waitForSelector("html[data-ready]", { timeout: 60_000 });
  return Number(await page.evaluate(() => document.documentElement.dataset.ready));
}

export const canvas = (page, label) => page.getByRole("application", { name: label });
