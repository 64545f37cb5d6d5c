// Source maps of a page's scripts: asked for when a script is first seen on a stack, and waited for
// when a story needs one that has not come.
import core from '../core/index.js';

const {sourceMaps} = core;
const fetched = new Map(); // script -> {text, url}, null, or undefined while it is on its way
const codes = new Map();   // script -> its text, of those without a map

// Where a script says its map is: {text, url} if inside of it, else a URL; null if nowhere.
function named(script, code) {
  const url = sourceMaps.urlIn(code);
  if (url === null) return null;
  try {
    const text = sourceMaps.textOfData(url);
    return text === null ? new URL(url, script).href : {text, url: script};
  } catch {
    return null;
  }
}

function keep(script, code, map) {
  fetched.set(script, map);
  if (map === null && code !== null) codes.set(script, code);
}

async function bring(script) {
  const get = async url => {
    const response = await fetch(url);
    return response.ok ? response.text() : null;
  };
  let map = null, code = null;
  try {
    code = await get(script);
    map = code === null ? null : named(script, code);
    if (typeof map === 'string') {
      const text = await get(map);
      map = text === null ? null : {text, url: map};
    }
  } catch {
    map = null; // of another origin, or gone
  }
  if (fetched.get(script) === undefined) keep(script, code, map);
}

// A story is thrown at once and cannot wait for a promise.
function getNow(url) {
  const request = new XMLHttpRequest();
  request.open('GET', url, false);
  request.overrideMimeType('text/plain; charset=utf-8');
  try {
    request.send();
  } catch {
    return null;
  }
  return request.status === 200 || (request.status === 0 && request.responseText !== '') ? request.responseText : null;
}

function bringNow(script) {
  const code = getNow(script);
  let map = code === null ? null : named(script, code);
  if (typeof map === 'string') {
    const text = getNow(map);
    map = text === null ? null : {text, url: map};
  }
  keep(script, code, map);
  return map;
}

// {text, url}; null if the script has none; undefined if it is on its way and not needed now.
export function mapOf(script, isNeeded) {
  if (!/^(https?|blob|file):/.test(script)) return null;
  const known = fetched.get(script);
  if (known !== undefined) return known;
  if (isNeeded && typeof XMLHttpRequest === 'function') return bringNow(script);
  if (!fetched.has(script)) {
    fetched.set(script, undefined);
    bring(script);
  }
  return isNeeded ? null : undefined;
}

// The text of a script without a map; null if it could not be had.
export function codeOf(script) {
  return codes.get(script) ?? null;
}
