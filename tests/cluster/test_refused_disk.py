# SPDX-License-Identifier: Apache-2.0
"""What a disk has refused to write or to read is not believed, by real daemons whose calls fail (refused_sync.c)."""

import glob
import os
import random
import signal
import unittest

from cluster import LIMIT_SECONDS, Cluster, await_line

FAST = ["master.heartbeat=200ms", "master.lost_after=2s", "master.disconnect_grace=500ms", "master.startup_grace=1s"]
SHIM = os.environ["MILLRACE_TEST_REFUSED_SYNC"]


class RefusedDiskTest(unittest.TestCase):
    def start(self, cluster, n, **refuse):
        """A worker whose calls fail as the shim says."""
        environment = {name.upper(): value for name, value in refuse.items()}
        if environment:
            environment["LD_PRELOAD"] = SHIM
        os.environ.update(environment)
        try:
            cluster.start_worker(n)
        finally:
            for name in environment:
                del os.environ[name]

    def put(self, cluster, replication, status=0):
        """One block, so large that most of it was acknowledged before its sync."""
        data = random.Random(7).randbytes(12_000_000)
        with open(cluster.path("data"), "wb") as f:
            f.write(data)
        _, err = cluster.run("fs", "put", "--replication", str(replication), cluster.path("data"), "/data", status=status)
        return data, err

    def refused(self, cluster, n):
        return cluster.log(f"worker{n}").count("refused a write")

    def sound(self, cluster, data):
        self.assertEqual(cluster.run("fs", "cat", "/data")[0], data)
        cluster.run("fs", "verify", "--wait", "/data")
        # At risk until the replica that was refused is made again.
        self.assertRegex(cluster.run("fs", "fsck", status=None)[0].decode(), r"(?m)^missing +0$")

    def test_the_only_replica_whose_sync_failed_is_not_acknowledged(self):
        for what in ["data", "checksums"]:
            with self.subTest(what), Cluster(workers=0, settings=FAST) as cluster:
                self.start(cluster, 0, refused_sync=what)
                _, err = self.put(cluster, 1, status=1)
                self.assertIn(b"Input/output error", err)
                self.assertEqual(self.refused(cluster, 0), 1)
                self.assertEqual([p for p in glob.glob(cluster.path("worker0", "blocks", "*", "*"))], [])
                data, _ = self.put(cluster, 1)  # the disk takes the next one
                self.sound(cluster, data)

    def test_when_both_replicas_failed_nothing_is_acknowledged(self):
        with Cluster(workers=0, settings=FAST) as cluster:
            for n in range(2):
                self.start(cluster, n, refused_sync="data")
            _, err = self.put(cluster, 2, status=1)
            self.assertIn(b"none of its nodes has kept it", err)
            self.assertEqual([self.refused(cluster, n) for n in range(2)], [1, 1])
            data, _ = self.put(cluster, 2)
            self.sound(cluster, data)

    def test_a_replica_whose_sync_failed_does_not_count(self):
        with Cluster(workers=0, settings=FAST) as cluster:
            self.start(cluster, 0, refused_sync="data")
            self.start(cluster, 1)
            data, _ = self.put(cluster, 2)
            self.assertEqual(self.refused(cluster, 0), 1)
            self.sound(cluster, data)

    def test_a_replica_that_cannot_be_read_is_read_elsewhere_and_told(self):
        with Cluster(workers=0, settings=FAST) as cluster:
            self.start(cluster, 0, refused_read="/blocks/")
            self.start(cluster, 1)
            data, _ = self.put(cluster, 2)
            cluster.run("fs", "verify", "--wait", "/data", status=1)
            self.assertIn("cannot be read", cluster.log("worker0"))
            self.assertEqual(cluster.run("fs", "cat", "/data")[0], data)

    def test_a_worker_ends_though_its_disk_does_not_answer(self):
        with Cluster(workers=0, settings=FAST) as cluster:
            self.start(cluster, 0, refused_sync="never")
            with open(cluster.path("data"), "wb") as f:
                f.write(b"words\n" * 1000)
            put = cluster.start("fs", "put", "--replication", "1", cluster.path("data"), "/data")
            await_line(cluster.path("worker0.log"), b"a sync does not return")
            cluster.workers[0].send_signal(signal.SIGTERM)
            self.assertEqual(cluster.workers[0].wait(LIMIT_SECONDS), 0)
            self.assertIn("the worker ends without waiting any longer", cluster.log("worker0"))
            put.kill()
            put.communicate()


if __name__ == "__main__":
    unittest.main()
