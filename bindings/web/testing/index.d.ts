/** One line's tensors, as `leaks()` gives them. */
export interface LeakGroup {
  /** "step.test.ts:12" */
  readonly site: string;
  readonly op: string;
  readonly layer: string;
  readonly owner: ''|'tape'|'variable';
  readonly what: string;
  readonly count: number;
  readonly bytes: number;
  readonly ids: readonly number[];
}

export interface NoLeaksOptions {
  /** TensorFlow.js, where it is not found by itself: in Jest, whose tests have modules of their own. */
  tf?: {engine(): object};
  /** So many tensors may be left. Default: 0. */
  allow?: number;
  /** Variables may be left: those of a model that the function makes and caches. Default: false. */
  variables?: boolean;
  /** Groups for which it gives true are passed over. */
  ignore?: (group: LeakGroup) => boolean;
  /**
   * Whether tensors in what the function returns, and the weights of a model that it returns, may be
   * left. Default: 'leak', they may not.
   */
  returned?: 'ok'|'leak';
}

/**
 * Runs `f`, which may be async, and gives what it gives. Throws, or rejects, if tensors that were born
 * meanwhile are alive at its end, with the lines that made them. An error of `f` goes on, and names
 * what was left.
 */
export function expectNoLeaks<T>(f: () => T, options?: NoLeaksOptions): T;

/** The matcher's type, for the runner's own interface: `interface Matchers<T> extends LeakMatchers {}`. */
export interface LeakMatchers {
  /** Of a function; of an async one it gives a promise, which is to be awaited. */
  toLeakNoTensors(options?: NoLeaksOptions): void|Promise<void>;
}

/** For Jest and Vitest: `expect.extend(matchers)`. */
export const matchers: {
  toLeakNoTensors(f: unknown, options?: NoLeaksOptions):
      {pass: boolean; message(): string}|Promise<{pass: boolean; message(): string}>;
};

/** For Jasmine: `jasmine.addAsyncMatchers(jasmineMatchers)`, then `await expectAsync(f).toLeakNoTensors()`. */
export const jasmineMatchers: {
  toLeakNoTensors(): {
    compare(f: unknown, options?: NoLeaksOptions):
        Promise<{pass: boolean; message: string}>;
  };
};
