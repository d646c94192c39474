#!/usr/bin/env python3
"""Takes locks over HTTP, at a leader and at a follower.

usage: http_locks_test.py DIRECTORY_OF_PROGRAMS
"""

import json
import socket
import threading
import unittest
import urllib.parse

from scene import PairTest, eventually


class HttpLocksTest(PairTest):
    def test_a_lock_has_one_holder_and_passes_on_in_order(self):
        path, waits = "/v1/locks/mutex-1", {}

        def wait(session):
            waits[session] = self.follower.ask_json(
                "PUT", path, {"session": session, "holder": f"program-{session}", "wait_ms": 20000})

        status, held = self.follower.ask_json("PUT", path, {"session": "a", "holder": "program-a", "ttl_ms": 20000})
        self.assertEqual(status, 200, held)
        self.assertGreater(held["token"], 0)
        self.assertLessEqual(held["left_ms"], 20000)
        again = self.leader.ask_json("PUT", path, {"session": "a", "holder": "program-a",
                                                       "ttl_ms": 20000})[1]
        self.assertEqual(again["token"], held["token"], "the same session has the same lock")
        self.refused(self.leader, "PUT", path, 409, "ABORTED", "program-a", {"session": "z"})
        self.refused(self.leader, "PUT", path, 400, "INVALID_ARGUMENT", "", {"session": "y", "permits": 2})
        renewed = self.leader.ask_json("POST", path, {"session": "a", "handle": held["handle"]})
        self.assertEqual(renewed[0], 200, renewed)
        self.refused(self.leader, "POST", path, 404, "NOT_FOUND", "", {"session": "b", "handle": held["handle"]})
        waiting = []
        for session in ("b", "c"):
            waiting.append(threading.Thread(target=wait, args=(session,)))
            waiting[-1].start()
            eventually("it waits", lambda: f"program-{session}-{session}" in self.leader.get(path)["waiters"])
        self.assertEqual(self.leader.get(path)["waiters"], ["program-b-b", "program-c-c"])
        self.assertEqual(self.leader.get(path)["holders"][0]["holder"], "program-a-a")
        status, released = self.follower.ask_json("DELETE", path + "?" + urllib.parse.urlencode(
            {"session": "a", "handle": held["handle"]}))
        self.assertEqual((status, released["confirmed"]), (200, True))
        waiting[0].join()
        self.assertEqual(waits["b"][0], 200, waits)
        self.assertGreater(waits["b"][1]["token"], held["token"])
        waiting[1].join()
        self.assertEqual((waits["c"][0], waits["c"][1]["waiting"]), (202, True), waits)
        self.assertEqual((waits["c"][1]["place"], waits["c"][1]["held_by"]), (1, "program-b-b"))

    def test_readers_share_a_lock_and_a_client_that_has_gone_waits_no_more(self):
        path = "/v1/locks/shared-1"
        for session in ("r1", "r2"):
            status, told = self.follower.ask_json("PUT", path, {"session": session, "shared": True, "ttl_ms": 60000})
            self.assertEqual(status, 200, told)
        self.refused(self.follower, "PUT", path, 409, "ABORTED", "r", {"session": "w1", "shared": False})
        body = json.dumps({"session": "w2", "holder": "w2", "shared": False, "wait_ms": 60000}).encode()
        gone = socket.create_connection(self.leader.host.split(":"))
        gone.sendall(f"PUT {path} HTTP/1.1\r\nHost: {self.leader.host}\r\nContent-Type: application/json\r\n"
                     f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
        self.addCleanup(gone.close)

        def waits():
            told = self.leader.get(path)
            return "w2-w2" in told["waiters"] + [each["holder"] for each in told["holders"]]

        eventually("it waits", waits)
        gone.close()
        eventually("it does not", lambda: not waits())
        for session in ("r1", "r2"):
            self.assertEqual(self.leader.ask("DELETE", f"{path}?session={session}")[0], 200)
        self.refused(self.leader, "DELETE", path + "?session=r1", 404, "NOT_FOUND", "")


if __name__ == "__main__":
    unittest.main(verbosity=2)
