import {DisposedError, leaks, type Mark} from 'tenure-explain';

// What f's error tells; '' if there is none. Another error is no answer.
export async function told(f: () => unknown): Promise<string> {
  try {
    await f();
    return '';
  } catch (error) {
    if (error instanceof DisposedError) return error.message;
    throw error;
  }
}

export function leaked(since: Mark) {
  return leaks(since).map(({site, op, what, count}) => ({site, op, what, count}));
}
