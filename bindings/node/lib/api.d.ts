import type {Tensor} from '@tensorflow/tfjs-core';

/** The name under which the backend is registered: `tf.setBackend(backend)`. */
export declare const backend: 'tenure';

/** Tenure's version. */
export declare const version: string;

export interface MemoryInfo {
  /** Native tensors alive in the process, and the blocks of memory behind them. */
  tensors: number;
  storages: number;
  liveBytes: number;
  /** The most `liveBytes` has been. */
  peakBytes: number;
  /** Free, kept for the next tensor. */
  pooledBytes: number;
  /** Rounding to sizes of blocks. */
  slackBytes: number;
  /** liveBytes + slackBytes + pooledBytes. */
  reservedBytes: number;
  /** Of this thread's tensors: the bytes that V8's collector knows of. */
  toldToV8Bytes: number;
}

/** What Tenure's ledger says; `tf.memory()` has it too, as `tenure`. */
export declare function memory(): MemoryInfo;

/** How many threads native kernels use; by default as many as there are cores. */
export declare function setThreads(count: number): void;

/**
 * Runs an op of Tenure's own by its name, such as `op('gelu', x, {approximate: true})` or
 * `op('maximum', [a, b])`: any of docs/ops.md that says what it takes. It has no gradient in
 * TensorFlow.js unless one is registered under that name.
 */
export declare function op(
    name: string, inputs: Tensor|Tensor[], attributes?: Attributes): Tensor|Tensor[];

export type Attributes = Record<string, number | boolean | string | number[]>;

/**
 * Whether recurrent layers run as one kernel instead of some ten per step, and Adam's update of a
 * variable as one instead of fourteen (they do unless switched off); with an argument, switches.
 */
export declare function nativeLayers(enable?: boolean): boolean;

/** Why the package cannot be loaded here: what `require` or `import` of it throws. */
export interface LoadError extends Error {
  readonly name: 'LoadError';
  readonly code: 'LoadError';
  readonly reason: 'bundled'|'platform'|'system'|'files'|'tfjs';
  /** What was thrown before, if anything was. */
  readonly cause?: unknown;
}

export * from './explain';
