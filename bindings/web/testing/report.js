'use strict';
// Which of the tensors that a function left behind count, and how that is told.

const kBytes = {float32: 4, int32: 4, bool: 1, complex64: 8};

// The tensors in what a function returned: itself, or in arrays, maps, sets and plain objects, or a
// model's weights.
function tensorsIn(value, seen = new Set(), found = new Map()) {
  if (value === null || typeof value !== 'object' || seen.has(value)) return found;
  seen.add(value);
  if (value.dataId !== undefined && typeof value.dispose === 'function') {
    found.set(value.id, value);
  } else if (typeof value.predict === 'function' && value.weights !== undefined) {
    const {weights} = value; // of a graph model tensors by name, of others variables of layers
    tensorsIn(Array.isArray(weights) ? weights.map(weight => weight.val) : weights, seen, found);
  } else if (Array.isArray(value) || value instanceof Set) {
    for (const item of value) tensorsIn(item, seen, found);
  } else if (value instanceof Map) {
    for (const entry of value) tensorsIn(entry, seen, found);
  } else if ([null, Object.prototype].includes(Object.getPrototypeOf(value))) {
    for (const item of Object.values(value)) tensorsIn(item, seen, found);
  }
  return found;
}

function sum(groups, key) {
  return groups.reduce((total, group) => total + group[key], 0);
}

// The group without the tensors of `others`; null if nothing is left.
function without(group, others) {
  const ids = group.ids.filter(id => !others.has(id));
  const gone = group.ids.length - ids.length;
  if (gone === 0) return group;
  if (gone === group.count) return null;
  const bytes = group.ids.reduce((total, id) => {
    const tensor = others.get(id);
    return tensor === undefined ? total : total + tensor.size * (kBytes[tensor.dtype] || 0);
  }, 0);
  return {...group, ids, count: group.count - gone, bytes: Math.max(0, group.bytes - bytes)};
}

// {groups, tensors, bytes, returned}: the groups of leaks() that count, and how many of their tensors
// the caller has got.
function judge(groups, {ignore, returned, variables}, result) {
  const got = tensorsIn(result);
  const left = groups
      .filter(group => !(variables && group.owner === 'variable'))
      .map(group => returned === 'ok' ? without(group, got) : group)
      .filter(group => group !== null && !ignore(group));
  return {
    groups: left, tensors: sum(left, 'count'), bytes: sum(left, 'bytes'),
    returned: left.reduce((total, group) => total + group.ids.filter(id => got.has(id)).length, 0),
  };
}

function plural(n, noun) {
  return `${n} ${noun}${n === 1 ? '' : 's'}`;
}

// 2 tensors (8 bytes) left:
//   1 at step.test.ts:12   4 bytes   add
function tell({bytes, groups, returned, tensors}) {
  const rows = groups.map(group =>
      [`${group.count} at ${group.site}`, plural(group.bytes, 'byte'), group.what]);
  const wide = [0, 1].map(i => Math.max(...rows.map(row => row[i].length)));
  const table = rows.map(
      ([where, size, what]) => `  ${where.padEnd(wide[0])}   ${size.padStart(wide[1])}   ${what}`.trimEnd());
  const hint = returned === 0 ? '' : `\n\n  ${returned === tensors ? (tensors === 1 ? 'It was' : 'All were') :
      `${returned} of them ${returned === 1 ? 'was' : 'were'}`} returned by the function: ` +
      'dispose of what expectNoLeaks gives inside of it, or let that pass with {returned: \'ok\'}.';
  return `${plural(tensors, 'tensor')} (${plural(bytes, 'byte')}) left:\n${table.join('\n')}${hint}`;
}

module.exports = {judge, tell};
