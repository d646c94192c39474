// The page in a real browser, against a cluster that was invented: what must hold whatever the
// server says, and what no real cluster can be brought to within seconds.
//   node page_test.mjs NODE_MODULES PAGE SCREENSHOTS
// Takes about 30 s: a real Chromium draws every view in some twenty tests, two of them with 10,000 nodes,
// and looks for 3 s (six views, 500 ms each) whether anything moves.
import assert from 'node:assert/strict';
import { resolve } from 'node:path';
import { after, before, test } from 'node:test';
import { Browser, assertScrollsSmoothly, until } from './browser.mjs';
import { InventedCluster } from './invented_cluster.mjs';

const [modules, pageFolder, screenshots] = process.argv.slice(2).map((path) => resolve(path));
const views = ['overview', 'nodes', 'ring?select=node-00003', 'timeline', 'charts', 'namespaces',
  'nodes?node=node-00004'];
let browser;
before(async () => { browser = await Browser.launch(modules, screenshots); });
after(() => browser?.close());

/** Runs `body` with a cluster and the page open on it; nothing may have gone wrong in the page. */
async function withPage({ nodes = 40, view = 'overview', ...options }, body) {
  const cluster = new InventedCluster({ page: pageFolder, nodes });
  const url = await cluster.listen();
  const page = await browser.open(`${url}#/${view}`, options);
  try {
    await page.locator('#link[data-link="live"]').waitFor();
    await body(page, cluster, url);
    assert.deepEqual(page.problems, []);
  } finally {
    await page.context().close();
    await cluster.stop();
  }
}

const shown = (page, selector) => page.locator(selector).first().innerText();

test('the first view of 10,000 nodes is below 200 KB, all from this server', async () => {
  await withPage({ nodes: 10_000 }, async (page, _cluster, url) => {
    await page.locator('.plot-svg').first().waitFor();
    await page.locator('.event').nth(7).waitFor();
    const bytes = await page.evaluate(() => [...performance.getEntriesByType('resource'),
      ...performance.getEntriesByType('navigation')].reduce((sum, each) => sum + each.transferSize, 0));
    console.log(`first view: ${bytes} bytes`);
    assert.ok(bytes > 50_000 && bytes < 200_000, `${bytes} bytes`);
    assert.deepEqual(page.asked.filter((each) => !each.startsWith(url)), []);
  });
});

test('nothing moves while the page loads and events come in', async () => {
  await withPage({}, async (page, cluster) => {
    await page.locator('.plot-svg').first().waitFor();
    cluster.change('node-00002', 'suspect', 'node-00002 became SUSPECT.');
    await page.getByText('node-00002 became SUSPECT.').waitFor();
    for (const view of ['nodes', 'timeline', 'ring', 'namespaces', 'charts', 'overview']) {
      await page.locator(`nav a[href="#/${view}"]`).click();
      await page.locator(`.view-${view}`).waitFor();
      cluster.change('node-00002', 'active', `node-00002 came back (${view}).`);
      // Some time passes: no event tells that nothing moved.
      await new Promise((passed) => setTimeout(passed, 500));
    }
    const shifted = await page.evaluate(() => globalThis.shifted);
    assert.ok(shifted < 0.02, `layout shift ${shifted}`);
  });
});

test('ten thousand nodes scroll smoothly', async () => {
  await withPage({ nodes: 10_000, view: 'nodes' }, async (page) => {
    await page.locator('.grid-nodes [data-state]').first().waitFor();
    assert.ok(await page.locator('.grid-nodes .grid-row').count() < 80);
    await assertScrollsSmoothly(page);
    await page.locator('.grid-nodes').focus();
    await page.keyboard.press('End');
    await page.getByText('node-10000').waitFor();
    await until('no empty row is left', async () =>
      await page.locator('.grid-body .grid-row[data-empty]:not([hidden])').count() === 0);
    await browser.picture(page, 'nodes-10000');
  });
});

