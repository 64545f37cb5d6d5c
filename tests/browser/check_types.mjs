// Type-checks the page's sources. Its packages lie in build folders, so the compiler is told where.
//
//   node check_types.mjs <web/report> <folder of the tests' packages> <folder of the page's packages>
import { createRequire } from "node:module";
import { join } from "node:path";

const [source, tests, page] = process.argv.slice(2);
const ts = createRequire(join(tests, "package.json"))("typescript");

const read = ts.readConfigFile(join(source, "tsconfig.json"), ts.sys.readFile);
const config = ts.parseJsonConfigFileContent(read.config, ts.sys, source);
const types = (name) => [join(tests, "node_modules", "@types", name)];
const program = ts.createProgram(config.fileNames, {
  ...config.options,
  types: [],
  paths: {
    uplot: [join(page, "node_modules", "uplot")],
    "d3-array": types("d3-array"),
    "d3-hierarchy": types("d3-hierarchy"),
  },
});
const found = [...config.errors, ...ts.getPreEmitDiagnostics(program)];
process.stdout.write(
  ts.formatDiagnostics(found, {
    getCanonicalFileName: (name) => name,
    getCurrentDirectory: () => source,
    getNewLine: () => "\n",
  }),
);
process.exit(found.length ? 1 : 0);
