// What the panel asks of the program it looks at, and nothing else: plain objects that can be
// cloned, so that the two may live in different windows. Times are milliseconds on the program's
// clock, the one of Sample.time_ms.

import type { Line, Source, Story } from "../index";

export type { Held, Line, Sample, Source, Story, TensorRow } from "../index";
export type Site = Line["site"];
export type Growth = NonNullable<Line["growth"]>;
export type StoryRow = Story["rows"][number];

export interface PageInfo {
  id: string;
  title: string;
  url: string;
}

// The programs that can be looked at from another window.
export interface Pages {
  readonly list: readonly PageInfo[];
  readonly chosen: PageInfo | null;
  // Of the chosen one: it answers, it is silent, it said good-bye; or none was chosen yet.
  readonly state: "none" | "here" | "silent" | "gone";
  choose(id: string): void;
  on_change(listener: () => void): () => void;
}

export interface RemoteSource extends Source {
  readonly pages: Pages;
  close(): void;
}