test('nodes are filtered, sorted and opened with the keyboard alone', async () => {
  await withPage({ nodes: 500, view: 'nodes' }, async (page, cluster) => {
    const suspects = cluster.nodes.filter(({ state }) => state === 'suspect').map(({ id }) => id);
    await page.getByLabel('State').selectOption('suspect');
    await page.getByText(`${suspects.length} nodes`).waitFor();
    await page.getByRole('button', { name: 'Node', exact: true }).press('Enter');
    await page.locator('[aria-sort="descending"]').waitFor();
    await page.locator('.grid-nodes').focus();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.getByRole('complementary', { name: `Node ${suspects.at(-1)}` }).waitFor();
    await page.keyboard.press('Escape');
    await until('the drawer closes and the list has the focus again', async () =>
      await page.locator('.drawer').count() === 0 &&
      await page.locator('.grid-nodes').evaluate((grid) => grid === document.activeElement));
    assert.match(page.url(), /state=suspect/);
    await page.getByLabel('Search nodes').fill('nothing-like-this');
    await page.getByText('No node matches.').waitFor();
  });
});

test('a stopped server makes the page stale, and it comes back by itself without a gap', async () => {
  await withPage({}, async (page, cluster) => {
    await page.locator('.event').first().waitFor();
    cluster.decide({ kind: 'server', subject: 's3', from: '', to: '', cause: '', text: 'Seen live.' });
    await page.getByText('Seen live.').waitFor();
    const { port } = cluster;
    await cluster.stop();
    await page.locator('#banner').getByText(/^Stale since \d\d:\d\d:\d\d/).waitFor();
    await browser.picture(page, 'stale');
    await browser.audit(page, 'stale');
    assert.match(await page.locator('#announcer').innerText(), /^Stale since/);
    cluster.decide({ kind: 'server', subject: 's3', from: '', to: '', cause: '', text: 'Seen by nobody.' });
    await cluster.listen(port);
    await page.getByText('Seen by nobody.').waitFor();
    await page.locator('#banner').waitFor({ state: 'hidden' });
  });
});

test('a server that is behind says since when', async () => {
  await withPage({}, async (page, cluster) => {
    cluster.staleMs = 42_000;
    cluster.send('overview', cluster.overview());
    await page.locator('#banner').getByText(/^Stale since .* \(4\d s\)/).waitFor();
    cluster.staleMs = 0;
    cluster.send('overview', cluster.overview());
    await page.locator('#banner').waitFor({ state: 'hidden' });
  });
});

test('after a gap that is too long everything is read again', async () => {
  await withPage({ view: 'timeline' }, async (page, cluster) => {
    await page.getByText('took the leadership of namespace=billing while').waitFor();
    cluster.decisions = [{ seq: 900, atMs: Date.now(), kind: 'leader', subject: 's9', from: '', to: 's9',
      cause: '', text: 'All that is left.', epoch: 40 }];
    cluster.send('reset', {});
    await page.getByText('All that is left.').waitFor();
    assert.equal(await page.getByText('took the leadership of namespace=billing while').count(), 0);
  });
});

test('a stream of changes that never rests does not keep the list old', async () => {
  await withPage({ view: 'nodes' }, async (page, cluster) => {
    await page.getByText('40 nodes').waitFor();
    const storm = setInterval(() => cluster.change('node-00002', 'active', 'Again.'), 100);
    cluster.nodes.push({ ...cluster.nodes[0], id: 'node-00000' });
    await page.getByText('41 nodes').waitFor();
    clearInterval(storm);
  });
});

test('a new leader is shown and announced at once', async () => {
  await withPage({}, async (page, cluster) => {
    await page.locator('.card-leader').getByText('s2', { exact: true }).waitFor();
    cluster.lead('s3', 'the lease of s2 ran out.');
    await page.locator('.card-leader').getByText('s3', { exact: true }).waitFor();
    assert.equal(await page.locator('#announcer').innerText(), 's3 leads now, epoch 13.');
    await page.locator('.card-events').getByText('s3 leads with epoch 13').waitFor();
    cluster.leader = null;
    cluster.send('overview', cluster.overview());
    await page.getByText('Nobody leads', { exact: true }).waitFor();
    assert.equal(await page.locator('#announcer').innerText(), 'Nobody leads.');
    await page.locator('.card-leader').getByText('no quorum: 1 of 3 servers up; start s2 or s3').waitFor();
  });
});

