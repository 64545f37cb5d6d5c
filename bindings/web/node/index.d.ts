/**
 * Tells the life of every tensor of a TensorFlow.js program in Node.js, on any backend.
 */
export {DisposedError, growth, leaks, mark, story} from '../core/told';
export type {Growth, LeakGroup, Leaks, Mark, Site} from '../core/told';

export interface ExplainOptions {
  /** Print what is alive at exit. Default: true. */
  summary?: boolean;
}

/**
 * Records the life of every tensor from now on, so that errors tell it. `explain(false)` stops that.
 */
export declare function explain(options?: ExplainOptions|false): void;
/** The same where TensorFlow.js is inside of the program's bundle. */
export declare function explain(
    tf: {engine: unknown; Tensor: unknown; Optimizer: unknown}, options?: ExplainOptions): void;

/** Records what happens for `tenure report`, until close() or the end of the program. */
export declare function record(path: string): {readonly path: string; close(): void};
