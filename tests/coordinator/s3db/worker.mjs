// A worker of s3db.js 21.6 for the mixed fleet: its own GlobalCoordinatorService, unchanged.
//   node worker.mjs NODE_MODULES ENDPOINT BUCKET PREFIX NAMESPACE WORKER_ID CONFIG_JSON
// It prints what it believes as JSON lines, as worker.cc does, and ends at the end of its input.
// Where WORKER_ID begins with "gcs-" it takes part as a service, otherwise as a plugin of one: its
// elections prefer plugins, and Muster workers look like plugins to it.
import { connect } from './connect.mjs';

const [modules, endpoint, bucket, prefix, namespace, workerId, config] = process.argv.slice(2);
const database = await connect(modules, endpoint, bucket, prefix);
process.env.POD_NAME = workerId.replace(/^gcs-/, '');
const coordinator = await database.getGlobalCoordinator(namespace, { config: JSON.parse(config) });
if (!workerId.startsWith('gcs-')) {
  await coordinator.subscribePlugin('mixed', { workerId, onGlobalLeaderChange() {} });
}
await coordinator.start();

const print = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);
const now = () => Number(process.hrtime.bigint());
print({ hello: workerId, service: coordinator.workerId });
const look = setInterval(async () => {
  const from = now();
  const leader = (await coordinator.getLeader()) ?? '';
  const epoch = await coordinator.getEpoch();
  // Its beliefs are no part of the exclusion that Muster promises, and are not reported as such.
  print({ from, to: now(), leads: false, leader, epoch });
}, 50);

process.stdin.resume();
process.stdin.on('end', async () => {
  clearInterval(look);
  await coordinator.stop();
  process.exit(0);
});
