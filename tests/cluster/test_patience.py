# SPDX-License-Identifier: Apache-2.0
"""Who waits for whom, and for how long: clients for a master that is away, the master for writers that are stopped, writers for workers that are."""

import os
import signal
import subprocess
import time
import unittest

from cluster import MILLRACE, Cluster, await_line


class AwayMasterTest(unittest.TestCase):
    def test_commands_wait_for_a_master_that_is_started_again(self):
        with Cluster(workers=2) as cluster:
            with open(cluster.path("in"), "w") as f:
                f.write("some words\n" * 1000)
            cluster.run("fs", "put", cluster.path("in"), "/in")
            cluster.kill_master()
            commands = [("fs", "put", "--progress", "none", cluster.path("in"), "/again"), ("fs", "cat", "/in"), ("job", "list"),
                        ("master", "backup", cluster.path("backups")), ("run", "wordcount", "/in", "-o", "/out")]
            clients = [cluster.start(*command) for command in commands]
            for client in clients:  # each says that it waits
                self.assertIn(b"waiting up to 30s", client.stderr.readline())
            cluster.start_master()
            for command, client in zip(commands, clients):
                out, error = client.communicate(timeout=120)
                self.assertEqual(client.returncode, 0, (command, error))
                if command[:2] == ("fs", "cat"):
                    self.assertEqual(len(out), 11000)
            self.assertEqual(len(cluster.run("fs", "cat", "/again")[0]), 11000)

    def fail(self, *args, environment=()):
        done = subprocess.run([MILLRACE, *args], capture_output=True, stdin=subprocess.DEVNULL, env={**os.environ, **dict(environment)})
        self.assertEqual(done.returncode, 3, done.stderr)
        return done.stderr

    def test_who_does_not_want_to_wait_does_not(self):
        for error in (self.fail("--master", "127.0.0.1:1", "--wait", "0s", "fs", "ls", "/"),
                      self.fail("--master=127.0.0.1:1", "--wait=0s", "job", "list"),
                      self.fail("--master", "127.0.0.1:1", "node", "list", environment={"MILLRACE_WAIT": "0s"})):
            self.assertEqual(error.count(b"\n"), 1, error)
            self.assertIn(b"127.0.0.1:1", error)

    def test_patience_ends(self):
        error = self.fail("--master", "127.0.0.1:1", "--wait", "200ms", "fs", "ls", "/")
        self.assertEqual(error.count(b"\n"), 2, error)
        self.assertIn(b"tried for 200 ms", error)

    def test_nobody_waits_for_a_name_that_means_nothing(self):
        error = self.fail("--master", "no-such-host.invalid:7700", "--wait", "1h", "fs", "ls", "/")
        self.assertEqual(error.count(b"\n"), 1, error)
        self.assertIn(b"no-such-host.invalid", error)


class StoppedWriterTest(unittest.TestCase):
    def test_it_loses_its_path_and_is_told_so(self):
        with Cluster(workers=1, settings=["dfs.lease_limit=1s"]) as cluster:
            writer = cluster.start_writer("/f")
            writer.send_signal(signal.SIGSTOP)
            await_line(cluster.path("master.log"), b"is given up")
            with open(cluster.path("in"), "w") as f:
                f.write("other")
            cluster.run("fs", "put", "--replication", "1", cluster.path("in"), "/f")
            writer.send_signal(signal.SIGCONT)
            _, error = writer.communicate(b"end")
            self.assertEqual(writer.returncode, 1, error)
            self.assertIn(b"dfs.lease_limit", error.splitlines()[-1])
            self.assertEqual(cluster.run("fs", "cat", "/f")[0], b"other")
            self.assertNotIn(b"/f", cluster.run("fs", "fsck")[0])

    def test_one_that_thinks_keeps_it(self):
        with Cluster(workers=1, settings=["dfs.lease_limit=1s"]) as cluster:
            writer = cluster.start_writer("/f")
            other = cluster.start_writer("/g")  # stopped later than /f was opened, given up when /f would have been long ago
            other.send_signal(signal.SIGSTOP)
            await_line(cluster.path("master.log"), b"is given up")
            _, error = writer.communicate(b"end")
            self.assertEqual(writer.returncode, 0, error)
            self.assertEqual(cluster.run("fs", "cat", "/f")[0], b"beginend")
            other.kill()
            other.communicate()


class StoppedWorkerTest(unittest.TestCase):
    def test_a_put_goes_on_without_a_worker_that_hangs(self):
        with Cluster(workers=3) as cluster:
            block = os.urandom(1 << 20)
            writer = cluster.start_writer("/f")
            for _ in range(4):
                writer.stdin.write(block)
            writer.stdin.flush()
            cluster.workers[1].send_signal(signal.SIGSTOP)
            begun = time.monotonic()
            try:
                out, error = writer.communicate(block * 100)
                took = time.monotonic() - begun
            finally:
                cluster.workers[1].send_signal(signal.SIGCONT)
            self.assertEqual(writer.returncode, 0, error)
            self.assertLess(took, 40, "60 s and more before nodes said that they live")
            print(f"a put with a stopped worker took {took:.1f} s")
            self.assertEqual(cluster.run("fs", "cat", "/f")[0], b"begin" + block * 104)


if __name__ == "__main__":
    unittest.main()
