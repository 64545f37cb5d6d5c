// The panel as its users get it, and the tests' page with it, in memory.
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import esbuild from "esbuild";
import { style_text } from "../../panel/style_text.mjs";

const here = dirname(fileURLToPath(import.meta.url));
export const web = join(here, "..", "..");
// Where the packages lie: here, or in a folder around.
const { resolve } = createRequire(import.meta.url);
export const modules = dirname(dirname(resolve("uplot/package.json")));

export async function bundle(entry, options = {}) {
  const { outputFiles } = await esbuild.build({
    entryPoints: [join(web, entry)],
    nodePaths: [modules],
    bundle: true,
    minify: true,
    write: false,
    format: "esm",
    target: ["chrome103", "firefox113", "safari16.4"],
    legalComments: "none",
    logLevel: "warning",
    plugins: [style_text],
    ...options,
  });
  return outputFiles[0].text;
}

export const gzipped = (text) => gzipSync(text, { level: 9 }).length;
