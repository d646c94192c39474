// Every kind of call, with @grpc/grpc-js. The steps are those of ../interop_test.py.
//
// usage: NODE_PATH=MODULES node client.js PROTO_DIRECTORY SERVER STANDBY [CA CERTIFICATE KEY]
'use strict';
const assert = require('assert');
const fs = require('fs');
const grpc = require('@grpc/grpc-js');
const loader = require('@grpc/proto-loader');

const [protos, server, standby, ...files] = process.argv.slice(2);
const tls = files.map((name) => fs.readFileSync(name));
const contract = grpc.loadPackageDefinition(loader.loadSync(
    ['muster/v1/coordinator.proto', 'muster/v1/store.proto', 'grpc/health/v1/health.proto',
      'grpc/reflection/v1alpha/reflection.proto'],
    {includeDirs: [protos], keepCase: true, longs: Number, enums: String, defaults: true, oneofs: true}));
const {CoordinatorService, StoreService} = contract.muster.v1;

const SECONDS = 10; // What a call may take that is to be answered.
const VALUE = Buffer.alloc(250 * 1024); // The store takes up to 256 KiB; 8 of these are almost 2 MB.
const GENERATION = '00000000-0000-4000-8000-00000000000';

function credentials(certificate = true) {
  if (tls.length === 0) return grpc.credentials.createInsecure();
  const [authority, chain, key] = tls;
  return certificate ? grpc.credentials.createSsl(authority, key, chain) : grpc.credentials.createSsl(authority);
}

const coordinator = new CoordinatorService(server, credentials());
// The clients below share one channel.
const shared = {channelOverride: coordinator.getChannel()};
const store = new StoreService(server, null, shared);
const health = new contract.grpc.health.v1.Health(server, null, shared);
const reflections = new contract.grpc.reflection.v1alpha.ServerReflection(server, null, shared);

const soon = (seconds = SECONDS) => ({deadline: Date.now() + seconds * 1000});
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** The answer to a unary call. */
function ask(client, method, request, {metadata = new grpc.Metadata(), options = soon()} = {}) {
  return new Promise((resolve, reject) => {
    client[method](request, metadata, options, (error, answer) => error ? reject(error) : resolve(answer));
  });
}

/** The messages that come on a stream, one by one or up to its end. */
class Stream {
  constructor(call) {
    this.call = call;
    this.messages = call[Symbol.asyncIterator]();
  }
  async next() {
    const {done, value} = await this.messages.next();
    assert(!done, 'the stream has ended');
    return value;
  }
  async all() {
    const seen = [];
    for await (const message of {[Symbol.asyncIterator]: () => this.messages}) seen.push(message);
    return seen;
  }
}

/** Ends what is no longer wanted; the error that it ends with then is no error. */
function leave(stream) {
  stream.call.on('error', () => {});
  stream.call.cancel();
}

/** The error that `act` ends with. */
async function refusal(act, code) {
  let error;
  try {
    await act();
  } catch (caught) {
    error = caught;
  }
  assert(error, 'the call was not refused');
  assert(code === undefined || error.code === code, `not ${grpc.status[code]}: ${error}`);
  return error;
}

const trailer = (error, key) => error.metadata.get(key)[0];

const node = (number) => ({id: `n${number}`, address: '10.0.0.1', port: 7000 + number,
  type: 'NODE_TYPE_OBJECT', generation_id: GENERATION + number});
const beats = (known) => ({heartbeats: [{node_id: 'n1', known_version: known, generation_id: GENERATION + 1}]});
const puts = (count) => ({puts: Array.from({length: count}, (_, n) => ({key: `large/${n}`, value: VALUE}))});

async function awaitSubscribers(count) {
  const limit = Date.now() + SECONDS * 1000;
  while ((await ask(coordinator, 'HealthCheck', {})).watch_subscribers !== count) {
    assert(Date.now() < limit, `there are never ${count} watches`);
    await pause(20);
  }
}

function putStream(client, batch) {
  const call = client.PutStream(soon());
  call.write(batch);
  call.end();
  return new Stream(call);
}

