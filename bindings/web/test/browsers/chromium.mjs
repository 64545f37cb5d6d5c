// Debian's chromium, in which WebGL is software.
import {existsSync} from 'node:fs';
import {chromium} from 'playwright-core';

export const backends = ['cpu', 'wasm', 'webgl'];

export async function launch() {
  const executablePath = [process.env.CHROMIUM, '/usr/bin/chromium'].find(file => file && existsSync(file));
  if (!executablePath) throw new Error('no chromium: install Debian\'s, or set CHROMIUM to its path');
  const browser = await chromium.launch({
    executablePath,
    args: [
      ...(process.getuid() === 0 ? ['--no-sandbox'] : []), '--disable-dev-shm-usage',
      '--use-angle=swiftshader', '--enable-unsafe-swiftshader',
    ],
  });
  return {
    async open(url) {
      const page = await browser.newPage();
      const problems = [];
      page.on('console', message => {
        if (message.type() === 'error') problems.push(message.text());
      });
      page.on('pageerror', error => problems.push(error.stack));
      await page.goto(url);
      return {
        problems,
        evaluate: (f, ...args) => page.evaluate(`(${f})(...${JSON.stringify(args)})`),
        close: () => page.close(),
      };
    },
    close: () => browser.close(),
  };
}
