'use strict';
// What the core needs of where it runs. Node and the browser each fill this in once, before anything
// is hooked; nothing else in this folder knows of a process, a file or a page.

const platform = {
  // Milliseconds of a clock that never goes back.
  now: () => Date.now(),

  // What a file's name tells of the code in it: kinds.js.
  kindOf: file => { throw new Error(`no platform: ${file}`); },

  // As the user would name a file.
  shortPath: file => file,

  // A file's name as it is kept: a path, or a URL.
  fullPath: file => file,

  // {text, url} of the source map of a script, null if it has none, undefined if it is not there
  // yet; `isNeeded` now: then it waits, if it can.
  sourceMap: () => null,

  // Of a script without one: its text, null if that cannot be had, and whether this package is in it,
  // and at a place of it.
  codeOf: () => null,
  hasOwnCode: () => false,
  isOwnCode: () => false,

  // Calls f soon, if the program goes on until then.
  soon: f => { setTimeout(f, 50); },

  // What travels with promises: {current(), run(activity, f)}.
  travelling: null,

  // Whether an error is one of the backend's own, with a `code`, a `problem` and a `remedy`.
  isBackendError: () => false,

  // What the program is called in a recording.
  program: () => '',
};

module.exports = {platform, setPlatform(parts) { Object.assign(platform, parts); }};
