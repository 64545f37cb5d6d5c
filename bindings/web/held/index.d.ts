/** The part of TensorFlow.js that is needed: `import * as tf from '@tensorflow/tfjs'`. */
export interface TensorFlow {
  engine(): object;
}

/** What a backend holds of one kind; numbers are bytes. */
export interface HeldRow {
  /** 'webgl', 'wasm', ... */
  readonly backend: string;
  readonly name: string;
  /** In use. */
  readonly live: number;
  /** Free, kept for the next tensor. */
  readonly pooled: number;
  /** All of it: live, pooled, and what the note says. */
  readonly total: number;
  /** How many textures, buffers, blocks or arrays these are. */
  readonly pieces?: {readonly live: number; readonly pooled?: number};
  readonly note?: string;
}

/** What a tensor holds: a texture, a buffer, a block of the heap, an array. */
export interface Piece {
  readonly backend: string;
  /** That of the row that counts it, or 'CPU copies', 'arrays not uploaded', which no row counts. */
  readonly name: string;
  readonly bytes: number;
  /** Why it is held, where that is not plain. */
  readonly note: string;
  /** How many have it, as the backend counts: tensors, and complex numbers of which it is a part. */
  readonly refs: number;
}

export interface Walk {
  /** Most bytes first; `data` are the data ids of the tensors that keep the piece. */
  readonly pieces: ReadonlyArray<Piece & {readonly data: ReadonlyArray<object>}>;
  /** What rows count as live and no known tensor keeps. */
  readonly unclaimed:
      ReadonlyArray<{readonly backend: string; readonly name: string; readonly bytes: number; readonly count: number}>;
  /** Every tensor was known, so that what is unclaimed was dropped, or is the backend's own. */
  readonly isWhole: boolean;
}

/** What the backends hold, beside what `tf.memory()` says. Looking changes nothing. */
export function held(tf?: TensorFlow): HeldRow[];

/** What a tensor, or the data id of one, holds. */
export function heldBy(tf: TensorFlow|undefined, tensor: object): Piece[];

/**
 * Every piece, and who keeps it. Known are the tensors that are variables or in open scopes, those
 * that `watch` has seen, and `more`.
 */
export function walk(tf?: TensorFlow, more?: Iterable<object>): Walk;

/**
 * From now on `walk` knows the tensors of the WebGL, WebGPU and WebAssembly backends, until the
 * function that this gives is called. Not those of the cpu backend: a weak reference keeps an array
 * until the task ends, and a loop that drops tensors without waiting would fill memory.
 */
export function watch(tf?: TensorFlow): () => void;
