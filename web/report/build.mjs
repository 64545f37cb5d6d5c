// Bundles the page into one HTML shell, and the shell into a C++ source for the programs that
// write pages. Everything it makes, and the packages it uses, lie in the build folder.
//
//   node build.mjs <folder with node_modules> <shell.html> <shell.cpp>
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const [folder, htmlFile, cppFile] = process.argv.slice(2);
const here = dirname(fileURLToPath(import.meta.url));
const esbuild = createRequire(join(folder, "package.json"))("esbuild");

async function bundle(entry) {
  const result = await esbuild.build({
    entryPoints: [join(here, "src", entry)],
    nodePaths: [join(folder, "node_modules")],
    bundle: true,
    minify: true,
    write: false,
    format: "iife",
    target: ["chrome103", "firefox113", "safari16.4"],
    legalComments: "none",
    logLevel: "warning",
  });
  return result.outputFiles[0].text.trim();
}

const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

const script = await bundle("main.ts");
const style = await bundle("style.css");
if (/<\/(script|style)/i.test(script + style)) throw new Error("the bundle ends its own element");

// Only this script and these styles may run, whatever a recording holds, and nothing is fetched.
const policy = `default-src 'none'; script-src ${hash(script)}; style-src ${hash(style)}; img-src data:; base-uri 'none'; form-action 'none'`;
const shell = readFileSync(join(here, "src", "shell.html"), "utf8")
  .replace("{{policy}}", () => policy)
  .replace("{{style}}", () => style)
  .replace("{{script}}", () => script);
writeFileSync(htmlFile, shell);

const end = "tenure_shell";
if (shell.includes(`)${end}"`)) throw new Error("the bundle ends its own string literal");
writeFileSync(
  cppFile,
  `#include "report/page_shell.h"

namespace tenure::report {

std::string_view page_shell() {
  static constexpr std::string_view kShell = R"${end}(${shell})${end}";
  return kShell;
}

}  // namespace tenure::report
`,
);