function callAnything(method) {
  return refusal(() => new Promise((resolve, reject) => {
    store.makeUnaryRequest(method, (b) => b, (b) => b, Buffer.alloc(0), soon(),
        (error, answer) => error ? reject(error) : resolve(answer));
  }), grpc.status.UNIMPLEMENTED);
}

const steps = {
  async unary() {
    const answer = await ask(coordinator, 'RegisterNode', {node: node(1)}, {options: {}});
    assert.strictEqual(answer.topology_version, 1);
    const seen = await ask(coordinator, 'GetTopology', {linearizable: true}, {options: {}});
    assert.deepStrictEqual(seen.object_nodes.map((each) => each.id), ['n1']);
  },
  async deadline_met() {
    await ask(coordinator, 'HealthCheck', {});
  },
  async server_stream() {
    const watch = new Stream(coordinator.WatchTopology({}, soon()));
    assert.strictEqual((await watch.next()).update, 'full_sync');
    await ask(coordinator, 'RegisterNode', {node: node(2)});
    const change = await watch.next();
    assert.strictEqual(change.update, 'node_added');
    assert.strictEqual(change.node_added.id, 'n2');
    leave(watch);
  },
  // Each message waits for the answer to the one before.
  async bidirectional_stream() {
    const call = coordinator.HeartbeatStream(soon());
    const stream = new Stream(call);
    for (let known = 0; known < 3; ++known) {
      call.write(beats(known));
      const answer = await stream.next();
      assert.strictEqual(answer.leader_id, 's1');
      assert.strictEqual(answer.refused.length, 0);
    }
    call.end();
    assert.deepStrictEqual(await stream.all(), []);
  },
  // Everything is sent and the request ended before an answer is read.
  async half_close() {
    const call = coordinator.HeartbeatStream(soon());
    for (let i = 0; i < 100; ++i) call.write(beats(0));
    call.end();
    assert.strictEqual((await new Stream(call).all()).length, 100);
  },
  async cancellation() {
    const watch = new Stream(coordinator.WatchTopology({}));
    await watch.next();
    await awaitSubscribers(1);
    watch.call.cancel();
    await refusal(() => watch.next(), grpc.status.CANCELLED);
    await awaitSubscribers(0);
  },
  async deadline_exceeded() {
    const watch = new Stream(coordinator.WatchTopology({}, soon(0.3)));
    await refusal(() => watch.all(), grpc.status.DEADLINE_EXCEEDED);
    await awaitSubscribers(0);
  },
  // About 6 KB, any byte in one of them; and the name of the request, which the server logs.
  async metadata() {
    const metadata = new grpc.Metadata();
    for (let i = 0; i < 45; ++i) metadata.set(`x-interop-${i}`, 'v'.repeat(60));
    metadata.set('x-interop-bin', Buffer.from(Array.from({length: 256}, (_, byte) => byte)));
    metadata.set('muster-request-id', 'interop-request');
    await ask(store, 'Put', {key: 'metadata'}, {metadata});
  },
  async metadata_over_limit() {
    const metadata = new grpc.Metadata();
    metadata.set('x-interop', 'v'.repeat(12000));
    const error = await refusal(() => ask(coordinator, 'HealthCheck', {}, {metadata}));
    await steps.deadline_met();
    return grpc.status[error.code];
  },
  async large_request() {
    const answers = await putStream(store, puts(8)).all();
    const codes = answers.flatMap((answer) => answer.outcomes.map((each) => each.code));
    assert.deepStrictEqual(codes, Array(8).fill(0));
  },
  async large_answer() {
    const seen = [];
    for (let page = {more: true, objects: [{key: ''}]}; page.more;) {
      const after = page.objects[page.objects.length - 1].key;
      page = await ask(store, 'List', {prefix: 'large/', after, with_values: true});
      seen.push(...page.objects);
    }
    assert.strictEqual(seen.length, 8);
    assert(seen.every((each) => VALUE.equals(each.value)));
  },
  async too_large_request() {
    await refusal(() => putStream(store, puts(9)).all(), grpc.status.RESOURCE_EXHAUSTED);
    await steps.deadline_met();
  },
  async compressed_request() {
    const zipped = new StoreService(server, credentials(), {'grpc.default_compression_algorithm': 2});
    const error = await refusal(() => ask(zipped, 'Put', {key: 'gzip', value: VALUE}), grpc.status.UNIMPLEMENTED);
    assert.match(error.details, /identity/);
    zipped.close();
  },
  async not_found() {
    const error = await refusal(() => ask(store, 'Get', {key: 'no/such'}), grpc.status.NOT_FOUND);
    assert(error.details);
    assert.strictEqual(trailer(error, 'muster-server'), 's1');
  },
  async invalid_argument() {
    const wrong = {...node(1), id: '100% wrong'};
    const error = await refusal(() => ask(coordinator, 'RegisterNode', {node: wrong}),
        grpc.status.INVALID_ARGUMENT);
    assert.match(error.details, /node id "100% wrong" must be/);
  },
  async leader_address() {
    const client = new StoreService(standby, credentials());
    const error = await refusal(() => putStream(client, puts(1)).all(), grpc.status.FAILED_PRECONDITION);
    assert.strictEqual(trailer(error, 'leader-address'), server);
    assert.strictEqual(trailer(error, 'muster-server'), 's2');
    client.close();
  },
  async unknown_method() {
    await callAnything('/muster.v1.StoreService/NoSuch');
  },
  async unknown_service() {
    await callAnything('/no.such.Service/Get');
  },
  async health_check() {
    assert.strictEqual((await ask(health, 'Check', {})).status, 'SERVING');
    await refusal(() => ask(health, 'Check', {service: 'no.such'}), grpc.status.NOT_FOUND);
  },
  async health_watch() {
    const watch = new Stream(health.Watch({service: 'muster.v1.StoreService'}, soon()));
    assert.strictEqual((await watch.next()).status, 'SERVING');
    leave(watch);
  },
  async reflection() {
    const call = reflections.ServerReflectionInfo(soon());
    call.write({list_services: '*'});
    call.write({file_containing_symbol: 'muster.v1.StoreService'});
    call.end();
    const [services, file] = await new Stream(call).all();
    const names = services.list_services_response.service.map((each) => each.name);
    assert(names.includes('muster.v1.CoordinatorService'), names);
    const described = file.file_descriptor_response.file_descriptor_proto;
    assert(described.some((each) => each.includes('muster/v1/store.proto')));
  },
  // More than the 1,000 streams that a connection takes at once: the others wait here.
  async concurrent_calls() {
    await Promise.all(Array.from({length: 1200}, () => ask(coordinator, 'HealthCheck', {})));
  },
  async without_certificate() {
    const stranger = new CoordinatorService(server, credentials(false));
    await refusal(() => ask(stranger, 'HealthCheck', {}), grpc.status.UNAVAILABLE);
    stranger.close();
  },
  // The test restarts the server when it reads "restart".
  async stream_ends_with_server() {
    const watch = new Stream(coordinator.WatchTopology({}));
    await watch.next();
    console.log('restart');
    await refusal(() => watch.all(), grpc.status.UNAVAILABLE);
  },
  // On the same channel. A server that stops or starts answers UNAVAILABLE: nothing was changed.
  async goes_on_after_restart() {
    const metadata = new grpc.Metadata({waitForReady: true});
    const limit = Date.now() + 2 * SECONDS * 1000;
    for (;;) {
      try {
        return await ask(store, 'Put', {key: 'after'}, {metadata, options: soon(2 * SECONDS)}) && undefined;
      } catch (error) {
        if (error.code !== grpc.status.UNAVAILABLE || Date.now() > limit) throw error;
      }
      await pause(50);
    }
  },
};

async function main() {
  for (const [name, act] of Object.entries(steps)) {
    if (name === 'without_certificate' && tls.length === 0) continue;
    try {
      const told = await act();
      console.log(told === undefined ? `ok ${name}` : `ok ${name} ${told}`);
    } catch (error) {
      process.exitCode = 1;
      console.log(`failed ${name}: ${String(error).replace(/\s+/g, ' ')}`);
    }
  }
  coordinator.close();
}

main();
