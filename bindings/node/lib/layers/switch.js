'use strict';

let on = true;

// Whether what this backend can do as a whole runs so (it does, until told otherwise).
function nativeLayers(enable) {
  if (enable !== undefined) {
    if (typeof enable !== 'boolean') {
      throw new TypeError(`nativeLayers: expected true or false, got: ${enable}`);
    }
    on = enable;
  }
  return on;
}

module.exports = {nativeLayers};
