# SPDX-License-Identifier: Apache-2.0
"""A master whose disk is full serves reads, refuses changes in a line, lets jobs wait, and goes on by itself."""

import ctypes
import os
import time
import unittest

from cluster import Cluster, await_line, words

FAST = ["master.heartbeat=200ms", "master.lost_after=2s", "master.disconnect_grace=500ms", "master.startup_grace=1s"]
MORE_THAN_THERE_IS = "master.reserved_bytes=900TiB"  # nothing is written at all with less than a quarter of it

_libc = ctypes.CDLL(None, use_errno=True)


class SmallDisk:
    """A file system of its own for the master's directory; needs root."""

    def __init__(self, path, size):
        os.mkdir(path)
        if _libc.mount(b"tmpfs", path.encode(), b"tmpfs", 0, f"size={size}".encode()) != 0:
            raise unittest.SkipTest(f"a file system cannot be mounted: {os.strerror(ctypes.get_errno())}; this test needs root")
        self.path = path
        self.filler = os.path.join(path, "filler")

    def fill(self, leave):
        disk = os.statvfs(self.path)
        with open(self.filler, "ab") as f:
            os.posix_fallocate(f.fileno(), 0, disk.f_bavail * disk.f_frsize - leave)

    def clear(self):
        os.unlink(self.filler)

    def unmount(self):
        _libc.umount2(self.path.encode(), 2)


