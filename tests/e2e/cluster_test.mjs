// The page in a real browser, served by real musterd processes.
//   node cluster_test.mjs NODE_MODULES PROGRAMS SCREENSHOTS
// Takes about 30 s: a node is SUSPECT after 5 s of silence and DOWN after 10 s, a leader's lease runs out
// when it is killed, and a real Chromium shows it all, with 10,000 real nodes at the end.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { join, resolve } from 'node:path';
import { after, before, test } from 'node:test';
import { Browser, assertScrollsSmoothly, until } from './browser.mjs';
import { Fleet, RealCluster } from './real_cluster.mjs';

const [modules, programs, screenshots] = process.argv.slice(2).map((path) => resolve(path));
const nodes = 30;
let browser;
let cluster;
let fleet;

before(async () => {
  browser = await Browser.launch(modules, screenshots);
  cluster = await RealCluster.start(programs, 3, ['--heartbeat-interval', '1s',
    '--suspect-timeout', '5s', '--down-timeout', '10s', '--leader-grace-period', '10s']);
  fleet = new Fleet(cluster, 1000);
  await fleet.order(`register ${nodes}`);
});
after(async () => {
  await browser?.close();
  await cluster?.stop();
});

/** A server that does not lead: its page outlives the leader. */
const follower = async () => {
  const leader = await cluster.led();
  return cluster.servers.find(({ id }) => id !== leader).id;
};

async function withPage(id, view, body) {
  const page = await browser.open(`${cluster.url(id)}#/${view}`);
  try {
    await page.locator('#link[data-link="live"]').waitFor();
    await body(page);
    assert.deepEqual(page.problems, []);
    assert.deepEqual(page.asked.filter((url) => !url.startsWith(cluster.url(id))), []);
  } finally {
    await page.context().close();
  }
}

test('the page says what the API says', async () => {
  const id = await follower();
  cluster.run('muster', 'worker', '--arbiter', `muster://${cluster.addresses()}/`, '--namespace',
    'billing', '--id', 'billing-1', '--startup-jitter-max', '0s');
  await withPage(id, 'overview', async (page) => {
    // Asked anew each time: a leader may lose its lease on a busy machine, and both must then say so.
    await until('leader and servers are shown as told', async () => {
      const { cluster: { leader }, servers } = await cluster.ask(id, 'overview');
      const card = await page.locator('.card-leader').innerText();
      const rows = await Promise.all(servers.map(async (server) => [server,
        await page.locator(`tr[data-key="${server.id}"]`).innerText({ timeout: 1000 }).catch(() => '')]));
      return [leader.id, `epoch ${leader.epoch}`, leader.why].every((text) => card.includes(text)) &&
        rows.every(([{ role, address }, text]) => new RegExp(`${role}[^]*${address}`).test(text)) ||
        { leader, card, rows };
    });
    await page.getByText(`${nodes} nodes`).first().waitFor();
    await browser.picture(page, 'real-overview');

    await page.locator('nav a[href="#/nodes"]').click();
    await page.getByText(`${nodes} nodes`).first().waitFor();
    await until('the first nodes are shown as told', async () => {
      const { nodes: first } = await cluster.ask(id, 'nodes?sort=id&limit=3');
      const rows = await Promise.all(first.map(async (node) => [node, await page.locator(
        '.grid-nodes .grid-row', { hasText: node.id }).innerText({ timeout: 1000 }).catch(() => '')]));
      return rows.every(([{ state, type, address, port }, text]) =>
        new RegExp(`${state}[^]*${type}[^]*${address}:${port}`).test(text)) || rows;
    });

    await page.locator('nav a[href="#/ring"]').click();
    // A node owns nothing before its first heartbeat.
    await until('every node is in the ring', async () =>
      (await page.locator('.grid-ring').getAttribute('aria-rowcount')) === String(nodes + 1) ||
      { shown: await page.locator('.grid-ring').innerText(),
        told: (await cluster.ask(id, 'ring')).nodes.length });
    await page.locator('.grid-ring').focus();
    await page.keyboard.press('ArrowDown');
    await until('what would move is shown as told', async () => {
      const ring = await cluster.ask(id, 'ring');
      const largest = ring.nodes.reduce((a, b) => a.share >= b.share ? a : b);
      const plan = await cluster.ask(id, `ring/plan?remove=${largest.id}`);
      const words = `If ${largest.id} left, ${(plan.movedShare * 100).toFixed(1)} %`;
      return Math.abs(plan.movedShare - largest.share) < 1e-6 &&
        await page.getByText(words).count() > 0 || { words, largest };
    });
    await browser.picture(page, 'real-ring');

    await page.locator('nav a[href="#/namespaces"]').click();
    await page.locator('tr[data-key="billing"]').getByText('billing-1').waitFor();
    await browser.picture(page, 'real-namespaces');

    await page.locator('nav a[href="#/charts"]').click();
    await page.getByRole('img', { name: /Commits: commits \d/ }).waitFor();
    await browser.picture(page, 'real-charts');
  });
});