test('the timeline can be paused, searched and narrowed', async () => {
  await withPage({ view: 'timeline' }, async (page, cluster) => {
    await page.getByText('took the leadership of namespace=billing while').waitFor();
    await page.getByRole('button', { name: 'Pause' }).click();
    cluster.lead('s1', 'a transfer was requested.');
    await page.getByText('paused, 1 new').waitFor();
    assert.equal(await page.getByText('a transfer was requested').count(), 0);
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.getByText('a transfer was requested').waitFor();
    await page.getByLabel('Search events').fill('BREAKER');
    await page.getByText('2 events').waitFor();
    await page.getByLabel('Search events').fill('');
    await page.getByRole('button', { name: 'breaker' }).click();
    await page.getByText('2 events').waitFor();
    assert.match(page.url(), /kinds=breaker/);
    await page.getByRole('gridcell', { name: 'billing-2 of namespace=billing reaches the store' }).waitFor();
    await page.getByRole('button', { name: 'breaker' }).click();
    await page.getByRole('button', { name: 'leader' }).click();
    await page.getByText('2 events').waitFor();
    assert.match(page.url(), /kinds=leader/);
  });
});

test('anyone who reads further down the timeline keeps the place', async () => {
  await withPage({ nodes: 1500, view: 'timeline' }, async (page, cluster) => {
    const reading = page.getByText(cluster.decisions[30].text, { exact: true });
    const grid = page.locator('.grid-timeline');
    await page.getByText('took the leadership of namespace=billing while').waitFor();
    await grid.evaluate((element) => { element.scrollTop = 1400; });
    await reading.click();
    const close = page.getByRole('button', { name: 'Close' });
    await close.click();
    await close.waitFor({ state: 'detached' });
    const { y } = await reading.boundingBox();
    cluster.lead('s1', 'a transfer was requested.');
    await page.getByText(`${cluster.decisions.length} events`).waitFor();
    await until('the row is where it was, and still chosen', async () =>
      Math.abs((await reading.boundingBox()).y - y) < 1 && await page.locator(
        '.grid-row[aria-selected="true"]', { has: reading }).count() === 1);
  });
});

test('the ring shows shares and what would move', async () => {
  await withPage({ view: 'ring' }, async (page, cluster) => {
    const [id, share] = [...cluster.shares].sort((a, b) => b[1] - a[1])[0];
    await page.locator('.grid-ring').focus();
    await page.keyboard.press('ArrowDown');
    await page.getByText(`If ${id} left, ${(share * 100).toFixed(1)} % of the keys would move.`).waitFor();
    const { moves } = cluster.plan(id);
    assert.match(await shown(page, '.moves li'), new RegExp(`to ${moves[0].to}`));
    // The same by pointing: at the middle of the widest arc of another node.
    const arcs = cluster.points.slice(1).map(([to, node], i) => ({ from: cluster.points[i][0], to, node }))
      .filter(({ node }) => cluster.members[node].id === moves[0].to)
      .sort((a, b) => b.to - b.from - a.to + a.from);
    const box = await page.locator('canvas.ring').boundingBox();
    const angle = ((arcs[0].from + arcs[0].to) / 2 - 0.25) * 2 * Math.PI;
    const radius = box.width / 2 * 0.85;
    await page.mouse.click(box.x + box.width / 2 + Math.cos(angle) * radius,
      box.y + box.height / 2 + Math.sin(angle) * radius);
    await page.getByText(`If ${moves[0].to} left`).waitFor();
  });
});

