#!/usr/bin/env python3
"""The Python package, as programs in Python use it.

usage: python_test.py LIBMUSTER MUSTERD [unittest options]
"""
import asyncio
import concurrent.futures
import gc
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.dont_write_bytecode = True
from scene import PACKAGE, PATIENCE, Scene, ServerScene, eventually  # noqa: E402

import muster  # noqa: E402


class LeadTest(Scene):
    def test_a_block_leads_and_releases_the_lease_at_its_end(self):
        with muster.lead(self.url, "report", id="a", value="h1:80", lease=20) as term:
            self.assertTrue(term.valid)
            self.assertEqual(term.token, 1)
            self.assertTrue(0 < term.left <= 20)
            with muster.Arbiter(self.url) as arbiter:
                with muster.Leadership(arbiter, "report", id="b", campaigns=False) as watching:
                    leader = eventually(lambda: watching.leader)
                    self.assertEqual(leader, muster.Leader("a", "h1:80", 1))
        self.assertFalse(term.valid)
        self.assertEqual(term.left, 0.0)
        began = time.monotonic()
        with muster.lead(self.url, "report", id="c", lease=20) as term:
            self.assertEqual(term.token, 2)
        self.assertLess(time.monotonic() - began, 10, "the lease of the first was waited out")

    def test_what_the_block_raises_comes_out_and_the_lease_is_released(self):
        with self.assertRaises(ZeroDivisionError):
            with muster.lead(self.url, "report", lease=20):
                1 / 0  # noqa: B018
        with muster.lead(self.url, "report", lease=20, timeout=10) as term:
            self.assertTrue(term.valid)

    def test_only_one_of_two_processes_leads_and_the_next_follows_a_kill(self):
        program = """
with muster.lead(sys.argv[1], "report", id=sys.argv[2], lease=1) as term:
    print("leads", term.token, flush=True)
    term.wait_stop()
"""
        first = self.python(program, self.url, "first")
        self.assertEqual(first.stdout.readline(), "leads 1\n")
        with muster.Arbiter(self.url) as arbiter, muster.Leadership(arbiter, "report", lease=1) as mine:
            with self.assertRaises(muster.TimeoutError) as refused:
                mine.wait(1.5)  # Longer than the lease: the first one renews it.
            self.assertIsInstance(refused.exception, TimeoutError)
            self.assertEqual(refused.exception.code, muster.Code.TIMEOUT)
            first.kill()
            self.assertEqual(mine.wait(PATIENCE).token, 2)

    def test_an_interrupt_ends_a_wait_and_leaves_the_election(self):
        program = """
try:
    with muster.lead(sys.argv[1], "report", id="second"):
        pass
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""
        with muster.Arbiter(self.url) as arbiter, muster.Leadership(arbiter, "report", id="first") as mine:
            term = mine.wait(PATIENCE)
            second = self.python(program, self.url)
            workers = self.folder / "store"
            eventually(lambda: any("second" in str(path) for path in workers.rglob("*")))
            second.send_signal(signal.SIGINT)
            self.assertEqual(second.stdout.readline(), "interrupted\n")
            self.assertEqual(second.wait(PATIENCE), 0)
            self.assertTrue(term.valid)

    def test_stepping_down_hands_over_and_asks_the_work_to_stop(self):
        with muster.Arbiter("memory:") as arbiter:
            first = muster.Leadership(arbiter, "report", id="first", lease=2)
            term = first.wait(PATIENCE)
            second = muster.Leadership(arbiter, "report", id="second", lease=2)
            with self.assertRaises(muster.Error) as refused:
                second.step_down()
            self.assertEqual(refused.exception.code, muster.Code.CONFLICT)
            first.step_down()
            self.assertTrue(term.wait_stop(PATIENCE))
            term.close()
            self.assertEqual(second.wait(PATIENCE).token, 2)
            first.close()
            second.close()

    def test_close_ends_the_wait_of_another_thread(self):
        with muster.Arbiter("memory:") as arbiter, muster.Leadership(arbiter, "report", id="first") as first:
            held = first.wait(PATIENCE)
            second = muster.Leadership(arbiter, "report", id="second")
            failed = []

            def wait():
                try:
                    second.wait()
                except muster.Error as error:
                    failed.append(error)

            waiting = threading.Thread(target=wait)
            waiting.start()
            second.close()
            waiting.join(PATIENCE)
            self.assertEqual(len(failed), 1)
            self.assertIn(failed[0].code, (muster.Code.CANCELLED, muster.Code.INVALID))
            self.assertTrue(held.valid)

    def test_a_child_made_by_fork_leads_nothing(self):
        with muster.Arbiter("memory:") as arbiter, muster.Leadership(arbiter, "report") as mine:
            term = mine.wait(PATIENCE)
            child = os.fork()
            if child == 0:
                code = 1
                try:
                    code = 2 if term.valid or term.left > 0 else 3
                    try:
                        mine.wait(0)
                    except muster.InvalidError:
                        code = 0 if code == 3 else code
                    term.close()
                    mine.close()
                finally:
                    os._exit(code)
            self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
            self.assertTrue(term.valid)

    def test_any_order_of_destruction(self):
        arbiter = muster.Arbiter("memory:")
        mine = muster.Leadership(arbiter, "report")
        term = mine.wait(PATIENCE)
        arbiter.close()
        arbiter.close()
        del arbiter
        self.assertTrue(term.valid)
        mine.close()
        self.assertFalse(term.valid)
        term.close()
        with self.assertRaises(muster.InvalidError):
            mine.wait(0)
        del mine, term
        gc.collect()

    def test_mistakes_are_told(self):
        for call, words in (
            (lambda: muster.Arbiter("nonsense://x"), "nonsense"),
            (lambda: muster.Arbiter("file:///x\0y"), "character 0"),
            (lambda: muster.Leadership(muster.Arbiter("memory:"), "a b"), "election name"),
            (lambda: muster.Leadership(muster.Arbiter("memory:"), "n", lease=0.01), "lease"),
            (lambda: muster.Arbiter("etcd://localhost:1", cert_file="/nowhere.crt", key_file="/nowhere.key"), "nowhere"),
        ):
            with self.assertRaises(muster.InvalidError, msg=words) as refused:
                call()
            self.assertIn(words, str(refused.exception))
        with muster.Arbiter(self.url) as arbiter:
            arbiter.probe()
        self.assertRegex(muster.version(), r"^\d+\.\d+\.\d+$")

    def test_trouble_is_there_to_be_fetched(self):
        (self.folder / "store").mkdir()
        with muster.Arbiter(self.url) as arbiter, muster.Leadership(arbiter, "report", lease=1) as mine:
            mine.wait(PATIENCE)
            (self.folder / "store").rename(self.folder / "moved")
            troubles = eventually(mine.troubles)
            self.assertTrue(all(isinstance(trouble, muster.Error) for trouble in troubles))


class AsyncTest(Scene):
    def test_tasks_lead_one_after_the_other(self):
        working, tokens = [], []

        async def work(arbiter, node):
            async with muster.lead(arbiter, "report", id=f"node-{node}", lease=2) as term:
                self.assertEqual(working, [])
                working.append(node)
                tokens.append(term.token)
                await asyncio.sleep(0.01)
                working.remove(node)

        async def all_of_them():
            with muster.Arbiter("memory:") as arbiter:
                await asyncio.wait_for(asyncio.gather(*(work(arbiter, node) for node in range(4))), PATIENCE)

        asyncio.run(all_of_them())
        self.assertEqual(tokens, [1, 2, 3, 4])

    def test_a_task_that_is_cancelled_leaves_the_election(self):
        async def scene():
            with muster.Arbiter("memory:") as arbiter, muster.Leadership(arbiter, "report", id="first") as first:
                held = first.wait(PATIENCE)

                async def wait():
                    async with muster.lead(arbiter, "report", id="second"):
                        self.fail("there is a leader")

                waiting = asyncio.create_task(wait())
                await asyncio.sleep(0)  # It has begun.
                waiting.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await asyncio.wait_for(waiting, PATIENCE)
                self.assertTrue(held.valid)
                # The id is free again: it has left.
                muster.Leadership(arbiter, "report", id="second").close()

        asyncio.run(scene())

    def test_work_hears_that_it_should_stop(self):
        async def scene():
            with muster.Arbiter("memory:") as arbiter:
                leadership = muster.Leadership(arbiter, "report", lease=1)
                with leadership.wait(PATIENCE) as term:
                    hearing = asyncio.create_task(term.stopping())
                    leadership.step_down()
                    await asyncio.wait_for(hearing, PATIENCE)
                leadership.close()

        asyncio.run(scene())


class NodesTest(ServerScene):
    def test_a_node_is_registered_found_and_gone(self):
        with muster.Cluster(self.servers) as cluster, muster.Directory(cluster) as directory:
            nodes = [muster.Node(f"node-{i}", "127.0.0.1", 7000 + i) for i in range(70)]
            # Each waits until its node is ACTIVE, and lets the others run meanwhile.
            with concurrent.futures.ThreadPoolExecutor(len(nodes)) as pool:
                members = list(pool.map(lambda node: muster.Membership(cluster, node), nodes))
            found = eventually(lambda: (seen := directory.nodes()) if len(seen := directory.nodes()) == 70 else None)
            self.assertEqual({node.id for node in found}, {node.id for node in nodes})
            eventually(lambda: all(node.state is muster.NodeState.ACTIVE for node in directory.nodes()))
            owners = directory.owners("hello")
            self.assertEqual(len(owners), 3)
            self.assertEqual(directory.owners("hello", 1), owners[:1])
            self.assertEqual(owners[0].kind, muster.NodeKind.OBJECT)
            for member in members:
                member.close()
            eventually(lambda: not directory.nodes())

    def test_an_election_on_the_servers(self):
        with muster.lead(f"muster://{self.servers}/app", "report", lease=2, timeout=PATIENCE) as term:
            self.assertTrue(term.valid)

    def test_mistakes_with_nodes_are_told(self):
        with muster.Cluster(self.servers) as cluster:
            for node in (muster.Node("-", "127.0.0.1", 1), muster.Node("n" * 200, "127.0.0.1", 1),
                         muster.Node("n", "127.0.0.1", 70000), muster.Node("n", "127.0.0.1", 0)):
                with self.assertRaises(muster.InvalidError):
                    muster.Membership(cluster, node)


class VectorsTest(unittest.TestCase):
    def test_every_error_of_the_vectors_has_a_code(self):
        cases = json.loads((PACKAGE.parent / "vectors.json").read_text(encoding="utf-8"))["errors"]
        names = {case[effect] for case in cases for effect in ("read", "write")}
        self.assertGreater(len(names), 8)
        self.assertLessEqual(names, {code.name for code in muster.Code})


class ExamplesTest(ServerScene):
    def test_each_has_at_most_twenty_lines(self):
        for example in (PACKAGE / "examples").glob("*.py"):
            lines = [line for line in example.read_text().splitlines() if line.strip()]
            self.assertLessEqual(len(lines), 20, example)

    def test_lead(self):
        program = str(PACKAGE / "examples/lead.py")
        first = self.start(sys.executable, program, self.url, "report")
        self.assertEqual(first.stdout.readline(), "working, token 1\n")
        second = self.start(sys.executable, program, self.url, "report")
        first.terminate()
        self.assertEqual(first.wait(PATIENCE), 0)
        self.assertEqual(second.stdout.readline(), "working, token 2\n")

    def test_nodes(self):
        eventually(lambda: self.reachable())
        program = str(PACKAGE / "examples/nodes.py")
        run = subprocess.run([sys.executable, program, self.servers, "store-1", "7000", "hello"],
                             capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual((run.stdout, run.returncode), ("store-1 127.0.0.1:7000\n", 0), run.stderr)

    def reachable(self):
        host, port = self.servers.split(":")
        try:
            socket.create_connection((host, int(port)), 1).close()
        except OSError:
            return False
        return True


if __name__ == "__main__":
    unittest.main()
