// Registers a node, and prints which nodes hold a key.
//
// usage: node nodes.js SERVERS ID PORT KEY
const muster = require('muster');

const [servers, id, port, key] = process.argv.slice(2);

async function main() {
  const cluster = new muster.Cluster(servers);
  const membership = await cluster.register({id, address: '127.0.0.1', port: Number(port)});
  const directory = await cluster.follow();
  for (const owner of directory.owners(key)) console.log(owner.id, `${owner.address}:${owner.port}`);
  await directory.close();
  await membership.close();
  cluster.close();
}
main().catch((error) => (console.error(error.message), process.exit(1)));
