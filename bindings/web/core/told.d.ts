/**
 * What a program is told of its tensors, wherever it runs.
 */
import type {Tensor} from '@tensorflow/tfjs-core';

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

/**
 * The tensors that are alive, born since the mark if there is one, by the line that made them. Those
 * that explain() did not see are one group, at "(unknown)".
 */
export declare function leaks(since?: Mark): Leaks;

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

/**
 * The lines that hold more with every turn of what repeats: in a page every frame in which one of its
 * animation callbacks ran, in Node every mark().
 */
export declare function growth(): Growth[];
