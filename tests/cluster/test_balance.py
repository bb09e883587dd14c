# SPDX-License-Identifier: Apache-2.0
"""A worker that joins a full cluster gets its share of the blocks, nothing is lost on the way, and jobs follow their data."""

import json
import unittest

from cluster import Cluster, words

FAST = ["master.heartbeat=200ms", "master.lost_after=2s", "master.disconnect_grace=500ms", "master.startup_grace=1s"]
MIB = 1 << 20


class BalanceTest(unittest.TestCase):
    def status(self, cluster):
        return json.loads(cluster.run("fs", "balance", "--status", "--json")[0])

    def test_a_worker_that_joins_gets_its_share(self):
        with Cluster(workers=2, settings=FAST) as cluster:
            files = {f"/text{n}": words(n, 700_000) for n in range(3)}
            for name, data in files.items():
                cluster.run("fs", "put", "--block-size", "1M", "--replication", "2", "-", name, input=data)
            held = 2 * sum(len(data) for data in files.values())
            self.assertEqual(self.status(cluster)["state"], "off")
            cluster.start_worker(2)

            # Workers of one machine share a disk that may be of any size: 2 MiB of it are the threshold.
            nodes = json.loads(cluster.run("node", "list", "--json")[0])
            capacity = nodes[0]["capacity"]
            threshold = 2 * MIB / capacity
            out, err = cluster.run("fs", "balance", "--threshold", f"{100 * threshold:.12f}", "--wait")
            self.assertIn(b"balanced: ", out)

            after = self.status(cluster)
            self.assertEqual(after["state"], "balanced")
            self.assertEqual(after["bytes_left"], 0)
            self.assertGreaterEqual(after["moved_bytes"], held / 3 - 3 * MIB, "the third worker had nothing")
            self.assertLessEqual(after["largest_fraction"] - after["mean_fraction"], threshold * 1.001)
            self.assertLessEqual(after["mean_fraction"] - after["smallest_fraction"], threshold * 1.001)
            self.assertAlmostEqual(after["mean_fraction"] * 3 * capacity, held, delta=3 * 4096)

            fsck = json.loads(cluster.run("fs", "fsck", "--json")[0])
            self.assertEqual((fsck["healthy"], fsck["missing"], fsck["under_replicated"], fsck["over_replicated"]), (True, 0, 0, 0))
            out, _ = cluster.run("fs", "verify", "--wait")
            self.assertIn(b" 0 corrupt, 0 absent, 0 unreachable", out)
            for name, data in files.items():
                self.assertEqual(cluster.run("fs", "cat", name)[0], data)

            # Balanced already: it ends at once and moves nothing. A master that starts again has forgotten all of it.
            out, _ = cluster.run("fs", "balance", "--threshold", f"{100 * threshold:.12f}", "--wait")
            self.assertIn(b"balanced: 0 blocks", out)
            self.assertIn(b"not under way", cluster.run("fs", "balance", "--stop")[0])
            cluster.stop_master()
            cluster.start_master()
            self.assertEqual(self.status(cluster)["state"], "off")

    def test_a_waiting_map_runs_first_where_its_input_was_copied_to(self):
        with Cluster(workers=0, settings=FAST) as cluster:
            cluster.start_worker(0, ["worker.map_slots=0"])
            for name in "abc":
                cluster.run("fs", "put", "--replication", "1", "-", f"/in/{name}", input=words(1, 1000))
            cluster.start_worker(1)
            start = lambda *args: cluster.run("run", *args, "--detach")[0].split()[-1].decode()
            long = start("sleep", "-o", "/long", "-D", "input.maps=1", "-D", "sleep.map_time=1h")
            job = start("wordcount", "/in", "-o", "/out", "-D", "job.pack=0")
            cluster.run("fs", "setrep", "2", "/in/c")
            history = lambda: cluster.run("job", "history", job)[0].decode().splitlines()
            for _ in range(2000):  # each look is a call that the master answers between its own steps
                if any(f" ReplicasMoved map=job{job}.m.2 replicas=n1,n2" in line for line in history()):
                    break
            cluster.run("job", "kill", long)
            cluster.run("job", "wait", job)
            maps = [line.split(" attempt=")[1] for line in history() if f" AttemptLaunched attempt=job{job}.m." in line]
            self.assertEqual(maps, [f"job{job}.m.{n}.0 node=n2" for n in (2, 0, 1)])


if __name__ == "__main__":
    unittest.main()
