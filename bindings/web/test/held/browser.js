// Debian's chromium and a page with TensorFlow.js in it, served from this machine.

import {existsSync, readFileSync} from 'node:fs';
import {createServer} from 'node:http';
import {createRequire} from 'node:module';
import path from 'node:path';
import {fileURLToPath} from 'node:url';

import esbuild from 'esbuild';
import {chromium} from 'playwright-core';

const folder = path.dirname(fileURLToPath(import.meta.url));
const wasm = path.dirname(createRequire(import.meta.url).resolve('@tensorflow/tfjs-backend-wasm/package.json'));

// Over cross-origin isolation, without which there are no threads in WebAssembly.
const kHeaders = {
  'Cross-Origin-Opener-Policy': 'same-origin', 'Cross-Origin-Embedder-Policy': 'require-corp',
};

async function serve() {
  const {outputFiles: [bundle]} = await esbuild.build({
    entryPoints: [path.join(folder, 'page.js')], bundle: true, format: 'iife', write: false,
    logLevel: 'error', nodePaths: [path.join(folder, 'node_modules')],
    define: {'process.env.NODE_ENV': '"production"'},
  });
  const answer = url => {
    if (url === '/') return ['text/html', '<!doctype html><meta charset="utf-8"><script src="/page.js"></script>'];
    if (url === '/page.js') return ['text/javascript', bundle.contents];
    const [, name] = url.match(/^\/wasm\/([\w-]+\.wasm)$/) || [];
    return name && ['application/wasm', readFileSync(path.join(wasm, 'dist', name))];
  };
  const server = createServer((request, response) => {
    const found = answer(request.url);
    if (!found) {
      response.writeHead(404).end();
      return;
    }
    response.writeHead(200, {'Content-Type': found[0], ...kHeaders}).end(found[1]);
  });
  await new Promise(resolve => server.listen(0, '127.0.0.1', resolve));
  return server;
}

// {open(), close()}; `args` are chromium's, beside those for rendering in software.
export async function start(args = []) {
  const executablePath = [process.env.CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser']
      .find(file => file && existsSync(file));
  if (!executablePath) throw new Error('no chromium: install Debian\'s, or set CHROMIUM to its path');
  const server = await serve();
  const browser = await chromium.launch({
    executablePath,
    // Chromium refuses its sandbox to root.
    args: ['--use-angle=swiftshader', '--enable-unsafe-swiftshader', ...args,
           ...(process.getuid?.() === 0 ? ['--no-sandbox'] : [])],
  });
  return {
    async open(script) {
      const page = await browser.newPage();
      const problems = [];
      page.on('pageerror', error => problems.push(error.stack || error.message));
      if (script) await page.addInitScript({path: path.join(folder, script)});
      await page.goto(`http://127.0.0.1:${server.address().port}/`);
      if (problems.length > 0) throw new Error(problems.join('\n'));
      return page;
    },
    async close() {
      await browser.close();
      server.close();
    },
  };
}
