# SPDX-License-Identifier: Apache-2.0
"""A worker may go when the master says so, whatever happens to the master, the worker and the network while somebody waits for that."""

import json
import os
import random
import shutil
import signal
import subprocess
import unittest

from cluster import LIMIT_SECONDS, MILLRACE, Cluster, await_line

FAST = ["master.heartbeat=200ms", "master.lost_after=2s", "master.disconnect_grace=500ms", "master.startup_grace=2s"]


class LeavingTest(unittest.TestCase):
    def start(self, workers=3):
        """A cluster whose first worker alone has a file of twelve blocks; its bytes are returned, too."""
        cluster = Cluster(workers=0, settings=FAST)
        cluster.__enter__()
        self.addCleanup(cluster.__exit__, None, None, None)
        cluster.start_worker(0)
        alone = random.Random(7).randbytes(12_000_000)
        cluster.run("fs", "put", "--replication", "1", "--block-size", "1M", "-", "/alone", input=alone)
        for n in range(1, workers):
            cluster.start_worker(n)
        return cluster, alone

    def number(self, cluster, worker):
        with open(cluster.path(f"ready{worker}"), encoding="utf-8") as f:
            return f.read().strip()

    def node(self, cluster, number):
        (node,) = (n for n in json.loads(cluster.run("node", "list", "--json")[0]) if n["node"] == int(number))
        return node

    def await_copying(self, command):
        """Workers that have just started may not have listed their blocks yet, which is said first."""
        while b"to copy" not in (line := command.stderr.readline()):
            self.assertIn(b"have not yet told the master", line)

    def take_away(self, cluster, worker):
        """For good: nothing that is on its disk can be had any more."""
        cluster.kill_worker(worker)
        os.rename(cluster.path(f"worker{worker}"), cluster.path(f"gone{worker}"))

    def test_the_master_is_killed_and_started_again_and_again_while_the_command_waits(self):
        cluster, alone = self.start()
        number = self.number(cluster, 0)
        command = cluster.start("node", "decommission", number)
        self.await_copying(command)
        for _ in range(3):
            cluster.kill_master()
            cluster.start_master()
        _, error = command.communicate(timeout=240)
        self.assertEqual(command.returncode, 0, error)
        self.take_away(cluster, 0)
        self.assertEqual(cluster.run("fs", "cat", "/alone")[0], alone)

    def test_a_master_that_has_just_started_does_not_say_that_it_may_go(self):
        cluster, alone = self.start(workers=2)
        number = self.number(cluster, 0)
        # Nobody copies anything while the other worker is stopped, so the node never may go.
        cluster.workers[1].send_signal(signal.SIGSTOP)
        self.addCleanup(lambda: cluster.workers[1].send_signal(signal.SIGCONT))
        cluster.run("node", "decommission", "--force", "--no-wait", number)
        seen = os.path.getsize(cluster.path("master.log"))
        cluster.kill_master()
        cluster.start_master()
        self.assertEqual(self.node(cluster, number)["may_go"], "unknown")
        await_line(cluster.path("master.log"), b"worker " + number.encode() + b" at", seen)
        while (node := self.node(cluster, number))["may_go"] == "unknown":
            self.assertNotEqual(node["state"], "decommissioned")
        self.assertEqual(node["may_go"], "blocks")
        cluster.workers[1].send_signal(signal.SIGCONT)
        cluster.run("node", "decommission", "--force", number)
        self.assertEqual(self.node(cluster, number)["state"], "decommissioned")
        self.take_away(cluster, 0)
        self.assertEqual(cluster.run("fs", "cat", "/alone")[0], alone)

    def test_a_worker_that_is_stopped_is_not_done(self):
        cluster, alone = self.start(workers=2)
        number = self.number(cluster, 0)
        # The stopped worker would take the blocks, so that none has left when the other one is stopped, too.
        cluster.workers[1].send_signal(signal.SIGSTOP)
        command = cluster.start("node", "decommission", "--force", number)
        self.await_copying(command)
        cluster.workers[0].send_signal(signal.SIGSTOP)
        _, error = command.communicate(timeout=240)
        self.assertEqual(command.returncode, 1, error)
        self.assertIn(f"node {number} is lost: 12 blocks that it had and no other node has are missing (\"/alone\")".encode(), error)
        self.assertIn(b"12 blocks were there and have no replica now", cluster.run("node", "forget", number, status=1)[1])
        for worker in (0, 1):
            cluster.workers[worker].send_signal(signal.SIGCONT)
        while self.node(cluster, number)["may_go"] in ("lost", "unknown"):
            pass
        cluster.run("node", "decommission", "--force", number)
        self.take_away(cluster, 0)
        self.assertEqual(cluster.run("fs", "cat", "/alone")[0], alone)
        while self.node(cluster, number)["state"] != "lost":
            pass
        cluster.run("node", "forget", number)

    def test_without_anybody_to_copy_to_it_ends_with_a_failure(self):
        cluster, _ = self.start(workers=1)
        number = self.number(cluster, 0)
        _, error = cluster.run("node", "decommission", "--force", number, status=1)
        self.assertIn(b"no other node is in use that could take 12 blocks", error)
        cluster.run("fs", "rm", "/alone")
        cluster.run("node", "decommission", "--force", number)  # it has nothing any more

    def test_a_file_that_is_being_written_through_it_keeps_it(self):
        cluster, _ = self.start()
        number = self.number(cluster, 0)
        writer = cluster.start_writer("/open", "--replication", "3", "--block-size", "1M")
        writer.stdin.write(b"x" * 600_000)  # a part of a block, on all three
        writer.stdin.flush()
        command = cluster.start("node", "decommission", "--force", number)
        while self.node(cluster, number)["blocks_left"] > 0:
            pass
        self.assertEqual(self.node(cluster, number)["may_go"], "blocks")
        self.assertIsNone(command.poll())
        writer.stdin.close()
        self.assertEqual(writer.wait(240), 0)
        _, error = command.communicate(timeout=240)
        self.assertEqual(command.returncode, 0, error)
        self.take_away(cluster, 0)
        self.assertEqual(cluster.run("fs", "cat", "/open")[0], b"begin" + b"x" * 600_000)


