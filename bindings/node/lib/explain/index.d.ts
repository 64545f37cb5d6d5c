import {Tensor} from '@tensorflow/tfjs-core';

/**
 * A tensor, layer, model or optimizer was used after its end; the message tells its life. What
 * nobody saw, because explain() was off, is told as unknown.
 */
export class DisposedError extends Error {
  /** What is known of the tensor; null when it was none. */
  readonly story: object|null;
  /** The line of use. */
  readonly site: {readonly file: string; readonly line: number; readonly function: string}|null;
}

export interface ExplainOptions {
  /** Print what is alive at exit. Default: true. */
  summary?: boolean;
}

/**
 * Records the life of every tensor from now on, on any backend, so that errors tell it.
 * `explain(false)` stops that.
 */
export function explain(options?: ExplainOptions|false): void;
/** The same where TensorFlow.js is inside of the program's bundle. */
export function explain(
    tf: {engine: unknown; Tensor: unknown; Optimizer: unknown}, options?: ExplainOptions): void;

/** The life of a tensor so far, as text. */
export function story(tensor: Tensor): string;

/** A moment to compare with. */
export interface Mark {
  readonly serial: number;
}
export function mark(): Mark;

export interface LeakGroup {
  site: string;
  op: string;
  layer: string;
  owner: ''|'tape'|'variable';
  what: string;
  count: number;
  bytes: number;
  /** Of those that V8 has not collected. */
  ids: number[];
}

export interface Leaks extends Array<LeakGroup> {
  readonly tensors: number;
  readonly bytes: number;
  /** The table. */
  toString(): string;
}

/**
 * The tensors that are alive, born since the mark if there is one, by the line that made them. Those
 * that explain() did not see are one group, at "(unknown)".
 */
export function leaks(since?: Mark): Leaks;

export interface Growth {
  site: string;
  op: string;
  what: string;
  count: number;
  bytes: number;
  /** How many more there are after every turn. */
  per_frame: number;
  /** When it began and ended, in milliseconds of performance.now(); null: it goes on. */
  since_ms: number;
  stopped_ms: number|null;
}

/** The lines that hold more with every mark(), which is a turn of what repeats. */
export function growth(): Growth[];

/** Records what happens for `tenure report`, until close() or the end of the program. */
export function record(path: string): {readonly path: string; close(): void};
