# SPDX-License-Identifier: Apache-2.0
"""A master whose database was cut, lost or damaged says so, and can be given a backup or what is left."""

import glob
import os
import random
import shutil
import subprocess
import tempfile
import time
import unittest

from cluster import LIMIT_SECONDS, MILLRACE, Cluster

FAST = ["master.heartbeat=200ms", "master.lost_after=2s", "master.disconnect_grace=500ms", "master.startup_grace=1s"]


class MasterStorageTest(unittest.TestCase):
    def master(self, cluster, *args, status=0):
        """Runs the master's program on the cluster's directory and gives what it says."""
        setting = ["--set", f"master.directory={cluster.path('master')}", "--set", "master.bind=127.0.0.1:0"]
        done = subprocess.run([MILLRACE, "master", *args, *setting], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=LIMIT_SECONDS)
        self.assertEqual(done.returncode, status, done.stdout)
        return done.stdout

    def log(self, cluster):
        return max(glob.glob(cluster.path("master", "database", "*.log")))

    def is_doubted(self, cluster):
        """Whether the master holds its database to be older than what clients were told."""
        status = subprocess.run([MILLRACE, "cluster", "status"], env=cluster.environment(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=LIMIT_SECONDS)
        return b"may be older than what clients were told" in status.stdout

    def make(self, cluster, first, last):
        for n in range(first, last):
            cluster.run("fs", "mkdir", f"/d{n}")

    def test_an_init_that_is_killed_can_be_run_again(self):
        seed = int(os.environ.get("MILLRACE_SEED", time.time_ns() % 10**9))
        chance = random.Random(seed)
        for attempt in range(20):
            with self.subTest(seed=seed, attempt=attempt), tempfile.TemporaryDirectory() as directory:
                command = [MILLRACE, "master", "--init", "--set", f"master.directory={directory}/m"]
                begun = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                try:
                    begun.wait(timeout=chance.uniform(0, 0.1))
                except subprocess.TimeoutExpired:
                    begun.kill()
                    begun.wait()
                again = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=LIMIT_SECONDS)
                if again.returncode != 0:
                    self.assertIn(b"there is a cluster already", again.stdout)

    def test_a_cut_and_a_deleted_log_are_refused(self):
        with Cluster(workers=0, settings=FAST) as cluster:
            self.make(cluster, 0, 8)
            cluster.kill_master()
            log = self.log(cluster)
            with open(log, "rb") as f:
                whole = f.read()
            os.truncate(log, len(whole) // 2)
            said = self.master(cluster, status=1)
            self.assertIn(b"was acknowledged", said)
            self.assertIn(b"millrace master repair", said)
            os.unlink(log)
            self.assertIn(b"was acknowledged", self.master(cluster, status=1))
            with open(log, "wb") as f:
                f.write(whole)
            cluster.start_master()
            out, _ = cluster.run("fs", "ls", "/")
            for n in range(8):
                self.assertIn(b"d%d" % n, out)

    def test_repair_takes_the_last_good_state_and_says_what_is_lost(self):
        with Cluster(workers=0, settings=FAST) as cluster:
            self.make(cluster, 0, 8)
            cluster.kill_master()
            log = self.log(cluster)
            with open(log, "rb") as f:
                os.truncate(log, f.read().rindex(b"d7"))  # in the middle of the record that makes it; the master's own are behind it
            said = self.master(cluster, "repair", status=1)
            self.assertRegex(said, rb"[1-9]\d* acknowledged operations? (is|are) lost")
            self.assertIn(b"nothing was changed", said)
            self.master(cluster, status=1)
            self.assertIn(b"that state is taken", self.master(cluster, "repair", "--yes"))
            cluster.start_master()
            out, _ = cluster.run("fs", "ls", "/")
            self.assertIn(b"d0", out)
            self.assertNotIn(b"d7", out)
            self.assertTrue(self.is_doubted(cluster))

    def damage(self, path, at):
        with open(path, "r+b") as f:
            f.seek(at)
            byte = f.read(1)
            f.seek(at)
            f.write(bytes([byte[0] ^ 1]))

    def test_repair_skip_leaves_out_what_is_damaged_and_says_what_it_was(self):
        with Cluster(workers=0, settings=FAST) as cluster:
            self.make(cluster, 0, 30)
            cluster.kill_master()
            log = self.log(cluster)
            with open(log, "rb") as f:
                whole = f.read()
            self.damage(log, whole.index(b"d3") + 8)  # in what is stored of it
            self.assertRegex(self.master(cluster, "repair", status=1), rb"[1-9]\d* acknowledged operations? (is|are) lost")
            said = self.master(cluster, "repair", "--skip", status=1)
            self.assertIn(b"nothing was changed", said)
            self.master(cluster, status=1)
            said = self.master(cluster, "repair", "--skip", "--yes")
            self.assertIn(b"left out: ", said)
            self.assertIn(b'"/d3"', said)
            cluster.start_master()
            out, _ = cluster.run("fs", "ls", "/")
            there = {n for n in range(30) if b"/d%d\n" % n in out + b"\n"}
            self.assertNotIn(3, there)
            self.assertGreaterEqual(len(there), 28, "one record")
            self.assertIn(29, there)
            self.assertTrue(self.is_doubted(cluster))
            self.make(cluster, 40, 41)

    def test_a_database_that_is_gone_is_not_repaired(self):
        with Cluster(workers=0, settings=FAST) as cluster:
            self.make(cluster, 0, 3)
            cluster.kill_master()
            shutil.rmtree(cluster.path("master", "database"))
            self.assertIn(b"restore a backup", self.master(cluster, "repair", "--yes", status=1))
            os.mkdir(cluster.path("master", "database"))
            self.assertIn(b"no part of a cluster can be saved", self.master(cluster, "repair", "--yes", status=1))

    def test_a_second_copy_gives_back_what_the_first_lost(self):
        with Cluster(workers=0, settings=FAST) as cluster:
            cluster.stop_master()
            copy = f"master.journal_copy={cluster.path('copy')}"
            cluster.settings = [*FAST, copy]
            cluster.start_master()
            self.make(cluster, 0, 8)
            cluster.kill_master()
            self.damage(self.log(cluster), 100)
            self.assertIn(b"millrace master repair", self.master(cluster, "--set", copy, status=1))
            said = self.master(cluster, "repair", "--yes", "--set", copy)
            self.assertIn(b"everything that its second copy", said)
            cluster.start_master()
            self.make(cluster, 8, 10)
            cluster.kill_master()
            shutil.rmtree(cluster.path("master", "database"))
            self.assertIn(b"second copy", self.master(cluster, "repair", "--yes", "--set", copy))
            cluster.start_master()
            out, _ = cluster.run("fs", "ls", "/")
            for n in range(10):
                self.assertIn(b"d%d" % n, out)
            self.assertFalse(self.is_doubted(cluster), "nothing is lost")
            self.assertNotIn("is made again", cluster.log("master"), "the copy went on")

    def test_a_backup_is_taken_while_the_master_runs_and_restored(self):
        with Cluster(workers=1, settings=FAST) as cluster:
            backups = cluster.path("backups")
            self.make(cluster, 0, 3)
            data = os.urandom(300_000)
            cluster.run("fs", "put", "--replication", "1", "-", "/file", input=data)
            self.assertIn(b"up to operation", cluster.run("master", "backup", backups)[0])
            self.make(cluster, 3, 6)
            cluster.run("master", "backup", backups)
            self.make(cluster, 6, 9)
            cluster.kill_master()
            self.assertIn(b"there is a database already", self.master(cluster, "restore", backups, status=1))
            shutil.rmtree(cluster.path("master", "database"))
            self.assertIn(b"there is no cluster", self.master(cluster, status=1))
            self.assertIn(b"is restored up to operation", self.master(cluster, "restore", backups))
            cluster.start_master()
            out, _ = cluster.run("fs", "ls", "/")
            self.assertIn(b"d5", out)
            self.assertNotIn(b"d6", out)
            self.assertTrue(self.is_doubted(cluster))
            self.assertEqual(cluster.run("fs", "cat", "/file")[0], data)


if __name__ == "__main__":
    unittest.main()
