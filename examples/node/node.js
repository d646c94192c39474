// A node of a Muster topology in JavaScript: registers, sends heartbeats, follows the topology.
//
//   npm install && node node.js SERVER ID ADDRESS PORT
//
// It reads proto/muster/v1 as it is; MUSTER_PROTO says where when this file is not in its tree. It
// asks one server; servers forward requests to their leader. Stops cleanly on SIGTERM.
'use strict';
const path = require('path');
const { randomUUID } = require('crypto');
const grpc = require('@grpc/grpc-js');
const loader = require('@grpc/proto-loader');

const HEARTBEAT_MS = 10000; // As often as servers expect by default; their limits allow 10 a minute.
const [server, id, address, port] = process.argv.slice(2);
if (!port) {
  console.error('usage: node node.js SERVER ID ADDRESS PORT');
  process.exit(64);
}

const root = process.env.MUSTER_PROTO || path.join(__dirname, '..', '..', 'proto');
const definition = loader.loadSync('muster/v1/coordinator.proto', {
  keepCase: true, longs: String, enums: String, defaults: true, oneofs: true, includeDirs: [root],
});
const { CoordinatorService } = grpc.loadPackageDefinition(definition).muster.v1;
const client = new CoordinatorService(server, grpc.credentials.createInsecure());
const generation = randomUUID();
let version = '0';
let stopping = false;

function call(method, request) {
  return new Promise((resolve, reject) => {
    const deadline = Date.now() + 10000;
    client[method](request, { deadline }, (error, answer) => (error ? reject(error) : resolve(answer)));
  });
}

// Whether a server refused. If not, the network failed, and a write may have happened.
function answered(error) {
  return Boolean(error.metadata && error.metadata.get('muster-server').length);
}

// Repeats a request that does no harm when it is done twice, until a server has said yes or no.
// `done`: what a server answers when an attempt before was done after all.
async function settle(method, request, done = []) {
  const limit = Date.now() + 60000;
  for (let doubtful = false; ; ) {
    try {
      return await call(method, request);
    } catch (error) {
      if (doubtful && done.includes(error.code)) return null;
      doubtful = doubtful || !answered(error);
      const passing = !answered(error) || error.code === grpc.status.UNAVAILABLE;
      if (!passing || Date.now() > limit) throw error;
      await new Promise((resolve) => { setTimeout(resolve, 500); });
    }
  }
}

// Prints every change, and goes on where it stood when a stream breaks.
function follow() {
  const stream = client.WatchTopology({ since_version: version });
  let over = false;
  const again = () => {
    if (over) return;
    over = true;
    stream.cancel();
    if (!stopping) setTimeout(follow, 1000);
  };
  stream.on('data', (update) => {
    if (over) return;
    const kind = update.update;
    if (kind === 'full_sync') {
      version = update.version;
    } else if (kind !== 'keepalive' && kind !== 'lagged') {
      if (update.previous_version !== version) {
        version = '0'; // A gap: the next stream begins with everything.
        again();
        return;
      }
      version = update.version;
    }
    const node = kind && kind.startsWith('node_') ? update[kind] : null;
    console.log(kind, version, node ? node.id : '', node ? node.state.replace('NODE_STATE_', '') : '');
  });
  stream.on('error', again);
  stream.on('end', again);
}

async function beat() {
  if (stopping) return;
  try {
    await call('Heartbeat', {
      node_id: id, generation_id: generation, reported_state: 'NODE_STATE_ACTIVE',
    });
  } catch (error) {
    // Another process has this node's place, or its work has moved: it must not go on.
    if ([grpc.status.FAILED_PRECONDITION, grpc.status.NOT_FOUND].includes(error.code)) {
      console.error(`stopped: ${error.details}`);
      process.exit(1);
    }
    console.log('heartbeat failed:', grpc.status[error.code]); // The next one makes up for it.
  }
  setTimeout(beat, HEARTBEAT_MS);
}

async function stop() {
  if (stopping) return;
  stopping = true;
  await settle('DeregisterNode', { node_id: id, generation_id: generation },
    [grpc.status.NOT_FOUND]);
  console.log('deregistered');
  process.exit(0);
}

async function main() {
  const node = {
    id, address, port: Number(port), type: 'NODE_TYPE_OBJECT', generation_id: generation,
  };
  const answer = await settle('RegisterNode', { node });
  console.log('registered', answer.topology_version);
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
  follow();
  beat();
}

main().catch((error) => {
  console.error(error.details || error.message);
  process.exit(1);
});