test('a node that falls silent is seen, and explains itself', async () => {
  const id = await follower();
  await withPage(id, 'timeline', async (page) => {
    await fleet.order('silence n00007');
    const row = page.locator('.grid-timeline .grid-row', { hasText: 'n00007' });
    await row.locator('[data-to="suspect"]').first().waitFor();
    await row.locator('[data-to="down"]').first().waitFor();
    await row.first().click();
    const drawer = page.getByRole('complementary', { name: 'Node n00007' });
    const told = await cluster.ask(id, 'node/n00007/explain');
    assert.equal(told.node.state, 'down');
    for (const { text } of told.timeline) await drawer.getByText(text, { exact: true }).first().waitFor();
    await drawer.locator('.chip[data-state="down"]').waitFor();
    await browser.picture(page, 'real-explain');
    await browser.audit(page, 'explain');
  });
});

test('a killed leader and its successor are seen live', async () => {
  const id = await follower();
  await withPage(id, 'overview', async (page) => {
    const before = await cluster.led();
    await page.locator('.card-leader').getByText(before, { exact: true }).waitFor();
    const killedAt = Date.now();
    await cluster.kill(before);
    let shown;
    await until('another leader is shown', async () => {
      shown = await page.locator('.card-leader .hero').innerText();
      return cluster.servers.some((server) => server.id === shown && shown !== before) || shown;
    }, 60_000);
    console.log(`the page showed ${shown} leading ${Date.now() - killedAt} ms after kill -9 of ${before}`);
    await page.locator('.card-events .kind[data-kind="leader"]').first().waitFor();
    assert.equal((await cluster.ask(id, 'overview')).cluster.leader.id, shown);
    await browser.picture(page, 'real-after-kill');
    cluster.launch(cluster.server(before));
    await cluster.led();
  });
});

test('the page is stale while its server is stopped, and live when it is back', async () => {
  const id = await follower();
  await withPage(id, 'overview', async (page) => {
    await cluster.kill(id);
    await page.locator('#banner').getByText(/^Stale since \d\d:\d\d:\d\d/).waitFor();
    await browser.picture(page, 'real-stale');
    cluster.launch(cluster.server(id));
    await page.locator('#banner').waitFor({ state: 'hidden' });
    await page.locator('#link[data-link="live"]').waitFor();
  });
});

test('behind TLS only those who may read see the page', async () => {
  const secure = new RealCluster(programs, []);
  try {
    const folder = join(secure.folder, 'certs');
    const file = (name) => join(folder, name);
    const certs = async (...words) => {
      const [code] = await once(secure.run('muster', 'certs', ...words, '--dir', folder), 'exit');
      assert.equal(code, 0, words.join(' '));
    };
    await certs('init');
    await certs('issue', '--role', 'server', '--id', 's1', '--san', '127.0.0.1');
    await certs('issue', '--role', 'reader', '--id', 'viewer');
    secure.options = ['--cert', file('s1.crt'), '--key', file('s1.key'), '--cacert', file('ca.crt')];
    await secure.add('s1');
    secure.launch(secure.server('s1'));
    const url = secure.url('s1').replace('http:', 'https:');
    const reader = { origin: new URL(url).origin, certPath: file('viewer.crt'), keyPath: file('viewer.key') };

    const page = await browser.blank({ more: { ignoreHTTPSErrors: true, clientCertificates: [reader] } });
    await until('the server answers', () => page.goto(url).then(() => true, (error) => error.message));
    await page.locator('.card-leader').getByText('s1', { exact: true }).waitFor();
    await page.locator('#link[data-link="live"]').waitFor();
    await page.context().close();

    const stranger = await browser.blank({ more: { ignoreHTTPSErrors: true } });
    assert.equal((await stranger.goto(url)).status(), 403);
    assert.equal((await stranger.goto(`${url}api/overview`)).status(), 403);
    await stranger.context().close();
  } finally {
    await secure.stop();
  }
});

test('ten thousand real nodes scroll smoothly', async () => {
  const large = await RealCluster.start(programs, 1);
  try {
    const many = new Fleet(large, 15_000);
    await many.order('register 10000');
    const page = await browser.open(`${large.url('s1')}#/nodes`);
    await page.getByText('10,000 nodes').waitFor();
    await page.locator('.grid-nodes [data-state="active"]').first().waitFor();
    await assertScrollsSmoothly(page);
    await page.locator('.grid-nodes').focus();
    await page.keyboard.press('End');
    await page.getByText('n10000').waitFor();
    await browser.picture(page, 'real-nodes-10000');
    await page.goto(`${large.url('s1')}#/ring`);
    await page.getByText(/drawn from 4,096 of 160,000 points/).waitFor();
    await browser.picture(page, 'real-ring-10000');
    assert.deepEqual(page.problems, []);
    await page.context().close();
  } finally {
    await large.stop();
  }
});
