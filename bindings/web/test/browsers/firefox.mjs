// Debian's firefox-esr, over WebDriver BiDi. It has no WebGL here.
import {existsSync} from 'node:fs';
import puppeteer from 'puppeteer-core';

export const backends = ['cpu', 'wasm'];

export async function launch() {
  const executablePath = [process.env.FIREFOX, '/usr/bin/firefox-esr'].find(file => file && existsSync(file));
  if (!executablePath) throw new Error('no firefox: install Debian\'s firefox-esr, or set FIREFOX to its path');
  const browser = await puppeteer.launch({browser: 'firefox', executablePath, headless: true});
  return {
    async open(url) {
      const page = await browser.newPage();
      const problems = [];
      page.on('console', message => {
        if (message.type() === 'error') problems.push(message.text());
      });
      page.on('pageerror', error => problems.push(error.stack || error.message));
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
