// Recordings in memory, which become a file of the user's.
import core from '../core/index.js';

// {close(): Blob}
export function record() {
  const chunks = [];
  let file = null;
  const end = core.explain.beginRecording(() => ({
    write: bytes => { chunks.push(bytes.slice()); },
    close: () => { file = new Blob(chunks, {type: 'application/octet-stream'}); },
  }), __VERSION__);
  return {
    close() {
      end(false);
      return file;
    },
  };
}
