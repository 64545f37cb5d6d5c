// The writer of recordings repeats the table of event kinds: held against the C++ one.
import assert from 'node:assert/strict';
import {readFile} from 'node:fs/promises';
import {createRequire} from 'node:module';
import {test} from 'node:test';

const {kTag} = createRequire(import.meta.url)('../core/trace_writer.js');

test('kinds have the numbers that src/memory/event_kinds.h gives them', async () => {
  const text = await readFile(new URL('../../../src/memory/event_kinds.h', import.meta.url), 'utf8');
  const structs = text.split(/^struct /m).slice(1);
  const names = new Map(structs.map(part => [part.match(/^\w+/)[0], part.match(/TENURE_EVENT\("([^"]+)"/)?.[1]]));
  const [, list] = text.match(/using Kinds =\s+std::tuple<([^;]*)>;/);
  const kinds = [...list.matchAll(/(\w+)<Form>/g)].map(match => names.get(match[1]));
  const camel = name => name.replace(/ (\w)/g, (_, letter) => letter.toUpperCase());
  assert.deepEqual(kTag, Object.fromEntries(kinds.map((name, i) => [camel(name), i + 1])));
});