class FullDiskTest(unittest.TestCase):
    def refuse(self, cluster, *args):
        before = time.monotonic()
        _, error = cluster.run(*args, status=1)
        self.assertIn(b"the master's disk is full: " + cluster.path("master").encode(), error, args)
        self.assertIn(b"it is read-only until there is room again", error, args)
        self.assertEqual(error.count(b"\n"), 1, error)
        self.assertLess(time.monotonic() - before, 20, args)

    def make(self, cluster):
        self.data = words(3, 300_000)
        with open(cluster.path("text"), "wb") as f:
            f.write(self.data)
        cluster.run("fs", "put", "--replication", "1", cluster.path("text"), "/text")
        cluster.run("fs", "mkdir", "/d")
        cluster.run("run", "wordcount", "/text", "-o", "/out0")

    def look(self, cluster):
        """What a master on a full disk serves."""
        self.assertEqual(cluster.run("fs", "cat", "/text")[0], self.data)
        cluster.run("fs", "get", "/text", cluster.path("back"))
        os.unlink(cluster.path("back"))
        listed = cluster.run("fs", "ls", "-R", "--json", "/")[0]
        for args in (["fs", "stat", "/text"], ["fs", "safemode", "get"], ["job", "list"], ["job", "status", "1"], ["job", "history", "1"],
                     ["node", "list"], ["scheduler", "list"]):
            cluster.run(*args)
        for args in (["fs", "fsck"], ["fs", "safemode", "get"], ["node", "list"]):
            self.assertIn(b"the master's disk is full", cluster.run(*args, status=None)[0])  # fsck: 4, the executable has one replica of three
        return listed

    def be_refused(self, cluster):
        for args in (["fs", "put", cluster.path("text"), "/more"], ["fs", "mkdir", "/e"], ["fs", "mv", "/text", "/t"],
                     ["fs", "setrep", "2", "/text"], ["scheduler", "set", "fair"], ["node", "decommission", "--force", "1"],
                     ["run", "wordcount", "/text", "-o", "/more"], ["job", "priority", "1", "HIGH"]):
            self.refuse(cluster, *args)

    def make_room(self, cluster, job):
        """What makes room is taken on the fullest disk."""
        cluster.run("fs", "rm", "-r", "/out0")
        cluster.run("job", "kill", job)
        self.assertNotIn(b"out0", cluster.run("fs", "ls", "/")[0])
        self.assertIn(b"killed", cluster.run("job", "status", job)[0].lower())

    def restart(self, cluster, *settings):
        cluster.kill_master()
        cluster.settings = FAST + list(settings)
        cluster.start_master()

    def test_a_master_without_room_at_its_start_serves_reads(self):
        with Cluster(workers=1, settings=FAST) as cluster:
            self.make(cluster)
            listed = cluster.run("fs", "ls", "-R", "--json", "/")[0]
            self.restart(cluster, MORE_THAN_THERE_IS)
            cluster.run("fs", "safemode", "wait")
            self.assertEqual(self.look(cluster), listed)
            self.be_refused(cluster)
            self.assertEqual(self.look(cluster), listed)
            self.assertEqual(cluster.stop_master(), 0)
            self.restart(cluster)
            self.assertEqual(cluster.run("fs", "ls", "-R", "--json", "/")[0], listed)
            cluster.run("run", "wordcount", "/text", "-o", "/out1")

    def test_what_makes_room_is_taken_by_a_master_without_any(self):
        with Cluster(workers=0, settings=FAST) as cluster:
            cluster.stop_master()
            os.rename(cluster.path("master"), cluster.path("made"))
            disk = SmallDisk(cluster.path("master"), "300m")
            self.addCleanup(disk.unmount)
            cluster.init_master()
            cluster.start_master()
            cluster.start_worker(0)
            self.make(cluster)
            cluster.kill_worker(0)
            job = cluster.run("run", "wordcount", "/text", "-o", "/out1", "--detach")[0].split()[-1].decode()
            before = len(cluster.log("master"))
            disk.fill(0)
            await_line(cluster.path("master.log"), b"jobs wait", before)
            self.make_room(cluster, job)
            self.refuse(cluster, "fs", "mkdir", "/e")
            # What was acknowledged is there after a death, also before there is room.
            self.restart(cluster)
            self.assertNotIn(b"out0", cluster.run("fs", "ls", "/")[0])
            self.assertIn(b"killed", cluster.run("job", "status", job)[0].lower())
            cluster.run("fs", "rm", "-r", "/d")
            before = len(cluster.log("master"))
            disk.clear()
            await_line(cluster.path("master.log"), b"has room again", before)
            cluster.run("fs", "mkdir", "/e")
            self.restart(cluster)
            listed = cluster.run("fs", "ls", "/")[0]
            self.assertIn(b"/e", listed)
            for gone in (b"out0", b"/d\n"):
                self.assertNotIn(gone, listed)

    def test_what_runs_goes_on_from_the_reserve(self):
        with Cluster(workers=1, settings=FAST) as cluster:
            self.make(cluster)
            job = cluster.run("run", "wordcount", "/text", "-o", "/out1", "--reducers", "2", "--detach")[0].split()[-1].decode()
            disk = os.statvfs(cluster.path("master"))
            self.restart(cluster, f"master.reserved_bytes={2 * disk.f_bavail * disk.f_frsize}")
            cluster.run("job", "wait", job)
            self.be_refused(cluster)

    def test_a_running_master_waits_for_room_and_goes_on_by_itself(self):
        with Cluster(workers=0, settings=FAST) as cluster:
            cluster.stop_master()
            os.rename(cluster.path("master"), cluster.path("made"))
            disk = SmallDisk(cluster.path("master"), "300m")
            self.addCleanup(disk.unmount)
            cluster.init_master()
            cluster.start_master()
            cluster.start_worker(0)
            self.make(cluster)
            cluster.kill_worker(0)
            before = len(cluster.log("master"))
            job = cluster.run("run", "wordcount", "/text", "-o", "/out1", "--detach")[0].split()[-1].decode()
            disk.fill(1 << 20)
            await_line(cluster.path("master.log"), b"jobs wait", before)
            cluster.start_worker(0)
            listed = self.look(cluster)
            self.be_refused(cluster)
            self.assertIsNone(cluster.master.poll())
            # Another start, on the full disk.
            self.restart(cluster)
            cluster.run("fs", "safemode", "wait")
            self.assertEqual(self.look(cluster), listed)
            self.be_refused(cluster)
            self.assertIn(b"0 of", cluster.run("job", "status", job)[0])
            before = len(cluster.log("master"))
            disk.clear()
            await_line(cluster.path("master.log"), b"has room again", before)
            cluster.run("job", "wait", job)
            cluster.run("fs", "mkdir", "/e")
            self.restart(cluster)
            self.assertIn(b"/e", cluster.run("fs", "ls", "/")[0])
            self.assertEqual(cluster.output("/out1"), cluster.output("/out0"))


if __name__ == "__main__":
    unittest.main()
