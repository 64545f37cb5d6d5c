'use strict';
// Places in scripts, interned, and what they are to the user. A position is a place in the code as
// it runs; whether it is the user's, and which line of the original it is, the file's name tells or
// its source map. A map may come late: what was asked before is asked again then.

const {kLibrary, kMixed, kPackage, kRuntime, kUser, kindOfSource} = require('./kinds');
const {platform} = require('./platform');
const {parse, sourceName} = require('./source_maps');
const {kindInBundle} = require('./unmapped');

const kWide = 500; // columns: a longer line is a minifier's

// A line of the user's with a call on it. Interned, so that two are the same exactly if they are one.
class Site {
  #line;

  constructor(file, line, column, functionName, index, ofLine) {
    this.file = file;
    this.line = line;
    this.column = column;
    this.function = functionName;
    this.index = index;
    this.#line = ofLine;
  }

  // A tensor was born here. Where those of a line were born in several places, columns tell them
  // apart.
  bears() {
    this.#line.births.add(this.column);
  }

  toString() {
    const {births} = this.#line;
    const line = `${platform.shortPath(this.file)}:${this.line}`;
    const isOneOfMany = births.size > 1 && births.has(this.column);
    return isOneOfMany || this.column > kWide ? `${line}:${this.column}` : line;
  }
}

const files = new Map(); // name -> line -> {births, sites by column}
let sites = 0;

function siteAt(file, line, column, functionName) {
  let lines = files.get(file);
  if (lines === undefined) files.set(file, lines = new Map());
  let ofLine = lines.get(line);
  if (ofLine === undefined) lines.set(line, ofLine = {births: new Set(), sites: new Map()});
  let site = ofLine.sites.get(column);
  if (site === undefined) {
    site = new Site(file, line, column, functionName, sites++, ofLine);
    ofLine.sites.set(column, site);
  }
  return site;
}

// Counts the maps that have come: what was worked out before the last one may be wrong.
let epoch = 0;

// What goes wrong with it is as if there were none: the program has nothing to do with it.
function mapOf(file, isNeeded) {
  try {
    const found = platform.sourceMap(file, isNeeded);
    return found == null ? found : parse(found);
  } catch {
    return null;
  }
}

class Script {
  constructor(file) {
    this.file = file;
    this.path = platform.fullPath(file);
    this.kind = platform.kindOf(file);
    this.positions = new Map();
    this.map = undefined; // null: it has none
  }

  // The source map; undefined if it has not come yet.
  mapNow(isNeeded) {
    if (this.map === undefined) {
      this.map = mapOf(this.file, isNeeded);
      if (this.map !== undefined) epoch++;
    }
    return this.map;
  }
}

const scripts = new Map();

function scriptOf(file) {
  let script = scripts.get(file);
  if (script === undefined) scripts.set(file, script = new Script(file));
  return script;
}

class Position {
  constructor(script, line, column, functionName, isAsync, shown) {
    this.script = script;
    this.line = line;
    this.column = column;
    this.function = functionName;
    this.isAsync = isAsync; // waits for what happens
    this.shown = shown;     // where the program says it is, {file, line, column}; null: it does not
    this.epoch = -1; // in which what follows was worked out
    this.kindThen = kMixed;
    this.siteThen = null;
    this.sourceThen = '';
  }

  #look(isNeeded) {
    const {script} = this;
    if (script.kind !== kMixed) {
      this.kindThen = script.kind;
      this.#place(script.path, this.line, this.column, this.function);
      return;
    }
    const map = script.mapNow(isNeeded);
    const found = map == null ? null : map.at(this.line, this.column);
    // A map that says otherwise is of another text than what runs.
    if (this.shown !== null && (found === null || found.line !== this.shown.line)) {
      const {file, line, column} = this.shown;
      this.kindThen = kindOfSource(file);
      this.sourceThen = file;
      this.#place(platform.fullPath(sourceName(file)), line, column, this.function);
      return;
    }
    if (found === null) {
      this.kindThen = map === undefined ? kMixed : map === null ? this.#kindWithoutMap() : kRuntime;
      this.#place(script.path, this.line, this.column, this.function);
      return;
    }
    this.kindThen = kindOfSource(found.original);
    this.sourceThen = found.source;
    // A minifier's names are nobody's.
    const name = map.mentions(found.original, this.function) ? this.function : '';
    this.#place(platform.fullPath(found.source), found.line, found.column, name);
  }

  #kindWithoutMap() {
    const {file, path} = this.script;
    const kind = kindOfSource(path);
    return kind === kUser ? kindInBundle(file, this.line, this.column) : kind;
  }

  #place(file, line, column, name) {
    this.siteThen = this.kindThen === kUser || this.kindThen === kPackage ?
        siteAt(file, line, column, name) : null;
  }

  #refresh(isNeeded) {
    if (this.epoch === epoch && this.kindThen !== kMixed) return; // a map may have come
    this.#look(isNeeded);
    this.epoch = epoch;
  }

  // One of kinds.js; kMixed for as long as nobody can tell.
  kind(isNeeded = false) {
    this.#refresh(isNeeded);
    return this.kindThen;
  }

  // null for what is not the user's, nor a package's.
  site() {
    this.#refresh(false);
    return this.siteThen;
  }

  // The file it was written in, if a map tells; else ''.
  source() {
    this.#refresh(false);
    return this.sourceThen;
  }
}

// `key` is a number that is the position's own in its file.
function positionAt(file, key, line, column, functionName, isAsync, shown = null) {
  const {positions} = scriptOf(file);
  let position = positions.get(key);
  if (position === undefined) {
    position = new Position(scriptOf(file), line, column, functionName, isAsync, shown);
    positions.set(key, position);
  }
  return position;
}

function knownPosition(file, key) {
  const script = scripts.get(file);
  return script === undefined ? undefined : script.positions.get(key);
}

// Whose code a line of a stack's text is of.
function kindAt(file, line, column) {
  return positionAt(file, line * 1e6 + column + 0.5, line, column, '', false).kind(true);
}

module.exports = {
  kLibrary, kMixed, kPackage, kRuntime, kUser, kindAt, knownPosition, positionAt, sourceName,
  get epoch() { return epoch; },
};
