// Compiled by node_types_test.js: what a program in TypeScript writes, and what it is told not to.
import * as muster from 'muster';

export async function program(signal: AbortSignal): Promise<number> {
  await using arbiter = await muster.open('memory:', {caFile: 'ca.crt'});
  await using leadership = await arbiter.stand('report', {id: 'a', value: 'h1:80', lease: 6000});
  await using term = await leadership.wait({signal, timeout: 1000});
  const seen: muster.Leader | null = leadership.leader;
  await using lock = await arbiter.lock('m', {permits: 2, ttl: 2000});
  const token: number = await muster.lead(arbiter, 'report', (each) => each.token, {signal});
  await muster.lock('file:///srv/app', 'm', async (each: muster.Term) => each.valid, {shared: true});
  using cluster = new muster.Cluster('h1:9000,h2:9000', {caFile: 'a', certFile: 'b', keyFile: 'c'});
  await using membership = await cluster.register({id: 'n', address: 'h', port: 1, weight: 2, service: 'report', tags: {zone: 'a'}}, {timeout: 1000});
  await using directory = await cluster.follow({service: 'report', signal: membership.signal});
  const owner: muster.Node | undefined = directory.owners('key', 1)[0];
  // @ts-expect-error: a node has a port.
  await cluster.register({id: 'n', address: owner?.address ?? ''});
  try {
    await arbiter.probe();
  } catch (error) {
    if (error instanceof muster.MusterError && error.code === 'UNSUPPORTED') return lock.left;
  }
  // @ts-expect-error: times are numbers.
  await leadership.wait({timeout: '1s'});
  // @ts-expect-error: there is no such code.
  if (new muster.MusterError('TIMEOUT', '').code === 'TIMED_OUT') return 0;
  // @ts-expect-error: a term comes from wait().
  new muster.Term();
  return term.token + token + (seen?.token ?? 0);
}
