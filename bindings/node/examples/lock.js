// Does work that no two processes may do at once.
//
// usage: node lock.js ADDRESS NAME
const muster = require('muster');

const [address, name] = process.argv.slice(2);

async function main() {
  await muster.lock(address, name, async (lock) => {
    console.log(`holding ${name}, token ${lock.token}`);
  }, {timeout: 20000});
}
main().catch((error) => (console.error(error.message), process.exit(1)));
