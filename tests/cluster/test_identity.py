# SPDX-License-Identifier: Apache-2.0
"""A cluster's identity: a master with a wrong or empty directory, and workers of another cluster, destroy nothing."""

import json
import os
import random
import subprocess
import unittest

from cluster import LIMIT_SECONDS, MILLRACE, Cluster, await_line

FAST = ["master.heartbeat=200ms", "master.lost_after=2s", "master.disconnect_grace=500ms", "master.startup_grace=1s"]


def block_files(cluster, n, below="blocks"):
    """The blocks that lie in worker n's directory, with their sizes."""
    found = {}
    for directory, _, names in os.walk(cluster.path(f"worker{n}", below)):
        for name in names:
            found[name] = os.path.getsize(os.path.join(directory, name))
    return found


class Identity(unittest.TestCase):
    def setUp(self):
        self.cluster = Cluster(workers=3, settings=FAST)
        self.cluster.__enter__()
        self.addCleanup(self.cluster.__exit__, None, None, None)
        self.data = random.Random(12).randbytes(12_000_000)

    def put(self, cluster, path, data):
        cluster.run("fs", "put", "--block-size", "1M", "-", path, input=data)

    def stop_master(self, cluster):
        cluster.master.terminate()
        cluster.master.wait(LIMIT_SECONDS)

    def seen(self, name):
        return os.path.getsize(self.cluster.path(name))

    def refusal(self, directory):
        done = subprocess.run([MILLRACE, "master", "--set", "master.bind=127.0.0.1:0", "--set", f"master.directory={directory}"],
                              capture_output=True, stdin=subprocess.DEVNULL, timeout=LIMIT_SECONDS)
        self.assertEqual(done.returncode, 1)
        return done.stderr.decode()

    def healthy(self, cluster):
        health = json.loads(cluster.run("fs", "fsck", "--json")[0])
        self.assertEqual((health["missing"], health["under_replicated"], health["unknown_blocks"], health["live_workers"]), (0, 0, 0, 3), health)

    def await_workers(self, cluster, text, seen):
        for n in range(3):
            await_line(cluster.path(f"worker{n}.log"), text, seen[n])

    def test_a_master_with_an_empty_directory_touches_no_block(self):
        cluster = self.cluster
        self.put(cluster, "/text", self.data)
        before = [block_files(cluster, n) for n in range(3)]
        self.assertGreater(len(before[0]), 20)
        self.stop_master(cluster)
        own, aside = cluster.path("master"), cluster.path("master.aside")
        os.rename(own, aside)

        said = self.refusal(own)
        self.assertIn(own, said)
        self.assertIn("millrace master --init", said)
        self.assertFalse(os.path.exists(own))

        seen = [self.seen(f"worker{n}.log") for n in range(3)]
        other = cluster.init_master()
        cluster.start_master()
        self.await_workers(cluster, other.encode(), seen)
        self.assertEqual(json.loads(cluster.run("node", "list", "--json")[0]), [])
        # Long enough for what took 16 seconds with the defaults: the grace is over when a file can be told to have no room.
        cluster.run("fs", "put", "-", "/no-room", input=b"x", status=1)
        self.assertEqual([block_files(cluster, n) for n in range(3)], before)

        self.stop_master(cluster)
        os.rename(own, cluster.path("master.other"))
        os.rename(aside, own)
        seen = [self.seen(f"worker{n}.log") for n in range(3)]
        cluster.start_master()
        self.await_workers(cluster, b"registered with the master", seen)
        self.assertEqual(cluster.run("fs", "cat", "/text")[0], self.data)
        self.healthy(cluster)
        self.assertEqual([block_files(cluster, n) for n in range(3)], before)

    def test_a_worker_of_another_cluster_is_not_taken_in(self):
        cluster = self.cluster
        self.put(cluster, "/text", self.data)
        with Cluster(workers=0, settings=FAST) as other:
            before = block_files(cluster, 0)
            cluster.workers[0].terminate()
            cluster.workers[0].wait(LIMIT_SECONDS)
            seen = self.seen("worker0.log")
            address, cluster.address = cluster.address, other.address
            cluster.start_worker(0, wait=False)
            cluster.address = address
            with open(cluster.path("worker0", "cluster_id")) as f:
                own = f.read().strip()
            await_line(cluster.path("worker0.log"), own.encode(), seen)
            self.assertEqual(json.loads(other.run("node", "list", "--json")[0]), [])
            other.run("fs", "put", "-", "/no-room", input=b"x", status=1)
            self.assertEqual(block_files(cluster, 0), before)
            self.assertIsNone(cluster.workers[0].poll())
            cluster.workers[0].terminate()
            cluster.workers[0].wait(LIMIT_SECONDS)
        cluster.start_worker(0)
        self.healthy(cluster)
        self.assertEqual(block_files(cluster, 0), before)

    def test_too_many_unknown_blocks_are_held_and_come_back_from_the_trash(self):
        cluster = self.cluster
        self.put(cluster, "/old", b"old")
        old = {block["block"] for block in json.loads(cluster.run("fs", "stat", "--json", "/old")[0])[0]["blocks"]}
        self.stop_master(cluster)
        own, older, newer = cluster.path("master"), cluster.path("master.older"), cluster.path("master.newer")
        subprocess.run(["cp", "-a", own, older], check=True)
        seen = [self.seen(f"worker{n}.log") for n in range(3)]
        cluster.start_master()
        self.await_workers(cluster, b"registered with the master", seen)
        self.put(cluster, "/text", self.data)
        before = [block_files(cluster, n) for n in range(3)]
        self.stop_master(cluster)

        # A database that is older than the blocks: of this cluster, but it lacks a file.
        os.rename(own, newer)
        os.rename(older, own)
        log = self.seen("master.log")
        cluster.start_master()
        for node in (1, 2, 3):
            await_line(cluster.path("master.log"), f"millrace node discard-unknown {node}`".encode(), log)
        nodes = json.loads(cluster.run("node", "list", "--json")[0])
        self.assertEqual([node["unknown_held"] for node in nodes], [True] * 3)
        self.assertIn("blocks belong to no file", cluster.run("node", "list")[0].decode())
        self.assertEqual(json.loads(cluster.run("fs", "fsck", "--json")[0])["holding_workers"], 3)
        unknown = json.loads(cluster.run("node", "unknown", "--json", "1")[0])
        self.assertEqual(len(unknown), nodes[0]["unknown_blocks"])
        self.assertEqual([block_files(cluster, n) for n in range(3)], before)

        # Somebody confirms it for all that: the blocks go aside, and come back with the right directory.
        for node in (1, 2, 3):
            cluster.run("node", "discard-unknown", str(node))
        unknown = [{name for name in before[n] if name.split(".")[0] not in old} for n in range(3)]
        for n in range(3):
            await_line(cluster.path(f"worker{n}.log"), b"go to the trash", seen[n])
        while any(node["unknown_blocks"] for node in json.loads(cluster.run("node", "list", "--json")[0])):
            pass  # each look is a call that the master answers between its own steps
        for n in range(3):
            self.assertEqual({name[:16] + name[33:] for name in block_files(cluster, n, "trash")}, unknown[n])
        self.stop_master(cluster)
        os.rename(own, older)
        os.rename(newer, own)
        seen = [self.seen(f"worker{n}.log") for n in range(3)]
        cluster.start_master()
        self.await_workers(cluster, b"came back from the trash", seen)
        self.await_workers(cluster, b"registered with the master", seen)
        self.assertEqual(cluster.run("fs", "cat", "/text")[0], self.data)
        self.assertEqual([block_files(cluster, n) for n in range(3)], before)
        self.healthy(cluster)

    def test_init_makes_a_cluster_once(self):
        directory = self.cluster.path("new", "master")
        self.assertRegex(self.cluster.init_master(directory), "^[0-9a-f]{32}$")
        said = self.cluster.init_master(directory, status=1)
        self.assertIn("there is a cluster already", said)
        self.assertIn(directory, said)
        done = subprocess.run([MILLRACE, "master"], capture_output=True, stdin=subprocess.DEVNULL, timeout=LIMIT_SECONDS)
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"master.directory is not set", done.stderr)


