# SPDX-License-Identifier: Apache-2.0
"""Rot that nobody reads is found, and a worker whose storage is gone leaves."""

import glob
import json
import os
import shutil
import unittest

from cluster import Cluster, await_file, await_line, words

FAST = ["master.heartbeat=200ms", "master.lost_after=2s", "master.disconnect_grace=500ms", "master.startup_grace=1s", "worker.storage_check=200ms"]


class StorageTest(unittest.TestCase):
    def put(self, cluster, replication, name="/text"):
        data = words(7, 300_000)
        with open(cluster.path("text"), "wb") as f:
            f.write(data)
        cluster.run("fs", "put", "--block-size", "1M", "--replication", str(replication), cluster.path("text"), name)
        return data

    def blocks(self, cluster, n):
        """The data files of the worker's blocks."""
        return sorted(p for p in glob.glob(cluster.path(f"worker{n}", "blocks", "*", "*")) if not p.endswith(".crc"))

    def flip(self, path, at=1000):
        with open(path, "r+b") as f:
            f.seek(at)
            byte = f.read(1)
            f.seek(at)
            f.write(bytes([byte[0] ^ 1]))

    def seen(self, cluster, name):
        return os.path.getsize(cluster.path(name + ".log"))

    def spoil(self, cluster):
        """A flipped byte, a cut file, no data and no checksums: one each, on different workers."""
        self.flip(self.blocks(cluster, 0)[0])
        os.truncate(self.blocks(cluster, 1)[1], 1000)
        os.unlink(self.blocks(cluster, 2)[2])
        os.unlink(self.blocks(cluster, 0)[3] + ".crc")

    def test_the_scrubber_finds_what_no_reader_met(self):
        # Every block within 2 s: a worker reads all of its few blocks again and again. Each worker has a replica of every
        # block, so that none is moved or removed as one too many just when it is spoiled.
        with Cluster(workers=3, settings=FAST + ["worker.scrub_period=2s"]) as cluster:
            for n in range(8):
                self.put(cluster, 3, f"/text{n}")
            for n, spoil, said in [
                (0, self.flip, b"chunk"),
                (1, lambda path: os.truncate(path, 1000), b"block"),
                (2, os.unlink, b"is no longer here"),
            ]:
                before = self.seen(cluster, f"worker{n}")
                spoil(self.blocks(cluster, n)[n])
                await_line(cluster.path(f"worker{n}.log"), said, before)

    def test_verify_finds_what_no_reader_met(self):
        with Cluster(workers=3, settings=FAST) as cluster:
            for n in range(4):
                self.put(cluster, 3, f"/text{n}")
            out, _ = cluster.run("fs", "verify", "--wait")
            self.assertIn(b" 0 corrupt, 0 absent, 0 unreachable", out)
            self.spoil(cluster)
            out, _ = cluster.run("fs", "verify", "--wait", status=1)
            self.assertIn(b" 3 corrupt, 1 absent, 0 unreachable", out)
            self.assertEqual(out.count(b"corrupt     block"), 3)

    def test_a_mended_replica_is_taken_back(self):
        with Cluster(workers=1, settings=FAST) as cluster:
            self.put(cluster, 1)
            path = self.blocks(cluster, 0)[0]
            self.flip(path)
            cluster.run("fs", "verify", "--wait", "/text", status=1)
            cluster.run("fs", "fsck", status=1)
            cluster.run("fs", "cat", "/text", status=1)
            self.flip(path)
            cluster.run("fs", "verify", "--wait", "/text")
            cluster.run("fs", "fsck")
            cluster.run("fs", "cat", "/text")

    def test_damage_that_is_found_at_the_start_is_told(self):
        with Cluster(workers=1, settings=FAST + ["master.startup_grace=60s"]) as cluster:
            self.put(cluster, 1)
            path = self.blocks(cluster, 0)[0]
            cluster.kill_worker(0)
            os.rename(path + ".crc", path + ".aside")
            cluster.start_worker(0)
            cluster.run("fs", "cat", "/text", status=1)  # waits, within the grace, until the worker has listed its blocks
            out, _ = cluster.run("fs", "fsck", status=1)
            self.assertIn(b"corrupt replicas  1", out)
            os.rename(path + ".aside", path + ".crc")
            cluster.run("fs", "verify", "--wait", "/text")
            cluster.run("fs", "fsck")

    def test_a_worker_whose_directory_is_deleted_leaves(self):
        with Cluster(workers=2, settings=FAST + ["master.startup_grace=60s"]) as cluster:  # who left is not awaited
            data = self.put(cluster, 1)
            holder = 0 if self.blocks(cluster, 0) else 1
            self.put(cluster, 2, "/twice")
            shutil.rmtree(cluster.path(f"worker{holder}"))
            self.assertEqual(cluster.workers[holder].wait(60), 1)
            with open(cluster.path(f"worker{holder}.log"), "rb") as log:
                self.assertIn(b"is gone", log.read())
            out, _ = cluster.run("fs", "fsck", status=1)
            self.assertIn(b"missing           1", out)
            self.assertIn(b"live workers      1", out)
            # It was told, and did not need to be missed.
            with open(cluster.path("master.log"), "rb") as log:
                self.assertIn(b"leaves: the storage in", log.read())
            self.assertEqual(cluster.run("fs", "cat", "/twice")[0], data)
            # Its next life is a new node, to which the block is copied.
            before = self.seen(cluster, f"worker{holder}")
            cluster.start_worker(holder)
            await_line(cluster.path(f"worker{holder}.log"), b"as node 3", before)

    def test_a_worker_goes_on_without_a_disk_that_fails(self):
        with Cluster(workers=2, settings=FAST) as cluster:
            disks = [cluster.path("disk0"), cluster.path("disk1")]
            held = lambda disk: [p for p in glob.glob(os.path.join(disk, "blocks", "*", "*")) if not p.endswith(".crc")]
            for disk in disks:
                os.mkdir(disk)
            settings = ["worker.block_directories=" + ",".join(disks)]
            cluster.start_worker(2, settings)
            contents = {f"/text{n}": self.put(cluster, 3, f"/text{n}") for n in range(3)}
            self.assertTrue(held(disks[0]) and held(disks[1]), "blocks lie on both disks")
            lost = held(disks[1])
            # Gone, and no way to make it again.
            os.rename(disks[1], disks[1] + ".gone")
            await_line(cluster.path("worker2.log"), f"the disk of {disks[1]} has failed".encode())
            self.assertIn(f"its {len(lost)} blocks are to be copied from other workers", cluster.log("worker2"))
            for name, data in contents.items():
                self.assertEqual(cluster.run("fs", "cat", name)[0], data)
            # Its blocks are copied to the disk that is left: there is no other place for a third replica.
            for path in lost:
                await_file(path.replace(disks[1], disks[0]), cluster.workers[2])
            cluster.run("fs", "verify", "--wait")
            fsck = json.loads(cluster.run("fs", "fsck", "--json")[0])
            self.assertEqual((fsck["healthy"], fsck["missing"], fsck["under_replicated"]), (True, 0, 0))
            self.assertIsNone(cluster.workers[2].poll())
            self.assertEqual(cluster.log("worker2").count("has failed"), 1)
            # What is written goes to the disk that is left.
            before = len(held(disks[0]))
            contents["/later"] = self.put(cluster, 3, "/later")
            self.assertGreater(len(held(disks[0])), before)
            # An empty directory in its place, as of a disk that is not mounted, is not taken for it.
            os.mkdir(disks[1])
            cluster.kill_worker(2)
            cluster.start_worker(2, settings, wait=False)
            self.assertEqual(cluster.workers[2].wait(60), 1)
            self.assertIn("lacks its mark; mount its disk", cluster.log("worker2"))
            # The disk is back; what is on both of the worker's disks by now counts once.
            os.rmdir(disks[1])
            os.rename(disks[1] + ".gone", disks[1])
            cluster.start_worker(2, settings)
            for name, data in contents.items():
                self.assertEqual(cluster.run("fs", "cat", name)[0], data)
            cluster.run("fs", "verify", "--wait")
            cluster.run("fs", "fsck")

    def test_what_tasks_write_may_lie_on_a_disk_of_its_own(self):
        with Cluster(workers=0, settings=FAST) as cluster:
            disk = cluster.path("disk")
            settings = [f"worker.task_directory={disk}", "worker.log_retention=1h"]
            # An empty mount point is not made to be the disk.
            cluster.start_worker(0, settings, wait=False)
            self.assertEqual(cluster.workers[0].wait(60), 1)
            self.assertIn(f"worker.task_directory {disk} is not an existing directory; mount its disk", cluster.log("worker0"))
            self.assertFalse(os.path.exists(disk))
            os.mkdir(disk)
            cluster.start_worker(0, settings)
            cluster.start_worker(1, settings, wait=False)
            self.assertEqual(cluster.workers[1].wait(60), 1)
            self.assertIn(f"another worker uses {disk}", cluster.log("worker1"))
            self.put(cluster, 1)
            cluster.run("run", "wordcount", "/text", "-o", "/counts")
            logs = glob.glob(os.path.join(disk, "logs", "*", "*"))
            self.assertTrue(logs)
            self.assertTrue(os.listdir(os.path.join(disk, "executables")))
            self.assertIn("jobs", os.listdir(disk))  # the maps' outputs are removed with the job
            for part in ("jobs", "logs", "executables"):
                self.assertFalse(os.path.exists(cluster.path("worker0", part)), part)
            # Blocks stay where they were, and a new disk in its place costs nothing but what tasks wrote.
            self.assertTrue(self.blocks(cluster, 0))
            cluster.workers[0].terminate()
            self.assertEqual(cluster.workers[0].wait(60), 0)
            shutil.rmtree(disk)
            os.mkdir(disk)
            cluster.start_worker(0, settings)
            counts = cluster.run("fs", "cat", "/counts/part-r-00000")[0]
            cluster.run("run", "wordcount", "/text", "-o", "/again")
            self.assertEqual(cluster.run("fs", "cat", "/again/part-r-00000")[0], counts)
            # Without it the worker cannot go on.
            os.rename(disk, disk + ".gone")
            self.assertEqual(cluster.workers[0].wait(60), 1)
            self.assertIn(f"the storage in {disk} is gone", cluster.log("worker0"))

    def test_blocks_and_what_tasks_write_do_not_share_a_directory_by_two_options(self):
        with Cluster(workers=0, settings=FAST) as cluster:
            disk = cluster.path("disk")
            os.mkdir(disk)
            cluster.start_worker(0, [f"worker.block_directories={disk}"])
            cluster.kill_worker(0)
            cluster.start_worker(0, [f"worker.block_directories={disk}", f"worker.task_directory={disk}"], wait=False)
            self.assertEqual(cluster.workers[0].wait(60), 1)
            self.assertIn("is in worker.block_directories, too; give a directory beside it", cluster.log("worker0"))


if __name__ == "__main__":
    unittest.main()
