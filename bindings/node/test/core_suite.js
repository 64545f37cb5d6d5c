// Runs tfjs-core's own test suite on a backend:
//
//   node test/core_suite.js [--backend=tenure] [--filter=substring] [--json=file] [--verbose]
//
// The suite ships inside the npm package as ES modules; esbuild makes one program of them.
'use strict';

const fs = require('fs');
const os = require('os');
const path = require('path');
const esbuild = require('esbuild');
const Jasmine = require('jasmine');

const root = path.dirname(__dirname);
const options = Object.fromEntries(
  process.argv.slice(2).map((argument) => {
    const [name, value] = argument.replace(/^--/, '').split('=');
    return [name, value === undefined ? true : value];
  }),
);
const backend = options.backend || 'tenure';
const excluded = backend === 'tenure' ? require('./core_suite_excluded.json') : [];

// The suite registers its specs while it loads, and needs to know the backend before that.
function bundle(to) {
  const load =
    backend === 'cpu'
      ? `import '@tensorflow/tfjs-backend-cpu';`
      : `import {createRequire} from 'module';
       createRequire(${JSON.stringify(path.join(root, 'index.js'))})('./index.js');`;
  const modules = {
    backend: load,
    envs: `import {setTestEnvs} from '@tensorflow/tfjs-core/dist/jasmine_util';
           setTestEnvs([{name: '${backend}', backendName: '${backend}', isDataSync: true}]);`,
    suite: `import '@tensorflow/tfjs-core/dist/index.js';
            import '@tensorflow/tfjs-core/dist/public/chained_ops/register_all_chained_ops';
            import '@tensorflow/tfjs-core/dist/register_all_gradients';
            import 'suite:backend';
            import 'suite:envs';
            import '@tensorflow/tfjs-core/dist/tests.js';`,
  };
  return esbuild.build({
    entryPoints: ['suite:suite'],
    outfile: to,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    mainFields: ['module', 'main'],
    external: ['jasmine-core', 'jasmine-core/*'],
    ignoreAnnotations: true, // tests have side effects, whatever the package says
    logLevel: 'error',
    nodePaths: [path.join(root, 'node_modules')],
    plugins: [
      {
        name: 'suite',
        setup(build) {
          build.onResolve({filter: /^suite:/}, ({path: name}) => ({
            path: name.slice('suite:'.length),
            namespace: 'suite',
          }));
          build.onLoad({filter: /.*/, namespace: 'suite'}, ({path: name}) => ({
            contents: modules[name],
            resolveDir: root,
          }));
        },
      },
    ],
  });
}

class Reporter {
  constructor() {
    this.specs = 0;
    this.failed = 0;
    this.failures = [];
  }
  specDone(spec) {
    if (spec.status === 'excluded') return;
    this.specs += 1;
    if (spec.status !== 'failed') return;
    this.failed += 1;
    this.failures.push(spec.fullName);
    if (this.failures.length <= 40 || options.verbose) {
      const reasons = spec.failedExpectations
        .slice(0, 2)
        .map(({message, stack}) => message + (options.verbose ? '\n' + stack : ''));
      console.log(`FAILED ${spec.fullName}\n    ${reasons.join('\n    ')}`);
    }
  }
}

async function main() {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tenure-suite-'));
  try {
    const program = path.join(folder, 'suite.js');
    await bundle(program);
    // The bundle lies outside: let it find what it leaves to run time.
    fs.symlinkSync(path.join(root, 'node_modules'), path.join(folder, 'node_modules'));

    const jasmine = new Jasmine({projectBaseDir: root});
    jasmine.loadConfig({random: false, spec_dir: '.', spec_files: []});
    jasmine.exitOnCompletion = false;
    const reporter = new Reporter();
    jasmine.clearReporters();
    jasmine.addReporter(reporter);
    jasmine.env.configure({
      random: false,
      specFilter: (spec) => {
        const name = spec.getFullName();
        return (
          (!options.filter || name.includes(options.filter)) &&
          !excluded.some((entry) => entry.name === name)
        );
      },
    });
    jasmine.specFiles = [program];
    await jasmine.execute();

    const left = options.filter ? 0 : excluded.length;
    const specs = reporter.specs + left;
    const {failed, failures} = reporter;
    console.log(`${backend}: ${specs} specs, ${failed} failed, ${left} excluded`);
    if (options.json) {
      const result = {backend, specs, failed, excluded: left, failures};
      fs.mkdirSync(path.dirname(options.json), {recursive: true});
      fs.writeFileSync(options.json, JSON.stringify(result, null, 1) + '\n');
    }
    process.exitCode = failed > 0 || specs === 0 ? 1 : 0;
  } finally {
    fs.rmSync(folder, {recursive: true});
  }
}

main();
