'use strict';
// Methods put in the place of others, and taken away again in reverse order.

const undo = [];

// make(original) gives the method that replaces object[name].
function patch(object, name, make) {
  const own = Object.prototype.hasOwnProperty.call(object, name);
  const original = object[name];
  const replacement = make(original);
  Object.defineProperty(replacement, 'name', {value: original.name || name});
  object[name] = replacement;
  undo.push(() => {
    if (object[name] !== replacement) return; // someone patched it after us: leave theirs
    if (own) object[name] = original;
    else delete object[name];
  });
}

function onUndo(f) {
  undo.push(f);
}

function unpatch() {
  while (undo.length > 0) undo.pop()();
}

module.exports = {onUndo, patch, unpatch};
