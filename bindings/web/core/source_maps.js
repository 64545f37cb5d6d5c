'use strict';
// The source maps of scripts: which original line a position of generated code is.

const {TraceMap, decodedMappings, originalPositionFor, sourceContentFor} = require('@jridgewell/trace-mapping');

// The last comment of that form counts; `//# sourceMappingURL=` in a string of the code does not end
// the file.
const kComment = /(?:^|[\n\r])[ \t]*(?:\/\/|\/\*)[#@][ \t]*sourceMappingURL=([^\s'"*]+)[ \t]*(?:\*\/)?/g;

// The URL that a script names as its map's; null if it names none.
function urlIn(text) {
  let url = null;
  for (const match of text.matchAll(kComment)) url = match[1];
  return url;
}

// The map in a data: URL, as text; null if it is none.
function textOfData(url) {
  const match = url.match(/^data:application\/json[^,]*?(;base64)?,([^]*)$/);
  if (match === null) return null;
  if (match[1] === undefined) return decodeURIComponent(match[2]);
  const bytes = Uint8Array.from(atob(match[2]), c => c.charCodeAt(0));
  return new TextDecoder().decode(bytes);
}

// A name in a map, without what bundlers put before it: webpack://name/./src/a.js is src/a.js.
function sourceName(name) {
  const bare = name.replace(/^webpack(-internal)?:\/\/(\/|[^/]*\/)?(\.\/)?/, '').replace(/\?[\w-]*$/, '');
  return bare === '' ? name : bare;
}

class SourceMap {
  #map;

  constructor(text, url) {
    this.#map = new TraceMap(text, url);
    decodedMappings(this.#map); // or it would be later that it throws
  }

  // {source, line, column, name, isNamed} with columns from 1; null where the map says nothing.
  // isNamed(name): whether the original has that word.
  at(line, column) {
    const found = originalPositionFor(this.#map, {line, column: Math.max(0, column - 1)});
    if (found.source === null) return null;
    return {source: sourceName(found.source), line: found.line, column: found.column + 1, original: found.source};
  }

  mentions(source, word) {
    const text = sourceContentFor(this.#map, source);
    return text !== null && new RegExp(`(^|[^\\w$])${word.replace(/[$()*+.?[\\\]^{|}]/g, '\\$&')}([^\\w$]|$)`).test(text);
  }
}

// Throws where the text is no map: a server's page that says what it has not, say.
function parse({text, url}) {
  return new SourceMap(text, url);
}

module.exports = {parse, sourceName, textOfData, urlIn};
