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
