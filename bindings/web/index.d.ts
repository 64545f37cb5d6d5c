/**
 * Tells the life of every tensor of a TensorFlow.js program in the browser, on any backend.
 */
import type {HeldRow as Held} from './held/index.js';

/**
 * Records the life of every tensor from now on, so that errors tell it; `explain(false)` stops that.
 * `tf` is TensorFlow.js, or an array of its packages with tfjs-core among them; by default it is the
 * global `tf` of a script tag.
 */
export declare function explain(tf?: object|object[]|false): void;

export {DisposedError, growth, leaks, mark, story} from './core/told.js';
export type {Growth, LeakGroup, Leaks, Mark, Site} from './core/told.js';

/** Records what happens until close(), which gives the file for `tenure report`. */
export declare function record(): {close(): Blob};

/** What the backends hold, beside what `tf.memory()` says: numbers are bytes. */
export declare function held(): Held[];
export type {Held};

export interface PanelOptions {
  /** What opens and closes it; null for no key. */
  key?: string|null;
  /** Whether a small button stays when it is closed. */
  button?: boolean;
  open?: boolean;
  window_url?: string;
  name?: string;
}

/** The panel in the page, which is loaded when it is first opened. */
export declare const panel: {open(options?: PanelOptions): Promise<void>; close(): Promise<void>};

export interface Sample {
  /** On the program's clock, as all times. */
  time_ms: number;
  tensors: number;
  bytes: number;
  backend: string;
  held: Held[];
  frame: number;
}

export interface Line {
  key: string;
  site: {file: string; line: number; column: number; text: string};
  op: string;
  what: string;
  count: number;
  bytes: number;
  owner: string;
  growth: {per_frame?: number; since_ms: number; stopped_ms: number|null}|null;
  leak: boolean;
}

export interface Story {
  title: string;
  text: string;
  rows: Array<{label: string; place: string; event: string; rest: string}>;
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

/** What a panel asks: plain objects, so that it may be on another page. */
export interface Source {
  subscribe(onSample: (sample: Sample) => void): () => void;
  lines(since?: number): Promise<Line[]>;
  story(id: number): Promise<Story>;
  /** `since` is the number of a mark: only what was born after it. */
  tensors(lineKey: string, limit: number, since?: number): Promise<TensorRow[]>;
  mark(): Promise<number>;
  record(on: boolean): Promise<Blob|null>;
}
export declare function source(): Source;
