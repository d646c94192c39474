'use strict';
const os = require('node:os');

/** os.uptime() counts in steps of 10 ms, and is read a little later than the other clock. */
const STEP_MS = 20;

const difference = () => os.uptime() * 1000 - performance.now();
const atStart = difference();
let suspended = 0;

/** Milliseconds on a clock that goes on while the machine is suspended, as performance.now() does not. */
function now() {
  const more = difference() - atStart;
  if (more > suspended + STEP_MS) suspended = more;
  return performance.now() + suspended;
}

module.exports = {now};
