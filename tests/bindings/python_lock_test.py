#!/usr/bin/env python3
"""Locks of the Python package.

usage: python_lock_test.py LIBMUSTER MUSTERD [unittest options]
"""
import asyncio
import signal
import sys
import unittest

sys.dont_write_bytecode = True
from scene import PATIENCE, Scene, ServerScene  # noqa: E402

import muster  # noqa: E402


class LockTest(Scene):
    def test_a_block_holds_the_lock_and_releases_it_at_its_end(self):
        lock = muster.Lock(self.url, "m", ttl=60)
        self.assertFalse(lock.held)
        with lock as held:
            self.assertIs(held, lock)
            self.assertTrue(lock.held)
            self.assertEqual(lock.token, 1)
            self.assertTrue(0 < lock.left <= 60)
            with self.assertRaises(muster.InvalidError):
                lock.acquire()
            with self.assertRaises(muster.TimeoutError):
                muster.Lock(self.url, "m", ttl=60, timeout=0).acquire()
            with self.assertRaises(muster.TimeoutError):
                muster.Lock(self.url, "m", ttl=60, timeout=0.3).acquire()
            self.assertFalse(lock.wait_lost(0.1))
        self.assertFalse(lock.held)
        self.assertEqual(lock.left, 0.0)
        # Within a minute, which the ttl is: it was released.
        with lock:
            self.assertEqual(lock.token, 2)

    def test_a_semaphore_and_a_read_write_lock(self):
        with muster.Arbiter("memory:") as arbiter:
            two = [muster.Lock(arbiter, "s", permits=2, timeout=0) for _ in range(3)]
            with two[0], two[1], self.assertRaises(muster.TimeoutError):
                two[2].acquire()
            readers = [muster.Lock(arbiter, "rw", shared=True, timeout=0) for _ in range(2)]
            writer = muster.Lock(arbiter, "rw", shared=False, timeout=0)
            with readers[0], readers[1], self.assertRaises(muster.TimeoutError):
                writer.acquire()
            with writer, self.assertRaises(muster.TimeoutError):
                readers[0].acquire()
            with self.assertRaises(muster.InvalidError) as refused:
                muster.Lock(arbiter, "s", permits=3).acquire()
            self.assertIn("2 permits", str(refused.exception))
            with self.assertRaises(muster.InvalidError):
                muster.Lock(arbiter, "s", permits=-1)

    def test_an_interrupt_ends_a_wait(self):
        program = """
try:
    print("waits", flush=True)
    with muster.Lock(sys.argv[1], "m"):
        pass
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""
        with muster.Lock(self.url, "m") as lock:
            waits = self.python(program, self.url)
            self.assertEqual(waits.stdout.readline(), "waits\n")
            waits.send_signal(signal.SIGINT)
            self.assertEqual(waits.stdout.readline(), "interrupted\n")
            self.assertEqual(waits.wait(PATIENCE), 0)
            self.assertTrue(lock.held)

    def test_tasks_exclude_each_other_and_one_that_is_cancelled_waits_no_more(self):
        inside, tokens = [], []

        async def work(arbiter, number):
            async with muster.Lock(arbiter, "m", ttl=2) as lock:
                self.assertEqual(inside, [])
                inside.append(number)
                tokens.append(lock.token)
                await asyncio.sleep(0.01)
                inside.remove(number)

        async def scene():
            with muster.Arbiter("memory:") as arbiter:
                await asyncio.wait_for(asyncio.gather(*(work(arbiter, number) for number in range(4))), PATIENCE)
                with muster.Lock(arbiter, "m") as held:
                    waits = asyncio.create_task(work(arbiter, 5))
                    await asyncio.sleep(0)  # It has begun.
                    waits.cancel()
                    with self.assertRaises(asyncio.CancelledError):
                        await asyncio.wait_for(waits, PATIENCE)
                    self.assertTrue(held.held)

        asyncio.run(scene())
        self.assertEqual(len(set(tokens)), 4)
        self.assertEqual(tokens, sorted(tokens))


class FrozenTest(ServerScene):
    # Not in a directory: a process that is stopped in the middle of a write blocks all writers there.
    def test_a_frozen_holder_learns_that_it_lost_the_lock(self):
        program = """
with muster.Lock(sys.argv[1], "m", ttl=1) as lock:
    print("held", lock.token, flush=True)
    print("lost", lock.wait_lost(), lock.held, flush=True)
"""
        url = f"muster://{self.servers}/app"
        holder = self.python(program, url)
        self.assertEqual(holder.stdout.readline(), "held 1\n")
        holder.send_signal(signal.SIGSTOP)
        with muster.Lock(url, "m", timeout=PATIENCE) as lock:
            self.assertEqual(lock.token, 2)
            holder.send_signal(signal.SIGCONT)
            self.assertEqual(holder.stdout.readline(), "lost True False\n")
            self.assertTrue(lock.held)


if __name__ == "__main__":
    unittest.main()
