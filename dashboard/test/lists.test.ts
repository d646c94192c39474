import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PagedRows, type Page } from '../src/lists/paged_rows.ts';
import { rowAfterKey, rowWindow, scrollToShow } from '../src/lists/window.ts';

/** A server whose answers the test lets go one by one. */
class Desk {
  asked: number[] = [];
  private waiting: ((page: Page<string>) => void)[] = [];
  constructor(public total: number, public word = 'row') {}

  fetch = (offset: number, limit: number): Promise<Page<string>> => {
    this.asked.push(offset);
    const length = Math.max(0, Math.min(limit, this.total - offset));
    const page = { total: this.total,
      rows: Array.from({ length }, (_, i) => `${this.word} ${offset + i}`) };
    return new Promise((resolve) => this.waiting.push(() => resolve(page)));
  };
  async answer(): Promise<void> {
    this.waiting.shift()?.({ total: 0, rows: [] });
    await new Promise((resolve) => setImmediate(resolve));
  }
  async answerAll(): Promise<void> {
    while (this.waiting.length > 0) await this.answer();
  }
}

const rowsOf = (desk: Desk, errors: unknown[] = []) =>
  new PagedRows<string>(10, desk.fetch, () => undefined, (error) => errors.push(error));

test('only the pages that are looked at are asked for', async () => {
  const desk = new Desk(1000);
  const rows = rowsOf(desk);
  rows.want(0, 10);
  await desk.answerAll();
  rows.want(505, 525);
  await desk.answerAll();
  assert.deepEqual(desk.asked, [0, 500, 510, 520]);
  assert.equal(rows.row(512), 'row 512');
  assert.equal(rows.row(700), undefined);
  assert.equal(rows.total, 1000);
});

test('a fast scroll asks for its end, not for all that it passed', async () => {
  const desk = new Desk(10_000);
  const rows = rowsOf(desk);
  rows.want(0, 10);
  await desk.answerAll();
  for (let first = 0; first <= 9000; first += 30) rows.want(first, first + 10);
  await desk.answerAll();
  assert.deepEqual(desk.asked, [0, 30, 60, 9000]);
});

test('rows that are out of date are shown until newer ones are there', async () => {
  const desk = new Desk(10, 'old');
  const rows = rowsOf(desk);
  rows.want(0, 10);
  await desk.answerAll();
  desk.word = 'new';
  rows.outdate();
  assert.equal(rows.row(3), 'old 3');
  await desk.answerAll();
  assert.equal(rows.row(3), 'new 3');
});

test('the answer to an earlier question does not count', async () => {
  const desk = new Desk(10, 'first');
  const rows = rowsOf(desk);
  rows.want(0, 10);
  desk.word = 'second';
  rows.restart();
  await desk.answer();
  assert.equal(rows.row(0), undefined);
  await desk.answer();
  assert.equal(rows.row(0), 'second 0');
});

test('after another question no row of the old one is left', async () => {
  const desk = new Desk(30, 'old');
  const rows = rowsOf(desk);
  rows.want(0, 30);
  await desk.answerAll();
  assert.equal(rows.row(25), 'old 25');
  desk.word = 'new';
  desk.total = 5;
  rows.restart();
  await desk.answerAll();
  assert.equal(rows.row(25), undefined);
  assert.equal(rows.total, 5);
});

test('a failed request is told, and sent again when its rows come into view again', async () => {
  const errors: unknown[] = [];
  let broken = true;
  const rows = new PagedRows<string>(10, () => broken
    ? Promise.reject(new Error('gone')) : Promise.resolve({ total: 1, rows: ['back'] }),
  () => undefined, (error) => errors.push(error));
  rows.want(0, 10);
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(errors.length, 1);
  broken = false;
  rows.want(0, 10);
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(rows.row(0), 'back');
});

test('memory is bounded, and what is near is kept', async () => {
  const desk = new Desk(10_000);
  const rows = rowsOf(desk);
  for (let first = 0; first < 1000; first += 10) {
    rows.want(first, first + 10);
    await desk.answerAll();
  }
  assert.equal(rows.row(0), undefined);
  assert.equal(rows.row(995), 'row 995');
});

test('rows in view, with some to spare', () => {
  assert.deepEqual(rowWindow(0, 100, 10, 1000, 2), { first: 0, last: 13 });
  assert.deepEqual(rowWindow(5005, 100, 10, 1000, 2), { first: 498, last: 513 });
  assert.deepEqual(rowWindow(9900, 100, 10, 1000, 2), { first: 987, last: 1000 });
  assert.deepEqual(rowWindow(0, 100, 10, 3, 2), { first: 0, last: 3 });
  assert.deepEqual(rowWindow(0, 100, 10, 0, 2), { first: 0, last: 0 });
});

test('keys lead to rows, and rows into view', () => {
  assert.equal(rowAfterKey('ArrowDown', -1, 5, 3), 0);
  assert.equal(rowAfterKey('PageDown', 3, 5, 3), 4);
  assert.equal(rowAfterKey('Home', 3, 5, 3), 0);
  assert.equal(rowAfterKey('x', 3, 5, 3), null);
  assert.equal(rowAfterKey('ArrowDown', -1, 0, 3), null);
  assert.equal(scrollToShow(50, 0, 100, 10), 410);
  assert.equal(scrollToShow(5, 100, 100, 10), 50);
  assert.equal(scrollToShow(12, 100, 100, 10), 100);
});
