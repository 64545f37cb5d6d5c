// What the panel asks of the program it looks at, and nothing else: plain objects that can be
// cloned, so that the two may live in different windows. Times are milliseconds on the program's
// clock, the one of Sample.time_ms.

export interface Held {
  name: string;
  live: number; // bytes, as pooled and total
  pooled: number;
  total: number;
}

export interface Sample {
  time_ms: number;
  tensors: number;
  bytes: number;
  backend: string;
  held: Held[];
  frame: number;
}

export interface Site {
  file: string;
  line: number;
  column: number;
  text: string;
}

export interface Growth {
  per_frame?: number;
  since_ms: number;
  stopped_ms: number | null;
}

export interface Line {
  key: string;
  site: Site;
  op: string;
  what: string;
  count: number;
  bytes: number;
  owner: string;
  growth: Growth | null;
  leak: boolean;
}

export interface StoryRow {
  label: string;
  place: string;
  event: string;
  rest: string;
}

export interface Story {
  title: string;
  text: string;
  rows: StoryRow[];
  holders: string;
  remedy: string;
}

export interface TensorRow {
  id: number;
  dtype: string;
  shape: number[];
  bytes: number;
  born_ms: number;
  what: string;
}

// `since` is the number of a mark: only what was born after it.
export interface Source {
  subscribe(on_sample: (sample: Sample) => void): () => void;
  lines(since?: number): Promise<Line[]>;
  story(id: number): Promise<Story>;
  tensors(line_key: string, limit: number, since?: number): Promise<TensorRow[]>;
  mark(): Promise<number>;
  record(on: boolean): Promise<Blob | null>;
}

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
