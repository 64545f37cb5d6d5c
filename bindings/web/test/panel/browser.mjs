// Debian's chromium, and the tests' pages in it, served from here and watched for complaints.
import { existsSync } from "node:fs";
import { createServer } from "node:http";
import { chromium } from "playwright-core";
import { bundle } from "./build.mjs";

// WebGL without a GPU. What the page is made of is put together by the processor then, too: to have
// WebGL do that as well takes longer than a frame.
export const software_webgl = [
  "--use-angle=swiftshader",
  "--enable-unsafe-swiftshader",
  "--disable-gpu-compositing",
];

export function launch(more = []) {
  const candidates = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser"];
  const executablePath = candidates.find((path) => path && existsSync(path));
  if (!executablePath)
    throw new Error("no chromium: install Debian's, or set CHROMIUM to its path");
  // Chromium refuses its sandbox to root.
  const args = process.getuid?.() === 0 ? ["--no-sandbox", ...more] : more;
  return chromium.launch({ executablePath, args });
}

const html = (title, body, style = "", script = "") => `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>${style && `<style>${style}</style>`}
<script type="module" src="/page.js"></script>${script && `<script type="module" src="${script}"></script>`}</head>
<body>${body}</body></html>`;

const content = `<main><h1>A program</h1><p>Some text.</p><button id="before">A button</button>
<input id="field" aria-label="A field"></main>`;

// What pages do to all their elements.
const rude = `* { color: rgb(255, 0, 0) !important; font: 40px/3 serif !important; letter-spacing: 9px !important;
  padding: 31px !important; border: 7px dashed lime !important; display: block !important; float: left !important;
  background: yellow !important; transform: rotate(2deg) !important; position: static !important; box-sizing: content-box !important; }
:root { --bg: red; --surface: red; --ink: red; font-size: 61px; direction: rtl; }
button, input, li, section { margin: 50px !important; } [hidden] { display: block !important; }`;

const strict =
  "default-src 'none'; script-src 'self'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

const scripts = {
  "/open.js": "open_panel(fake, {open: true})",
  "/remote.js": "globalThis.remote = remote_source(); open_panel(remote, {fills_page: true})",
  "/serve.js": "serve_source(fake)",
};
const pages = {
  "/": [html("A program", content)],
  "/rude": [html("A rude program", content, rude)],
  "/strict": [
    html("A strict program", content, "", "/open.js"),
    { "content-security-policy": strict },
  ],
  "/served": [html("A served program", content, "", "/serve.js")],
  "/panel": [html("Panel", "", "", "/remote.js")],
};

export async function serve() {
  const script = await bundle("test/panel/fixture/page.ts");
  const server = createServer(({ url }, response) => {
    const { pathname } = new URL(url, "http://localhost");
    const page = pages[pathname];
    const text = pathname === "/page.js" ? script : scripts[pathname];
    if (page) response.writeHead(200, { "content-type": "text/html", ...page[1] }).end(page[0]);
    else if (text) response.writeHead(200, { "content-type": "text/javascript" }).end(text);
    else response.writeHead(pathname === "/favicon.ico" ? 204 : 404).end();
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  return { origin: `http://127.0.0.1:${server.address().port}`, close: () => server.close() };
}

// What was asked for is on the screen when two frames have passed.
export const drawn = (page) =>
  page.evaluate(
    () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))),
  );

export async function new_context(
  browser,
  { width = 1280, height = 800, theme = "light", ...rest } = {},
) {
  return browser.newContext({
    viewport: { width, height },
    colorScheme: theme,
    reducedMotion: "reduce",
    acceptDownloads: true,
    ...rest,
  });
}

// A page of the tests, and what the browser complained of in it.
export async function visit(context, url) {
  const page = await context.newPage();
  const problems = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) problems.push(message.text());
  });
  page.on("pageerror", (error) => problems.push(error.stack ?? error.message));
  await page.goto(url);
  await page.waitForFunction(() => "fake" in globalThis);
  return { page, problems };
}
