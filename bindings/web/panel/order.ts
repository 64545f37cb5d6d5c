// Which lines are shown, and in which order.
import type { Line } from "./source.ts";

export type SortKey = "trouble" | "line" | "count" | "bytes";

// Worst first: what grows, what leaks, what grew and stopped, what merely lives.
export function trouble(line: Line): number {
  if (line.growth && line.growth.stopped_ms === null) return line.leak ? 4 : 3;
  if (line.leak) return 2;
  return line.growth ? 1 : 0;
}

const by_line = (a: Line, b: Line) =>
  a.site.file.localeCompare(b.site.file) ||
  a.site.line - b.site.line ||
  a.site.column - b.site.column;
const by_size = (a: Line, b: Line) => b.bytes - a.bytes || b.count - a.count;

const orders: Record<SortKey, (a: Line, b: Line) => number> = {
  trouble: (a, b) => trouble(b) - trouble(a) || by_size(a, b),
  line: by_line,
  count: (a, b) => b.count - a.count || by_size(a, b),
  bytes: by_size,
};

export function sorted(lines: Line[], key: SortKey, reversed: boolean): Line[] {
  const compare = orders[key];
  const sign = reversed ? -1 : 1;
  return [...lines].sort((a, b) => sign * compare(a, b) || (a.key < b.key ? -1 : 1));
}

// Every word of the filter is in what one sees of the line, or in its file.
export function matching(lines: Line[], filter: string): Line[] {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return lines;
  return lines.filter((line) => {
    const state = line.growth ? "grows" : line.leak ? "leak" : "";
    const text = [
      line.site.text,
      line.site.file,
      line.op,
      line.what,
      line.owner,
      state,
      line.leak ? "leak" : "",
    ]
      .join(" ")
      .toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

// Those that were there before keep their places; the others follow.
export function in_place<T>(
  items: T[],
  before: Map<string, number>,
  key: (item: T) => string,
): T[] {
  const place = (item: T) => before.get(key(item)) ?? Infinity;
  return items
    .map((item, i) => ({ item, i, at: place(item) }))
    .sort((a, b) => (a.at === b.at ? a.i - b.i : a.at - b.at))
    .map(({ item }) => item);
}
