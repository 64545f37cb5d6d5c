// Frames of the page, as turns of what repeats: those in which the page's own animation callbacks run,
// and the first after a tensor was made, so that a page that rests is left to rest. TensorFlow.js has
// taken its requestAnimationFrame, for tf.nextFrame, before it could be replaced.
import core from '../core/index.js';

const {growth, lives: {observers}, patches} = core;

let frames = 0;
let last = -1;

function frame(now) {
  if (now === last) return;
  last = now;
  frames++;
  growth.turn();
}

export function watchFrames() {
  if (typeof globalThis.requestAnimationFrame !== 'function') return; // a worker
  let isAsked = false;
  patches.patch(globalThis, 'requestAnimationFrame', original => {
    const tick = now => {
      isAsked = false;
      frame(now);
    };
    observers.born = () => {
      if (!isAsked) original.call(globalThis, tick);
      isAsked = true;
    };
    return callback => original.call(globalThis, now => {
      frame(now);
      return callback(now);
    });
  });
  patches.onUndo(() => { observers.born = () => {}; });
}

// How many there have been.
export function frameNumber() {
  return frames;
}
