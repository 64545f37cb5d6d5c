// Frames of the page, as turns of what repeats: those in which the page's own animation callbacks
// run, so that a page that rests is left to rest.
import core from '../core/index.js';

const {growth, patches} = core;

let frames = 0;
let last = -1;

export function watchFrames() {
  if (typeof globalThis.requestAnimationFrame !== 'function') return; // a worker
  patches.patch(globalThis, 'requestAnimationFrame', original => callback => original.call(globalThis, now => {
    if (now !== last) {
      last = now;
      frames++;
      growth.turn();
    }
    return callback(now);
  }));
}

// How many there have been.
export function frameNumber() {
  return frames;
}