test('a node explains itself', async () => {
  await withPage({ view: 'timeline' }, async (page, cluster) => {
    cluster.change('node-00007', 'down', 'node-00007 became DOWN: no heartbeat for 90.4 s.');
    await page.getByText('node-00007 became DOWN').click();
    const drawer = page.getByRole('complementary', { name: 'Node node-00007' });
    await drawer.getByText('no heartbeat for 90.4 s').waitFor();
    cluster.change('node-00007', 'joining', 'node-00007 registered with a new generation.');
    await drawer.getByText('a new generation').waitFor();
    await page.getByRole('button', { name: 'Close' }).click();
    await drawer.waitFor({ state: 'detached' });
  });
});

test('the theme follows the system until someone chooses, and is remembered', async () => {
  await withPage({ scheme: 'dark' }, async (page) => {
    const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const dark = await ground();
    await page.getByRole('button', { name: 'Theme: auto' }).click();
    assert.notEqual(await ground(), dark);
    await page.reload();
    await page.getByRole('button', { name: 'Theme: light' }).click();
    assert.equal(await ground(), dark);
  });
});

test('charts are drawn from the series and grow with samples', async () => {
  await withPage({ view: 'charts' }, async (page, cluster) => {
    await page.locator('.plot-line').nth(5).waitFor();
    cluster.send('sample', { atMs: Date.now() + 1000, heartbeatP50Ms: 1, heartbeatP95Ms: 2,
      heartbeatP99Ms: 777, batchSize: null, commitsPerSecond: 0, watchers: 9 });
    await page.getByRole('img', { name: /p99 777 ms/ }).waitFor();
    const batches = page.getByRole('img', { name: /^Heartbeats per batch/ }).locator('.plot-line');
    const pieces = async () => (await batches.getAttribute('d')).split('M').length - 1;
    assert.equal(await pieces(), 1);
    cluster.send('sample', { atMs: Date.now() + 6000, heartbeatP50Ms: 1, heartbeatP95Ms: 2,
      heartbeatP99Ms: 3, batchSize: 5, commitsPerSecond: 0, watchers: 9 });
    await until('the line has a gap where no batch was', async () => await pieces() === 2);
    await page.getByRole('button', { name: '60 min' }).click();
    await until('the series of an hour are read', () =>
      page.asked.some((url) => url.endsWith('series?minutes=60')));
  });
});

test('charts have axes, and their legend tells the values under the pointer', async () => {
  await withPage({ view: 'charts' }, async (page, cluster) => {
    const chart = page.locator('figure', { hasText: 'Heartbeat latency' });
    const plot = chart.getByRole('img');
    const legend = () => chart.locator('.legend strong').allInnerTexts();
    await plot.locator('.plot-line').first().waitFor();
    const sample = { atMs: Date.now() + 1000, heartbeatP50Ms: 11, heartbeatP95Ms: 22, heartbeatP99Ms: 777,
      batchSize: 1, commitsPerSecond: 1, watchers: 1 };
    cluster.send('sample', sample);
    cluster.send('sample', { ...sample, atMs: sample.atMs + 60_000, heartbeatP99Ms: null });
    await until('the axis of values holds the highest', async () =>
      (await plot.locator('.plot-value').allTextContents()).join() === '0,200,400,600,800');
    assert.equal(await plot.locator('.plot-unit').textContent(), 'ms');
    assert.match((await plot.locator('.plot-clock').allTextContents()).join(), /^\d\d:\d\d(,\d\d:\d\d){2,8}$/);
    assert.deepEqual(await legend(), ['11', '22', '777']);

    // The last two samples are a minute apart, on an axis of fifteen.
    const box = await plot.boundingBox();
    const rule = plot.locator('.plot-rule');
    await page.mouse.move(box.x + box.width - 20, box.y + 80);
    await until('the last sample is told, with what it lacks', async () =>
      (await legend()).join() === '11,22,–');
    const last = Number(await rule.getAttribute('x1'));
    assert.equal(await plot.locator('.plot-dot').filter({ visible: true }).count(), 2);
    await page.mouse.move(box.x + last - (last - 46) / 15, box.y + 80);
    await until('the sample before it is told', async () => (await legend()).join() === '11,22,777');
    assert.equal(await plot.locator('.plot-time').textContent(), await page.evaluate((atMs) =>
      new Date(atMs).toLocaleTimeString('en-GB'), sample.atMs));
    await browser.picture(page, 'charts-pointer');
    await page.mouse.move(box.x + 60, box.y + 80);
    await until('an early sample is told', async () => Number((await legend())[2]) < 20);
    await page.mouse.move(0, 0);
    await until('without the pointer, the latest known is told', async () =>
      (await legend()).join() === '11,22,777' && !await rule.isVisible());
  });
});