class SetBackTest(unittest.TestCase):
    """The master runs on an older state: what was acknowledged since is not deleted."""

    def block_files(self, cluster):
        """The numbers of the blocks on the first worker, those in its trash included."""
        found = set()
        for place, _, names in os.walk(cluster.path("worker0")):
            if "blocks" in place or "trash" in place:
                found.update(name[:16] for name in names)
        return found

    def await_blocks(self, cluster):
        while json.loads(cluster.run("node", "list", "--json")[0])[0]["blocks"] == 0:
            pass

    def master(self, cluster, *args):
        setting = ["--set", f"master.directory={cluster.path('master')}"]
        subprocess.run([MILLRACE, "master", *args, *setting], check=True, capture_output=True, timeout=LIMIT_SECONDS)

    def run_with(self, keep, set_back):
        with Cluster(workers=1, settings=[*FAST, "dfs.lease_grace=1s"]) as cluster:
            data = random.Random(5).randbytes(2_000_000)
            writer = cluster.start_writer("/slow", "--replication", "1", "--block-size", "1M")
            writer.stdin.write(data)  # blocks have been given out, and one is finished at least
            writer.stdin.flush()
            self.await_blocks(cluster)
            older = cluster.path("older")
            keep(cluster, older)
            writer.stdin.close()
            self.assertEqual(writer.wait(LIMIT_SECONDS), 0, writer.stderr.read())
            cluster.run("fs", "put", "--replication", "1", "-", "/late", input=b"late")
            before = self.block_files(cluster)
            seen = os.path.getsize(cluster.path("worker0.log"))
            master_seen = os.path.getsize(cluster.path("master.log"))
            cluster.kill_master()
            os.rename(cluster.path("master"), cluster.path("newer"))
            set_back(cluster, older)
            cluster.start_master()
            await_line(cluster.path("worker0.log"), b"registered with the master", seen)
            await_line(cluster.path("master.log"), b"is given up: its writer went away", master_seen)
            self.assertIn("may be older than what clients were told", cluster.run("cluster", "status")[0].decode())
            # What is made and removed now is deleted, so that orders that were given before have been carried out, too.
            cluster.run("fs", "put", "--replication", "1", "-", "/young", input=b"x")
            self.assertNotEqual(self.block_files(cluster), before)
            cluster.run("fs", "rm", "/young")
            while self.block_files(cluster) > before:
                pass
            self.assertEqual(self.block_files(cluster), before, "nothing else is deleted")
            cluster.kill_master()
            os.rename(cluster.path("master"), cluster.path("set-back"))
            os.rename(cluster.path("newer"), cluster.path("master"))
            cluster.start_master()
            cluster.run("fs", "safemode", "wait")
            self.assertEqual(cluster.run("fs", "cat", "/slow")[0], b"begin" + data)
            self.assertEqual(cluster.run("fs", "cat", "/late")[0], b"late")
            return cluster.log("worker0")

    def test_a_backup_made_during_a_put_is_restored(self):
        def restore(cluster, backup):
            os.mkdir(cluster.path("master"))
            self.master(cluster, "restore", backup)

        self.run_with(lambda cluster, older: cluster.run("master", "backup", older), restore)

    def test_an_old_image_of_the_masters_disk_is_found_by_what_workers_were_told(self):
        def image(cluster, older):
            cluster.kill_master()
            shutil.copytree(cluster.path("master"), older)
            cluster.start_master()
            cluster.run("fs", "safemode", "wait")

        said = self.run_with(image, lambda cluster, older: os.rename(older, cluster.path("master")))
        self.assertIn("the master's database is older than what this worker was told", said)


if __name__ == "__main__":
    unittest.main()
