# SPDX-License-Identifier: Apache-2.0
"""Any process may die at any moment and nothing is lost."""

import hashlib
import json
import os
import signal
import unittest

from cluster import Cluster, await_line, words

FAST = ["master.heartbeat=200ms", "master.lost_after=2s", "master.disconnect_grace=500ms", "master.startup_grace=4s", "dfs.lease_grace=3s"]


def count(data):
    counts = {}
    for word in data.split():
        counts[word] = counts.get(word, 0) + 1
    return b"".join(sorted(word + b"\t%d\n" % n for word, n in counts.items()))


class FaultsTest(unittest.TestCase):
    def put_text(self, cluster, size=1_500_000):
        data = words(5, size)
        with open(cluster.path("text"), "wb") as f:
            f.write(data)
        cluster.run("fs", "put", "--block-size", "1M", "--replication", "2", cluster.path("text"), "/text")
        return data

    def result(self, cluster, out):
        return b"".join(sorted(line for part in cluster.output(out).values() for line in part.splitlines(keepends=True)))

    def test_everything_survives_the_death_of_the_master(self):
        with Cluster(workers=3, settings=FAST) as cluster:
            data = self.put_text(cluster)
            cluster.run("fs", "mkdir", "/a/b")
            before, _ = cluster.run("fs", "ls", "-R", "--json", "/")
            cluster.kill_master()
            cluster.start_master()
            after, _ = cluster.run("fs", "ls", "-R", "--json", "/")
            self.assertEqual(before, after)
            cluster.run("fs", "get", "/text", cluster.path("back"))
            with open(cluster.path("back"), "rb") as f:
                self.assertEqual(hashlib.sha256(f.read()).digest(), hashlib.sha256(data).digest())
            cluster.run("run", "wordcount", "/text", "-o", "/out", "--reducers", "2")
            self.assertEqual(self.result(cluster, "/out"), count(data))

    def test_a_master_that_is_asked_to_stop_does(self):
        with Cluster(workers=2, settings=FAST) as cluster:
            data = self.put_text(cluster)
            for n, with_signal in enumerate((signal.SIGTERM, signal.SIGINT)):
                job = cluster.run("run", "wordcount", "/text", "-o", f"/out{n}", "--reducers", "2", "--detach")[0].split()[-1].decode()
                self.assertEqual(cluster.stop_master(with_signal), 0)
                self.assertEqual(cluster.log("master").count("the master stops"), n + 1)
                cluster.start_master()
                cluster.run("job", "wait", job)
                self.assertEqual(self.result(cluster, f"/out{n}"), count(data))

    def test_a_job_goes_on_when_the_master_dies_and_returns(self):
        with Cluster(workers=2, settings=FAST) as cluster:
            data = self.put_text(cluster)
            job = cluster.run("run", "wordcount", "/text", "-o", "/out", "--reducers", "3", "--detach")[0].split()[-1].decode()
            cluster.kill_master()
            cluster.start_master()
            cluster.run("job", "wait", job)
            self.assertEqual(self.result(cluster, "/out"), count(data))

    def test_a_job_outlives_a_worker(self):
        with Cluster(workers=3, settings=FAST) as cluster:
            data = self.put_text(cluster)
            job = cluster.run("run", "wordcount", "/text", "-o", "/out", "--reducers", "3", "--detach")[0].split()[-1].decode()
            cluster.kill_worker(1)
            cluster.run("job", "wait", job)
            self.assertEqual(self.result(cluster, "/out"), count(data))

    def test_what_was_synced_outlives_its_writer_and_a_master(self):
        with Cluster(workers=2, settings=FAST) as cluster:
            writer = cluster.start_writer("/log", "--sync", "10ms")
            while not json.loads(cluster.run("fs", "fsck", "--json", status=None)[0])["blocks"]:  # a synced block is one of the cluster's
                self.assertIsNone(writer.poll())
            self.assertEqual(cluster.run("fs", "ls", "/")[0], b"")
            writer.kill()
            writer.communicate()
            cluster.kill_master()
            cluster.start_master()
            await_line(cluster.path("master.log"), b"is closed with its synced data")
            self.assertEqual(cluster.run("fs", "cat", "/log")[0], b"begin")

    def test_a_put_goes_on_without_its_master_and_then_without_a_worker(self):
        with Cluster(workers=3, settings=FAST) as cluster:
            data = words(6, 900_000)
            half = len(data) // 2
            writer = cluster.start_writer("/live", "--replication", "3", "--block-size", "1M")
            writer.stdin.write(data[:half])  # it ends within a block, which the master before has given out
            writer.stdin.flush()
            cluster.kill_master()
            seen = os.path.getsize(cluster.path("worker0.log"))
            cluster.start_master()
            await_line(cluster.path("worker0.log"), b"registered with the master", seen)
            cluster.kill_worker(2)  # the other two close the block at what they have
            writer.stdin.write(data[half:])
            out, error = writer.communicate(timeout=120)
            self.assertEqual(writer.returncode, 0, error)
            cluster.start_worker(2)
            self.assertEqual(cluster.run("fs", "cat", "/live")[0], b"begin" + data)
            for log in ("worker0", "worker1"):
                self.assertNotIn("token", cluster.log(log))
            # The worker that is back gets copies of what it missed.
            while json.loads(cluster.run("fs", "fsck", "--json", status=None)[0])["under_replicated"]:
                pass
            cluster.run("fs", "verify", "--wait", "/live")

    def test_a_task_that_stands_still_has_failed_after_its_time(self):
        crash = os.path.join(os.environ["MILLRACE_TEST_JOBS"], "crash")
        with Cluster(workers=1, settings=FAST) as cluster:
            self.put_text(cluster, 1000)
            for how in ("stop", "hang"):  # the process is stopped; it goes on telling that nothing changes
                _, error = cluster.run("run", crash, "/text", "-o", "/" + how, "-D", f"crash.how={how}", "-D", "job.max_attempts=2", "-D",
                                       "task.timeout=2s", status=1)
                self.assertIn(b"failed 2 times", error)
                self.assertIn(b"no progress for 2", error)
                self.assertIn(b"task.timeout", error)
            # The worker is none the worse for it.
            cluster.run("run", "wordcount", "/text", "-o", "/out")

    def test_a_worker_outlives_a_task_that_kills_its_parent(self):
        crash = os.path.join(os.environ["MILLRACE_TEST_JOBS"], "crash")
        with Cluster(workers=1, settings=FAST) as cluster:
            self.put_text(cluster, 1000)
            _, error = cluster.run("run", crash, "/text", "-o", "/out", "-D", "crash.how=parent", "-D", "job.max_attempts=2", status=1)
            self.assertIn(b"failed 2 times", error)
            self.assertIn(b"SIGKILL", error)
            self.assertIsNone(cluster.workers[0].poll())
            cluster.run("run", "wordcount", "/text", "-o", "/out")

    def test_a_task_that_kills_its_workers_fails_its_job(self):
        crash = os.path.join(os.environ["MILLRACE_TEST_JOBS"], "crash")
        with Cluster(workers=3, settings=FAST) as cluster:
            cluster.run("fs", "put", "--replication", "3", "-", "/text", input=b"a text that is on every worker")
            _, error = cluster.run("run", crash, "/text", "-o", "/out", "-D", "crash.how=worker", status=1)
            self.assertIn(b"was lost with its worker 3 times", error)

    def test_a_job_goes_on_without_maps_that_fail_and_without_its_master(self):
        crash = os.path.join(os.environ["MILLRACE_TEST_JOBS"], "crash")
        # Map slots enough that the one that is held is in nobody's way.
        with Cluster(workers=2, map_slots=3, settings=FAST) as cluster:
            for text in (b"good", b"bad", b"hold"):
                cluster.run("fs", "put", "--replication", "2", "-", "/in/" + text.decode(), input=text + b"\n")
            pipe = cluster.path("pipe")
            os.mkfifo(pipe)
            options = ["-D", "crash.record=bad", "-D", "job.max_attempts=2", "-D", "job.pack=0"]
            _, error = cluster.run("run", crash, "/in", "-o", "/out0", *options, "--max-failed-maps", "33", status=1)
            self.assertIn(b"failed 2 times", error)
            self.assertIn(b"no more than 33% may be", error)
            job = cluster.run("run", crash, "/in", "-o", "/out", *options, "--max-failed-maps", "34", "-D", "crash.hold=" + pipe,
                              "--detach")[0].split()[-1].decode()
            await_line(cluster.path("master.log"), b"goes on without job")
            cluster.kill_master()
            cluster.start_master()
            with open(pipe, "w") as held:
                held.write("go on\n")
            summary, _ = cluster.run("job", "wait", job)
            self.assertIn(b"left out 1 of 3 maps", summary)
            self.assertIn(b": /in/bad\n", summary)
            self.assertEqual(self.result(cluster, "/out"), b"good\t1\nhold\t1\n")
            status = json.loads(cluster.run("job", "status", "--json", job)[0])
            self.assertEqual((status["state"], status["maps_left_out"]), ("succeeded", 1))
            self.assertEqual([one["input"] for one in status["left_out"]], ["/in/bad"])
            self.assertIn(b"left out 1 of 3 maps", cluster.run("job", "status", job)[0])
            counters = json.loads(cluster.run("job", "counters", "--json", job)[0])
            self.assertIn({"group": "millrace", "name": "maps_left_out", "value": 1}, counters)
            # A job without reduces has a part of each map that succeeded.
            cluster.run("run", crash, "/in", "-o", "/parts", "--reducers", "0", *options, "--max-failed-maps", "34")
            self.assertEqual(sorted(cluster.output("/parts")), ["part-m-00001", "part-m-00002"])

    def test_a_lost_worker_is_forgotten_on_request_and_comes_back_as_a_new_node(self):
        settings = [s for s in FAST if "startup_grace" not in s] + ["master.startup_grace=0s"]
        with Cluster(workers=2, settings=settings) as cluster:

            def nodes():
                return {node["node"]: node["state"] for node in json.loads(cluster.run("node", "list", "--json")[0])}

            known = nodes()
            for node in known:
                _, error = cluster.run("node", "forget", str(node), status=1)
                self.assertIn(b"alive", error)
            cluster.kill_worker(1)
            await_line(cluster.path("master.log"), b"is lost")
            (lost,) = [node for node, state in nodes().items() if state == "lost"]
            cluster.run("node", "forget", str(lost))
            self.assertEqual(nodes(), {node: "alive" for node in known if node != lost})
            _, error = cluster.run("node", "forget", str(lost), status=1)
            self.assertIn(b"node list", error)
            cluster.kill_master()
            cluster.start_master()
            self.assertNotIn(lost, nodes())
            cluster.start_worker(1)
            (new,) = [node for node, state in nodes().items() if node not in known]
            self.assertEqual(nodes()[new], "alive")

    def test_a_worker_that_returns_keeps_its_blocks(self):
        with Cluster(workers=1, settings=FAST) as cluster:
            self.put_text(cluster, 300_000)
            cluster.kill_worker(0)
            cluster.start_worker(0)
            cluster.run("fs", "get", "/text", cluster.path("back"))
            with open(cluster.path("back"), "rb") as a, open(cluster.path("text"), "rb") as b:
                self.assertEqual(a.read(), b.read())


if __name__ == "__main__":
    unittest.main()
