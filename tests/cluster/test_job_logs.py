# SPDX-License-Identifier: Apache-2.0
"""The logs of ended jobs in the file system: they are read when their worker is gone for good, within their bounds, and what goes wrong
there hurts no job."""

import os
import unittest

from cluster import Cluster, await_line

KIB = 1 << 10
NOISY = os.path.join(os.environ["MILLRACE_TEST_JOBS"], "noisy")


class JobLogsTest(unittest.TestCase):
    def cluster(self, *settings, workers=2, **more):
        cluster = Cluster(workers=workers, settings=["master.heartbeat=100ms", "master.lost_after=1s", "master.disconnect_grace=200ms", "worker.reserved_bytes=1MiB", "worker.log_level=debug",
                                                     "dfs.lease_grace=1s", *settings], **more)
        cluster.__enter__()
        self.addCleanup(cluster.__exit__, None, None, None)
        with open(cluster.path("text"), "w") as f:
            f.writelines(f"word{i}\n" for i in range(2000))
        for n in range(4):
            cluster.run("fs", "put", cluster.path("text"), f"/text/{n}")
        return cluster

    def run_job(self, cluster, output, *options, status=0):
        return cluster.run("run", NOISY, "/text", "-o", output, *options, status=status)

    def archives(self, cluster, job):
        """The files of a job's logs, each with its length; the job's nodes are to have archived them."""
        out, _ = cluster.run("fs", "ls", f"/.millrace/logs/job{job}", status=None)
        return out.decode()

    def await_archived(self, cluster, job):
        for n in cluster.workers:
            await_line(cluster.path(f"worker{n}.log"), f"the logs of job{job} are archived".encode())

    def test_logs_of_a_worker_that_is_gone_for_good(self):
        cluster = self.cluster("master.job_logs_keep=10", "dfs.replication=2", workers=3)
        self.run_job(cluster, "/out")
        self.await_archived(cluster, 1)
        before = cluster.run("job", "logs", "1", "--stderr")[0]
        found = cluster.run("job", "logs", "1", "--grep", "lost and")[0]
        self.assertIn(b"lost and found", before)
        cluster.kill_worker(0)
        await_line(cluster.path("master.log"), b"is lost: its tasks run elsewhere")
        after, said = cluster.run("job", "logs", "1", "--stderr")
        self.assertEqual(after, before)
        self.assertIn(b"come from the archive /.millrace/logs/job1/node", said)
        self.assertEqual(cluster.run("job", "logs", "1", "--grep", "lost and")[0], found)
        for line in found.decode().splitlines():  # also of one that has ended, with --follow
            attempt = line.split(":")[0].split(".", 1)[1]
            self.assertIn(b"lost and found", cluster.run("job", "logs", "1", attempt, "--follow", "--stderr")[0])
        self.assertEqual(self.archives(cluster, 1).count("/.millrace/logs/job1/node"), 3)

    def test_logs_that_were_lost_before_they_were_archived(self):
        cluster = self.cluster("master.job_logs_keep=0")
        self.run_job(cluster, "/out")
        cluster.kill_worker(0)
        await_line(cluster.path("master.log"), b"is lost: its tasks run elsewhere")
        out, said = cluster.run("job", "logs", "1", status=1)
        self.assertRegex(said.decode(), r"what \d+ attempts? printed, if anything, was on 127\.0\.0\.1 \(node \d+\), which was lost before it was archived")
        self.assertIn(b"lost and found", out)

    def test_bounds_hold(self):
        cluster = self.cluster("master.job_logs_keep=2", "master.job_logs_bytes=64KiB", workers=1)
        self.run_job(cluster, "/out1", "-D", "noisy.prints=3000")
        self.await_archived(cluster, 1)
        self.assertLess(self.bytes_of(cluster, "/.millrace/logs/job1"), 80 * KIB)
        cluster.kill_worker(0)
        cluster.start_worker(0, settings=["worker.log_retention=0s"])
        self.run_job(cluster, "/out2")
        self.run_job(cluster, "/out3")
        self.await_archived(cluster, 3)
        await_line(cluster.path("master.log"), b"the logs of job1 are removed from the file system")

    def bytes_of(self, cluster, path):
        target = cluster.path("got")
        cluster.run("fs", "get", path, target)
        return sum(os.path.getsize(os.path.join(target, name)) for name in os.listdir(target))

    def test_a_worker_that_was_away_archives_when_it_is_back(self):
        cluster = self.cluster("master.job_logs_keep=10")
        self.run_job(cluster, "/out")
        self.await_archived(cluster, 1)
        cluster.kill_worker(1)
        # As if it had been killed before it had done anything.
        logs = cluster.path("worker1", "logs")
        os.unlink(os.path.join(logs, "1.archived"))
        seen = os.path.getsize(cluster.path("worker1.log"))
        cluster.start_worker(1)
        await_line(cluster.path("worker1.log"), b"the logs of job1 are archived", seen)
        self.assertEqual(self.archives(cluster, 1).count("/node"), 2)

    def test_a_master_that_is_killed_between_the_end_and_the_archive(self):
        cluster = self.cluster("master.job_logs_keep=10", workers=1)
        cluster.run("fs", "mkdir", "/.millrace/logs")
        cluster.run("fs", "quota", "set", "/.millrace/logs", "--bytes", "1")
        self.run_job(cluster, "/out")
        await_line(cluster.path("worker0.log"), b"the logs of job1 are not archived yet")
        cluster.kill_master()
        cluster.start_master()
        cluster.run("fs", "quota", "clear", "/.millrace/logs")
        self.await_archived(cluster, 1)
        self.run_job(cluster, "/out2")

    def test_an_attempt_that_prints_without_end_fails(self):
        cluster = self.cluster("task.stream_bytes=4MiB", workers=1)
        _, said = self.run_job(cluster, "/out", "-D", "noisy.endless=prints", "-D", "job.max_attempts=2", status=1)
        self.assertRegex(said.decode(), r"the attempt had printed [\d.]+ [MG]iB to standard error, more than task.stream_bytes = 4 MiB of its worker")
        self.run_job(cluster, "/out2", "-D", "noisy.prints=100")

    def test_an_attempt_that_fills_its_scratch_directory_fails(self):
        cluster = self.cluster("task.scratch_bytes=4MiB", workers=1)
        _, said = self.run_job(cluster, "/out", "-D", "noisy.endless=scratch", "-D", "job.max_attempts=2", status=1)
        self.assertRegex(said.decode(), r"the attempt had [\d.]+ [MG]iB in its scratch directory, more than task.scratch_bytes = 4 MiB of its worker")
        self.run_job(cluster, "/out2", "-D", "noisy.scratch=1000000")


if __name__ == "__main__":
    unittest.main()
