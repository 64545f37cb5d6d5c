// Why this package cannot be loaded here: `reason` is one of 'bundled', 'platform', 'system',
// 'files', 'tfjs'; `cause` is what was thrown before, if anything was.
'use strict';

class LoadError extends Error {
  constructor(reason, text, cause) {
    super(`tenure-tfjs: ${text}`, cause === undefined ? undefined : {cause});
    this.reason = reason;
  }
}
LoadError.prototype.name = 'LoadError';
LoadError.prototype.code = 'LoadError';

module.exports = {LoadError};
