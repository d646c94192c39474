'use strict';

/** Why something failed, by the numbers of muster/c.h. */
const CODES = ['OK', 'NOT_FOUND', 'UNCHANGED', 'CONFLICT', 'AMBIGUOUS', 'THROTTLED', 'UNAVAILABLE', 'DENIED',
  'UNSUPPORTED', 'INVALID', 'CORRUPT', 'CANCELLED', 'TIMEOUT'];

/** A failure: `code` says which kind, the message what to do about it. */
class MusterError extends Error {
  constructor(code, message) {
    super(message);
    this.name = 'MusterError';
    this.code = code;
  }
}

module.exports = {CODES, MusterError};
