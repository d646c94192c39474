// A worker of s3db.js to measure Muster beside: its own GlobalCoordinatorService, unchanged, with one
// plugin, since its elections prefer those.
//   node s3db_worker.mjs NODE_MODULES ENDPOINT BUCKET PREFIX NAMESPACE WORKER_ID CONFIG_JSON
// Prints a line of JSON when it learns that it leads, and its count of heartbeats for each line of
// its input. Stops cleanly at SIGTERM, and at once, like a crash, when its input ends.
import { createInterface } from 'node:readline';
import { connect } from '../tests/coordinator/s3db/connect.mjs';

const [modules, endpoint, bucket, prefix, namespace, workerId, config] = process.argv.slice(2);
const database = await connect(modules, endpoint, bucket, prefix);
process.env.POD_NAME = workerId;
const coordinator = await database.getGlobalCoordinator(namespace, { config: JSON.parse(config) });

const print = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);
await coordinator.subscribePlugin('measured', {
  workerId,
  // Its own word for "you lead" compares the wrong name; the event tells who was elected.
  onGlobalLeaderChange(_, { newLeader, epoch }) {
    if (newLeader === workerId) print({ event: 'term:began', epoch });
  },
});
// Kind to it: it has listeners of its own, which end the process before it has left the namespace.
process.removeAllListeners('SIGTERM');
process.on('SIGTERM', async () => {
  await coordinator.stop();
  process.exit(0);
});
createInterface({ input: process.stdin })
  .on('line', () => print({ event: 'count', heartbeats: coordinator.getMetrics().heartbeatCount }))
  .on('close', () => process.exit(0));
await coordinator.start();
