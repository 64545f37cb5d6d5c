// What can be told without a browser: bounds, orders, and the size of the bundle.
import assert from "node:assert/strict";
import { test } from "node:test";
import { bundle, gzipped } from "./build.mjs";

const load = async (entry) =>
  import(`data:text/javascript,${encodeURIComponent(await bundle(entry))}`);
const sample = (time_ms, bytes) => ({
  time_ms,
  bytes,
  tensors: 1,
  backend: "cpu",
  frame: 0,
  held: [{ name: "heap", live: 1, pooled: 1, total: 2 }],
});

test("the panel is at most 45 KB gzip", async (t) => {
  const size = gzipped(await bundle("panel/open_panel.ts"));
  t.diagnostic(`${size} bytes`);
  assert.ok(size <= 45 * 1024, `${size} bytes`);
});

test("samples are bounded, and peaks stay", async () => {
  const { History } = await load("panel/history.ts");
  const history = new History();
  for (let i = 0; i < 100_000; ++i) history.push(sample(i, i === 77 ? 1e9 : 10));
  const [times, , bytes, held] = history.columns(Infinity, ["heap"]);
  assert.ok(times.length <= 2048, String(times.length));
  assert.ok(times.every((time, i) => i === 0 || time > times[i - 1]));
  assert.equal(bytes.filter((each) => each === 1e9).length, 1);
  assert.equal(held.at(-1), 2);
  assert.deepEqual(times.slice(-3), [99_997, 99_998, 99_999]);
  assert.equal(history.columns(99, [])[0].length, 100);
});

test("an interruption is a gap, a clock that begins anew is another history", async () => {
  const { History } = await load("panel/history.ts");
  const history = new History();
  history.interrupt();
  history.push(sample(10, 1));
  history.interrupt();
  history.interrupt();
  history.push(sample(20, 2));
  assert.deepEqual(history.columns(Infinity, [])[2], [1, null, 2]);
  history.push(sample(5, 3));
  assert.deepEqual(history.columns(Infinity, [])[2], [3]);
});

test("rows that were there keep their places, others follow", async () => {
  const { in_place } = await load("panel/order.ts");
  const before = new Map([
    ["a", 0],
    ["b", 1],
    ["c", 2],
  ]);
  assert.deepEqual(
    in_place(["d", "c", "e", "a"], before, (each) => each),
    ["a", "c", "d", "e"],
  );
});

test("a line that is new grows from nothing, one from before does not", async () => {
  const { Trends } = await load("panel/trends.ts");
  const trends = new Trends();
  trends.add([{ key: "a", count: 3 }]);
  trends.add([
    { key: "a", count: 3 },
    { key: "b", count: 1 },
  ]);
  assert.deepEqual(trends.of({ key: "a" }), [3, 3]);
  assert.deepEqual(trends.of({ key: "b" }), [0, 1]);
  for (let i = 0; i < 100; ++i) trends.add([{ key: "a", count: i }]);
  assert.equal(trends.of({ key: "a" }).length, 60);
});

test("growth is told with its rate, its time and its end", async () => {
  const { badge, growth_text } = await load("panel/words.ts");
  const growing = { per_frame: 2, since_ms: 1000, stopped_ms: null };
  assert.equal(growth_text(growing, 63_000), "Grows by 2 a frame, for 1 min 2 s so far.");
  assert.equal(badge({ growth: growing, leak: true }), "grows 2 a frame");
  const stopped = { since_ms: 0, stopped_ms: 4000 };
  assert.equal(growth_text(stopped, 9000), "Grew for 4 s, and stopped 5 s ago.");
  assert.equal(badge({ growth: stopped, leak: false }), "grew");
  assert.equal(badge({ growth: stopped, leak: true }), "leak");
  assert.equal(badge({ growth: null, leak: false }), "");
});