test('charts follow the theme and the width of the window', async () => {
  await withPage({ view: 'charts' }, async (page, cluster) => {
    const chart = page.locator('figure').first();
    const drawn = () => chart.evaluate((figure) => {
      const svg = figure.querySelector('.plot-svg').getBoundingClientRect();
      const lines = [...figure.querySelectorAll('.plot-line')];
      return {
        lines: lines.map((line) => getComputedStyle(line).stroke),
        legend: [...figure.querySelectorAll('.swatch')].map((each) => getComputedStyle(each).backgroundColor),
        width: svg.width,
        right: svg.right - lines[0].getBoundingClientRect().right,
        textHeight: figure.querySelector('.plot-value').getBoundingClientRect().height,
      };
    });
    await chart.locator('.plot-line').first().waitFor();
    clearInterval(cluster.timers.at(-1));  // No further sample makes the page draw.
    const wide = await drawn();
    assert.equal(new Set(wide.lines).size, 3);
    assert.deepEqual(wide.lines, wide.legend);
    await page.getByRole('button', { name: 'Theme: auto' }).click();
    await page.getByRole('button', { name: 'Theme: light' }).click();
    const { lines: dark } = await drawn();
    assert.equal(new Set([...wide.lines, ...dark]).size, 6);
    await page.setViewportSize({ width: 390, height: 800 });
    await until('the lines fill the narrow box, and text is as large as before', async () => {
      const { width, right, textHeight } = await drawn();
      return width < 390 && right < 25 && Math.abs(textHeight - wide.textHeight) < 0.1 || { width, right, textHeight };
    });
  });
});

test('a view that is taller than the window is printed whole when it has charts', async () => {
  await withPage({ view: 'charts', width: 760, height: 500 }, async (page, _cluster, url) => {
    for (const view of ['charts', 'overview']) {
      await page.goto(`${url}#/${view}`);
      await page.locator('.plot-line').first().waitFor();
      await page.emulateMedia({ media: 'print' });
      const { whole, last } = await page.evaluate(() => ({
        whole: document.documentElement.scrollHeight,
        last: Math.max(...[...document.querySelectorAll('.card')].map((card) => card.getBoundingClientRect().bottom)),
      }));
      assert.ok(last > 800 && whole >= last, `${view}: its cards end at ${last}, what is printed at ${whole}`);
      await page.emulateMedia({ media: 'screen' });
    }
  });
});

for (const scheme of ['light', 'dark']) {
  test(`axe-core finds nothing serious, ${scheme}`, async () => {
    await withPage({ scheme }, async (page, _cluster, url) => {
      for (const view of views) {
        await page.goto(`${url}#/${view}`);
        await page.locator('.grid-row[aria-selected], .plot-svg, tbody tr').first().waitFor();
        await browser.audit(page, `${view}, ${scheme}`);
        await browser.picture(page, `${view.replace(/\W+/g, '-')}-${scheme}`);
      }
    });
  });
}

test('a narrow screen shows everything without scrolling sideways', async () => {
  await withPage({ width: 390, height: 800 }, async (page, _cluster, url) => {
    for (const view of views) {
      await page.goto(`${url}#/${view}`);
      await page.locator('.grid-row[aria-selected], .plot-svg, tbody tr').first().waitFor();
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(wide <= 390, `${view} is ${wide} wide`);
      await browser.picture(page, `${view.replace(/\W+/g, '-')}-narrow`);
    }
    await browser.audit(page, 'narrow');
  });
});
