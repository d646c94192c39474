// Does work on exactly one of all processes that run this program.
//
// usage: node lead.js ADDRESS NAME
const {setTimeout: pause} = require('node:timers/promises');
const muster = require('muster');

const [address, name] = process.argv.slice(2);
const stop = new AbortController();
process.once('SIGTERM', () => stop.abort());

async function main() {
  while (!stop.signal.aborted) {
    await muster.lead(address, name, async (term) => {
      for (; term.valid && !term.signal.aborted; await pause(1000, null, {signal: term.signal}).catch(() => {})) {
        console.log(`working, token ${term.token}`);
      }
    }, {signal: stop.signal});
  }
}
main().catch((error) => stop.signal.aborted || (console.error(error.message), process.exit(1)));
