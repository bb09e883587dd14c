# SPDX-License-Identifier: Apache-2.0
"""Certificates that are tied: a worker's to its storage, and keys to their owner."""

import json
import os
import re
import unittest

from cluster import await_line
from secure_cluster import SecureCluster


class TiedTest(unittest.TestCase):
    def start_refused(self, cluster, n, *settings):
        """Starts worker n, of whom the master's log then says that he is refused; gives that line."""
        seen = os.path.getsize(cluster.path("master.log"))
        cluster.start_worker(n, settings=settings, wait=False)
        await_line(cluster.path("master.log"), b"refused: ", seen)
        cluster.kill_worker(n)
        with open(cluster.path("master.log")) as f:
            f.seek(seen)
            return next(line for line in f if "refused: " in line)

    def nodes(self, cluster):
        return {node["node"]: node["state"] for node in json.loads(cluster.run("node", "list", "--json")[0])}

    def test_a_worker_s_certificate_is_good_for_its_storage_alone(self):
        with SecureCluster(workers=2, users=["admin"], settings=["master.disconnect_grace=0s", "master.startup_grace=0s"]) as cluster:
            cluster.run("fs", "put", "--replication", "1", "-", "/f", input=b"text")
            for n in (0, 1):
                cluster.kill_worker(n)
            # With the certificate of worker 0, the storage of worker 1: neither its number nor its blocks are to be had.
            stolen = self.start_refused(cluster, 0, f"worker.directory={cluster.path('worker1')}")
            self.assertIn("as worker:w0: its storage is that of node ", stolen)
            self.assertIn("which registered as worker:w1", stolen)
            # Disks that were replaced: the operator says that the old ones are gone.
            replaced = self.start_refused(cluster, 0, f"worker.directory={cluster.path('fresh')}")
            node = re.search(r"`millrace node forget (\d+)` frees it", replaced)[1]
            cluster.kill_master()
            cluster.start_master()
            self.assertIn("frees it", self.start_refused(cluster, 0, f"worker.directory={cluster.path('fresh')}"))
            cluster.start_worker(1)
            cluster.run("fs", "rm", "/f")
            cluster.by("admin", "node", "forget", "--force", node)
            cluster.start_worker(0, settings=[f"worker.directory={cluster.path('fresh')}"])
            self.assertNotIn(int(node), self.nodes(cluster))

    def test_a_key_that_others_may_read_is_refused(self):
        with SecureCluster(workers=1, users=["bob"]) as cluster:
            key = cluster.path("ca", "client-bob", "key.pem")
            for mode in (0o644, 0o640, 0o666):
                os.chmod(key, mode)
                self.assertIn(f"run `chmod 600 {key}`", cluster.by("bob", "fs", "ls", "/", status=3))
            os.chmod(key, 0o600)
            cluster.by("bob", "fs", "ls", "/")
            own = cluster.path("ca", "worker-w0", "key.pem")
            os.chmod(own, 0o644)
            cluster.kill_worker(0)
            cluster.start_worker(0, wait=False)
            self.assertNotEqual(cluster.workers[0].wait(), 0)
            self.assertIn(f"run `chmod 600 {own}`", cluster.log("worker0"))
            os.chmod(own, 0o600)
            cluster.start_worker(0)


if __name__ == "__main__":
    unittest.main()
