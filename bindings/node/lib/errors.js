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

/** What a server says by a gRPC status, by its number. */
const SAID = {3: 'INVALID', 5: 'NOT_FOUND', 6: 'CONFLICT', 7: 'DENIED', 8: 'THROTTLED', 9: 'CONFLICT', 10: 'CONFLICT',
  11: 'INVALID', 12: 'UNSUPPORTED', 14: 'UNAVAILABLE', 15: 'CORRUPT', 16: 'DENIED'};

/** The error of a call that ended with a status other than OK. Without `answered`, no server has spoken. */
function codeOf(status, {answered, leaderAddress, writes}) {
  if (answered && status === 9 && leaderAddress) return 'UNAVAILABLE';
  return (answered && SAID[status]) || (writes ? 'AMBIGUOUS' : 'UNAVAILABLE');
}

/** The error for the caller of a call by grpc-js that failed. */
function fromStatus(error, server, writes) {
  const said = (key) => error.metadata?.get(key)[0];
  const answered = said('muster-server') !== undefined;
  const leaderAddress = said('leader-address');
  const words = `${server}: ${error.details || error.message}` +
      (!answered && writes ? '; the change may have happened' : '');
  const made = new MusterError(codeOf(error.code, {answered, leaderAddress, writes}), words);
  return Object.assign(made, {status: error.code, answered, leaderAddress, replaced: said('node-replaced') === '1'});
}

module.exports = {CODES, MusterError, codeOf, fromStatus};
