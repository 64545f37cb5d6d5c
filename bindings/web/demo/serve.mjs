// Serves the demo on 127.0.0.1, bundled anew with every load: npm run demo [-- port]
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { dirname, extname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import esbuild from "esbuild";
import { style_text } from "../panel/style_text.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const web = dirname(here);
const wasm = dirname(
  createRequire(import.meta.url).resolve("@tensorflow/tfjs-backend-wasm/package.json"),
);
const types = {
  ".html": "text/html",
  ".css": "text/css",
  ".js": "text/javascript",
  ".mjs": "text/javascript",
  ".map": "application/json",
  ".wasm": "application/wasm",
};

async function scripts() {
  const { outputFiles } = await esbuild.build({
    entryPoints: [join(here, "demo.ts"), join(here, "panel.ts")],
    outdir: here,
    nodePaths: [join(web, "node_modules")],
    external: ["tenure-explain"], // as its users have it, from dist/
    bundle: true,
    write: false,
    format: "esm",
    target: ["chrome103", "firefox113", "safari16.4"],
    sourcemap: true,
    logLevel: "warning",
    plugins: [style_text],
  });
  return new Map(outputFiles.map(({ path, contents }) => [path.slice(here.length), contents]));
}

export async function serve_demo(port = 0) {
  let built = scripts();
  async function body(path) {
    const part = /^\/tenure-explain\/dist\/([\w.-]+)$/.exec(path)?.[1];
    if (part) return readFile(join(web, "dist", part));
    if (path === "/demo.js") built = scripts();
    if (/\.js(\.map)?$/.test(path)) return (await built).get(path);
    if (path.startsWith("/wasm/"))
      return readFile(join(wasm, "dist", path.slice(6).replace(/[^\w.-]/g, "")));
    if (["/index.html", "/panel.html", "/demo.css"].includes(path))
      return readFile(join(here, path));
    return undefined;
  }
  const server = createServer(async ({ url }, response) => {
    const { pathname } = new URL(url, "http://localhost");
    const path = pathname === "/" ? "/index.html" : pathname;
    try {
      const content = await body(path);
      if (content) response.writeHead(200, { "content-type": types[extname(path)] }).end(content);
      else response.writeHead(path === "/favicon.ico" ? 204 : 404).end();
    } catch (error) {
      response.writeHead(500).end(String(error));
    }
  });
  await new Promise((done) => server.listen(port, "127.0.0.1", done));
  return { origin: `http://127.0.0.1:${server.address().port}`, close: () => server.close() };
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const { origin } = await serve_demo(Number(process.argv[2] ?? 8021));
  console.log(`the demo is at ${origin}`);
}
