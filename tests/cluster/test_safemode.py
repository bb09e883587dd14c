# SPDX-License-Identifier: Apache-2.0
"""After a start the master waits for its workers, and says so: nothing is missing yet, and who needs a block waits."""

import json
import unittest

from cluster import LIMIT_SECONDS, Cluster, words

SLOW_START = ["master.heartbeat=200ms", "master.lost_after=2s", "master.disconnect_grace=500ms", "master.startup_grace=1h"]
AWAITED = b" s ago and waits for the reports of 1 of 2 workers ("


class SafemodeTest(unittest.TestCase):
    def begin(self, cluster, *args):
        """Starts a command, and returns when it has said that it waits."""
        process = cluster.start(*args)
        line = process.stderr.readline()
        while b"millrace: waiting: the master has started" not in line:
            self.assertNotEqual(line, b"", args)
            line = process.stderr.readline()
        self.assertIn(AWAITED, line)
        return process

    def end(self, process):
        out, error = process.communicate(timeout=LIMIT_SECONDS)
        self.assertEqual(process.returncode, 0, error)
        return out

    def test_who_needs_what_a_worker_may_bring_waits_for_it(self):
        with Cluster(workers=2, settings=SLOW_START) as cluster:
            data = words(5, 1_500_000)
            with open(cluster.path("text"), "wb") as f:
                f.write(data)
            cluster.run("fs", "put", "--block-size", "1M", "--replication", "1", cluster.path("text"), "/text")
            blocks = [block["nodes"] for block in json.loads(cluster.run("fs", "stat", "--json", "/text")[0])[0]["blocks"]]
            self.assertIn(b"safe mode is off", cluster.run("fs", "safemode", "wait")[0])
            holder = 0 if blocks[0][0] == self.node_of(cluster, 0) else 1
            for n in cluster.workers:
                cluster.kill_worker(n)
            cluster.kill_master()
            cluster.start_master()
            cluster.start_worker(1 - holder)

            out, error = cluster.run("fs", "fsck", status=1)
            self.assertIn(b"do not count as missing: the master has started", error)
            self.assertIn(AWAITED, error)
            self.assertIn(b"awaited   block", out)
            self.assertNotIn(b"missing  ", out)
            out, _ = cluster.run("node", "list")
            self.assertIn(AWAITED, out)
            self.assertIn(b" awaited ", out)
            self.assertIn(b"safe mode is on: the master has started", cluster.run("fs", "safemode", "get")[0])
            reader = self.begin(cluster, "fs", "cat", "/text")
            job = self.begin(cluster, "run", "wordcount", "/text", "-o", "/out")
            waiter = self.begin(cluster, "fs", "safemode", "wait")
            cluster.start_worker(holder)
            self.assertEqual(self.end(reader), data)
            self.end(job)
            self.assertIn(b"safe mode is off", self.end(waiter))
            self.assertRegex(cluster.run("fs", "fsck", status=None)[0].decode(), r"(?m)^missing +0$")

    def node_of(self, cluster, n):
        """The node number that the worker was given, by its log."""
        line = [line for line in cluster.log(f"worker{n}").splitlines() if " as node " in line][0]
        return int(line.rsplit(" ", 1)[1])


if __name__ == "__main__":
    unittest.main()
