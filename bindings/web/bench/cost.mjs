// What stories cost an op in chromium: the time of the same tiny ops on the cpu backend with
// explain() and without, each the best of many rounds that take turns in one page. No inspector is
// attached, as that makes every Error dearer: the page posts its figures.
//
//   node bench/cost.mjs
import {spawn} from 'node:child_process';
import {copyFile, mkdtemp, readFile, rm} from 'node:fs/promises';
import {createServer} from 'node:http';
import os from 'node:os';
import path from 'node:path';
import {fileURLToPath} from 'node:url';
import * as esbuild from 'esbuild';
import {makeProject} from '../test/project.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
const chromium = process.env.CHROMIUM || '/usr/bin/chromium';

const kPage = `<script>
  const post = text => fetch('/', {method: 'POST', body: text});
  onerror = message => post(message);
  onunhandledrejection = event => post(event.reason.stack);
</script><script type="module" src="/page.js"></script>`;

const project = await makeProject();
const page = path.join(project.folder, 'src', 'cost_page.js');
await copyFile(path.join(here, 'cost_page.js'), page);
await esbuild.build({
  absWorkingDir: project.folder, entryPoints: [page], outfile: path.join(project.folder, 'page.js'), bundle: true,
  minify: true, format: 'esm', sourcemap: true, preserveSymlinks: true, logLevel: 'error',
});
const folder = await mkdtemp(path.join(os.tmpdir(), 'tenure-cost-'));
let browser;
const server = createServer((request, response) => {
  if (request.method === 'POST') {
    let body = '';
    request.on('data', data => { body += data; });
    request.on('end', () => {
      response.end();
      console.log(body);
      browser.kill();
    });
  } else if (/^\/page\.js(\.map)?$/.test(request.url)) {
    readFile(path.join(project.folder, request.url))
        .then(text => response.writeHead(200, {'content-type': 'text/javascript'}).end(text));
  } else {
    response.writeHead(200, {'content-type': 'text/html'}).end(kPage);
  }
});
await new Promise(resolve => server.listen(0, '127.0.0.1', resolve));
browser = spawn(chromium, [
  '--headless=new', '--disable-gpu', ...(process.getuid() === 0 ? ['--no-sandbox'] : []),
  `--user-data-dir=${folder}`, `http://127.0.0.1:${server.address().port}/`,
], {stdio: 'ignore'});
await new Promise(resolve => browser.on('exit', resolve));
server.closeAllConnections();
server.close();
await rm(folder, {recursive: true, force: true, maxRetries: 5});
await project.remove();