class Client(unittest.TestCase):
    WRONG = "0123456789abcdef" * 2

    def setUp(self):
        self.cluster = Cluster(workers=0, settings=FAST)
        self.cluster.__enter__()
        self.addCleanup(self.cluster.__exit__, None, None, None)

    def refused(self, program, *args, status, **environment):
        done = subprocess.run([program, *args], env={**self.cluster.environment(), **environment}, capture_output=True, stdin=subprocess.DEVNULL, timeout=LIMIT_SECONDS)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stderr.decode()

    def named(self):
        """The master at an address that is remembered: loopback addresses are not."""
        return self.cluster.address.replace("127.0.0.1", "0.0.0.0")

    def test_who_waits_for_a_master_refuses_that_of_another_cluster_at_once(self):
        remembered = self.cluster.path("millrace", "known_clusters")
        self.cluster.run("--master", f"nowhere.invalid:1,{self.named()}", "fs", "ls", "/")
        with open(remembered) as f:
            known = f.read()
        self.assertEqual(known, f"{self.named()},nowhere.invalid:1 {self.cluster.id}\n")
        with open(remembered, "w") as f:
            f.write(known.replace(self.cluster.id, self.WRONG))
        said = self.refused(MILLRACE, "--wait", "1h", "--master", self.named(), "fs", "ls", "/", status=3)
        self.assertEqual(said.count("\n"), 1, said)
        self.assertIn(f"remove line 1 of {remembered}", said)

    def test_what_is_remembered_and_cannot_be_read_is_a_warning(self):
        os.makedirs(self.cluster.path("millrace", "known_clusters"))
        said = self.cluster.run("--master", self.named(), "fs", "ls", "/")[1].decode()
        self.assertEqual(said.count("\n"), 1, said)
        self.assertIn(f"look up the cluster of {self.named()}: ", said)

    def test_a_backup_of_another_cluster_is_not_taken(self):
        backups = self.cluster.path("backups")
        said = self.refused(MILLRACE, "--wait", "1h", "master", "backup", backups, status=3, MILLRACE_CLUSTER=self.WRONG)
        self.assertIn(f"and not of cluster {self.WRONG}", said)
        self.assertFalse(os.path.exists(backups))

    def test_a_preparation_looks_at_the_cluster_of_its_run_alone(self):
        job = self.cluster.path("job")
        with open(job, "w") as f:
            f.write("#!/bin/sh\n"
                    "case $1 in\n"
                    """--millrace-describe) echo '{"millrace_job":1,"name":"x","split_by":"numbers","record_bytes":0,"maps":1,"records":1,"prepares":true}' ;;\n"""
                    '*) echo "asked for: $*" >&2; exit 1 ;;\n'
                    "esac\n")
        os.chmod(job, 0o755)
        said = self.refused(MILLRACE, "--wait", "7s", "run", job, "-o", "/out", status=1)
        self.assertIn(f"asked for: --millrace-prepare {self.cluster.address} {self.cluster.id} 7s 1 --", said)

        terasort = os.path.join(os.path.dirname(MILLRACE), "terasort")
        said = self.refused(terasort, "--millrace-prepare", self.cluster.address, self.WRONG, "1h", "1", "--", "/in", status=1)
        self.assertIn(f"and not of cluster {self.WRONG}", said)
        self.cluster.kill_master()
        said = self.refused(terasort, "--millrace-prepare", self.cluster.address, self.WRONG, "200ms", "1", "--", "/in", status=1)
        self.assertIn("tried for 200 ms", said)


if __name__ == "__main__":
    unittest.main()
