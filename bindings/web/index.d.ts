/**
 * Tells the life of every tensor of a TensorFlow.js program in the browser, on any backend.
 */
import type {Tensor} from '@tensorflow/tfjs-core';

/**
 * Records the life of every tensor from now on, so that errors tell it; `explain(false)` stops that.
 * `tf` is TensorFlow.js, or an array of its packages with tfjs-core among them; by default it is the
 * global `tf` of a script tag.
 */
export declare function explain(tf?: object|object[]|false): void;

/**
 * A tensor, layer, model or optimizer was used after its end; the message tells its life. What
 * nobody saw, because explain() was off, is told as unknown.
 */
export declare class DisposedError extends Error {
  /** What is known of the tensor; null when it was none. */
  readonly story: object|null;
  /** The line of use. */
  readonly site: Site|null;
}

/** A line of the program's own sources. */
export interface Site {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly function: string;
}

/** The life of a tensor so far, as text. */
export declare function story(tensor: Tensor): string;

/** A moment to compare with. */
export interface Mark {
  readonly serial: number;
}
export declare function mark(): Mark;

export interface LeakGroup {
  site: string;
  op: string;
  layer: string;
  owner: ''|'tape'|'variable';
  what: string;
  count: number;
  bytes: number;
  /** Of those that were not collected. */
  ids: number[];
}

export interface Leaks extends Array<LeakGroup> {
  readonly tensors: number;
  readonly bytes: number;
  /** The table. */
  toString(): string;
}

/** The tensors that are alive, born since the mark if there is one, by the line that made them. */
export declare function leaks(since?: Mark): Leaks;

export interface Growth {
  site: string;
  op: string;
  what: string;
  count: number;
  bytes: number;
  /** How many more there are after every frame in which an animation callback of the page ran. */
  per_frame: number;
  /** When it began and ended, in milliseconds of performance.now(); null: it goes on. */
  since_ms: number;
  stopped_ms: number|null;
}

/** The lines that hold more with every frame. */
export declare function growth(): Growth[];

/** Records what happens until close(), which gives the file for `tenure report`. */
export declare function record(): {close(): Blob};

/** Bytes that a backend has, beside what `tf.memory()` says. */
export interface Held {
  backend: string;
  name: string;
  live: number;
  pooled: number;
  total: number;
}
export declare function held(): Held[];

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
  tensors(lineKey: string, limit: number, since?: number): Promise<TensorRow[]>;
  mark(): Promise<number>;
  record(on: boolean): Promise<Blob|null>;
}
export declare function source(): Source;
