# SPDX-License-Identifier: Apache-2.0
"""A node in maintenance may be away for a while: nothing is copied because of it, and nothing is lost."""

import json
import os
import random
import unittest

from cluster import Cluster, await_line

FAST = ["master.heartbeat=200ms", "master.lost_after=2s", "master.disconnect_grace=500ms", "master.startup_grace=2s"]


class MaintenanceTest(unittest.TestCase):
    def start(self, workers=4, racks=2, replication=2):
        cluster = Cluster(workers=workers, racks=racks, settings=FAST)
        cluster.__enter__()
        self.addCleanup(cluster.__exit__, None, None, None)
        data = random.Random(7).randbytes(3_000_000)
        cluster.run("fs", "put", "--replication", str(replication), "--block-size", "1M", "-", "/file", input=data)
        self.await_grace(cluster)
        return cluster, data

    def await_grace(self, cluster):
        """Returns when the master no longer waits for workers that may come after its start."""
        while self.status(cluster, status=None)["up_s"] <= 2:  # master.startup_grace
            pass

    def number(self, cluster, worker):
        with open(cluster.path(f"ready{worker}"), encoding="utf-8") as f:
            return f.read().strip()

    def node(self, cluster, number):
        (node,) = (n for n in json.loads(cluster.run("node", "list", "--json")[0]) if n["node"] == int(number))
        return node

    def status(self, cluster, status=0):
        return json.loads(cluster.run("cluster", "status", "--json", status=status)[0])

    def holder(self, cluster):
        """A worker that has blocks of the file."""
        while True:  # workers report them with their heartbeats
            for n in cluster.workers:
                if self.node(cluster, self.number(cluster, n))["blocks"] > 0:
                    return n

    def lose(self, cluster, worker):
        """Kills the worker, and returns when the master knows."""
        number = self.number(cluster, worker).encode()
        seen = os.path.getsize(cluster.path("master.log"))
        cluster.kill_worker(worker)
        await_line(cluster.path("master.log"), b"worker " + number + b" is ", seen)

    def test_nothing_is_copied_while_it_is_away_and_everything_when_its_time_is_over(self):
        cluster, data = self.start()
        worker = self.holder(cluster)
        number = self.number(cluster, worker)
        self.assertEqual(cluster.run("node", "maintenance", number, "--for", "1h", "--reason", "new kernel")[0].decode(),
                         f"node {number} is in maintenance for 1 h\n")
        node = self.node(cluster, number)
        self.assertEqual((node["state"], node["reason"]), ("maintenance", "new kernel"))
        self.assertGreater(node["maintenance_left_s"], 3500)
        seen = os.path.getsize(cluster.path("master.log"))
        self.lose(cluster, worker)
        await_line(cluster.path("master.log"), b"its blocks are not copied yet", seen)
        text = cluster.run("node", "list")[0].decode()
        self.assertRegex(text, r"maintenance until \d\d:\d\d UTC")
        self.assertRegex(text, rf"(?m)^node {number}: maintenance until \d\d:\d\d UTC, and away: new kernel$")
        status = self.status(cluster, status=4)  # blocks with a single live replica are a risk, also when the other is only away
        self.assertEqual(status["nodes"]["maintenance"], 1)
        self.assertEqual([(n["node"], n["state"], n["reason"]) for n in status["out_of_use"]], [(int(number), "maintenance", "new kernel")])
        self.assertRegex(cluster.run("cluster", "status", status=4)[0].decode(), r"(?m)^out of use node \d: maintenance until .* UTC, and away: new kernel$")
        self.assertEqual(status["nodes"]["lost"], 0)
        self.assertEqual(status["blocks"]["under_replicated"], 0)
        self.assertEqual(cluster.run("fs", "cat", "/file")[0], data)
        # Its end comes earlier than was said: then it is lost like any other.
        cluster.run("node", "maintenance", number, "--end")
        self.assertEqual(self.node(cluster, number)["state"], "lost")
        while self.status_when_well(cluster) is None:
            pass
        self.assertEqual(cluster.run("fs", "cat", "/file")[0], data)

    def status_when_well(self, cluster):
        """The status once no block has too few replicas."""
        status = self.status(cluster, status=None)
        return status if status["blocks"]["under_replicated"] == status["blocks"]["single_replica"] == 0 else None

    def test_it_ends_by_itself_and_survives_the_master(self):
        cluster, data = self.start()
        worker = self.holder(cluster)
        number = self.number(cluster, worker)
        cluster.run("node", "maintenance", number, "--for", "24h", "--reason", "disk")
        self.lose(cluster, worker)
        cluster.kill_master()
        cluster.start_master()
        node = self.node(cluster, number)
        self.assertEqual((node["state"], node["reason"]), ("maintenance", "disk"))
        self.await_grace(cluster)
        self.assertEqual(self.status(cluster, status=4)["blocks"]["under_replicated"], 0)
        # It comes back with what it had, and nothing is copied or deleted.
        cluster.start_worker(worker)
        while self.node(cluster, number)["blocks"] == 0:
            pass
        self.assertEqual(self.node(cluster, number)["state"], "maintenance")
        seen = os.path.getsize(cluster.path("master.log"))
        cluster.run("node", "maintenance", number, "--for", "100ms")
        await_line(cluster.path("master.log"), f"worker {number}: its maintenance is over, and it is in use".encode(), seen)
        self.assertEqual(self.node(cluster, number)["state"], "alive")
        self.assertIsNone(self.node(cluster, number)["reason"])
        self.assertEqual(cluster.run("fs", "cat", "/file")[0], data)

    def test_blocks_that_only_these_nodes_have_are_counted_and_refused(self):
        cluster, data = self.start(replication=1)
        worker = self.holder(cluster)
        number = self.number(cluster, worker)
        alone = self.node(cluster, number)["blocks"]
        _, error = cluster.run("node", "maintenance", number, "--for", "30m", status=1)
        self.assertIn(f"{alone} block".encode(), error)
        self.assertIn(b"--force", error)
        self.assertEqual(self.node(cluster, number)["state"], "alive")
        cluster.run("node", "maintenance", number, "--for", "30m", "--force")
        while self.status_of_maintenance(cluster) > 0:
            pass
        self.lose(cluster, worker)
        self.assertEqual(cluster.run("fs", "cat", "/file")[0], data)

    def status_of_maintenance(self, cluster):
        return self.status(cluster, status=None)["blocks"]["only_in_maintenance"]

    def test_a_rack(self):
        cluster, data = self.start(workers=4, racks=2)
        cluster.run("node", "maintenance", "--rack", "/rack1", "--for", "2h", "--reason", "switch")
        states = {n["rack"]: [m["state"] for m in json.loads(cluster.run("node", "list", "--json")[0]) if m["rack"] == n["rack"]]
                  for n in json.loads(cluster.run("node", "list", "--json")[0])}
        self.assertEqual(states, {"/rack0": ["alive", "alive"], "/rack1": ["maintenance", "maintenance"]})
        for worker in (1, 3):
            self.lose(cluster, worker)
        self.assertEqual(cluster.run("fs", "cat", "/file")[0], data)
        _, error = cluster.run("node", "maintenance", "--rack", "/rack0", "--for", "2h", status=1)
        self.assertIn(b"no live node would be left", error)
        for worker in (1, 3):
            cluster.start_worker(worker)
        cluster.run("node", "maintenance", "--rack", "/rack1", "--end")
        cluster.run("node", "decommission", "--force", "--rack", "/rack1", "--reason", "sold")
        nodes = [n for n in json.loads(cluster.run("node", "list", "--json")[0]) if n["rack"] == "/rack1"]
        self.assertEqual([(n["state"], n["reason"]) for n in nodes], [("decommissioned", "sold")] * 2)
        cluster.kill_master()
        cluster.start_master()
        self.assertEqual(self.node(cluster, nodes[0]["node"])["reason"], "sold")
        self.assertIn(b"no node there that is not lost", cluster.run("node", "decommission", "--rack", "nowhere", status=1)[1])

    def test_wrong_usage(self):
        cluster, _ = self.start(workers=1, racks=1, replication=1)
        for words in (["1"], ["--for", "1h"], ["1", "--for", "25h"], ["1", "--for", "soon"], ["1", "--for", "1h", "--end"], ["1", "--for", "0s"]):
            with self.subTest(words=words):
                cluster.run("node", "maintenance", *words, status=2)
        _, error = cluster.run("node", "maintenance", "1", "--for", "1h", "--force", "--reason", "x" * 201, status=1)
        self.assertIn(b"at most 200", error)


if __name__ == "__main__":
    unittest.main()
