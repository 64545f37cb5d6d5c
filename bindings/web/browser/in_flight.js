// Activities that go on after their caller has left, where nothing travels with promises: what
// happens with none of the user's frames on the stack is the one's that is in flight. Where several
// are, it is one of theirs, and nobody says which.
import core from '../core/index.js';

const {activities, looks} = core;
const inFlight = new Set();
let starting = null; // the one whose synchronous part runs

let several = null; // stands for those in flight, until they change

function change(f) {
  f();
  several = null;
}

function unattended() {
  if (inFlight.size === 1) return inFlight.values().next().value;
  if (several === null) several = activities.oneOf([...inFlight]);
  return several;
}

export const inFlightActivities = {
  current() {
    if (starting !== null) return starting;
    if (inFlight.size === 0) return null;
    const {isAsync, site} = looks.lookFar(null).seen(true);
    return site === null || isAsync ? unattended() : null;
  },

  run(activity, f) {
    const previous = starting;
    starting = activity;
    let result;
    try {
      result = f();
    } finally {
      starting = previous;
    }
    change(() => inFlight.add(activity));
    const end = () => change(() => inFlight.delete(activity));
    result.then(end, end);
    return result;
  },
};
