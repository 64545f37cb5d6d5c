// Type-checks the panel, the demo and the fixtures. Their packages lie elsewhere.
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { modules, web } from "./build.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const source = join(web, "panel");

const read = ts.readConfigFile(join(source, "tsconfig.json"), ts.sys.readFile);
const config = ts.parseJsonConfigFileContent(read.config, ts.sys, source);
const programs = [
  join(here, "fixture", "page.ts"),
  join(web, "demo", "demo.ts"),
  join(web, "demo", "panel.ts"),
];
const program = ts.createProgram([...config.fileNames, ...programs], {
  ...config.options,
  types: [],
  paths: {
    uplot: [join(modules, "uplot")],
    "d3-array": [join(modules, "@types", "d3-array")],
    "tenure-explain": [join(web, "index.d.ts")],
  },
});
const found = [...config.errors, ...ts.getPreEmitDiagnostics(program)];
process.stdout.write(
  ts.formatDiagnostics(found, {
    getCanonicalFileName: (name) => name,
    getCurrentDirectory: () => web,
    getNewLine: () => "\n",
  }),
);
process.exit(found.length ? 1 : 0);
