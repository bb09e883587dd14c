# SPDX-License-Identifier: Apache-2.0
"""A node that lives while its disk has become slow, or while no other node reaches it, is noticed, and work goes elsewhere."""

import json
import os
import shutil
import struct
import subprocess
import sys
import time
import unittest

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "bench"))
import cluster  # noqa: E402
from suite import links  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
INSIDE = "MILLRACE_TEST_AILING"
FAST = ["master.heartbeat=200ms", "master.startup_grace=2s", "worker.reserved_bytes=0"]


def enter():
    """Runs this program again in a network namespace of its own. Returns whether it is in one: root's alone."""
    if os.environ.get(INSIDE) == "inside":
        return True
    if os.geteuid() != 0 or subprocess.run(["unshare", "--net", "true"], stderr=subprocess.DEVNULL).returncode != 0:
        return False
    os.environ[INSIDE] = "inside"
    os.execvp("unshare", ["unshare", "--net", sys.executable, "-B", *sys.argv])


class Slow(cluster.Cluster):
    """Each sync of a worker takes as much longer as is said."""

    def _spawn(self, name, args, cgroup=None):
        shim, delay = self.path("sync_shim.so"), self.path(name + ".sync")
        if not os.path.exists(shim):
            source = os.path.join(HERE, "..", "chaos", "sync_shim.c")
            subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", shim, source, "-ldl"], check=True)
        if not os.path.exists(delay):
            with open(delay, "wb") as f:
                f.write(struct.pack("=q", 0))
        with open(self.path(name + ".log"), "ab") as log:
            return subprocess.Popen([cluster.MILLRACE, *args], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                    env={**os.environ, "LD_PRELOAD": shim, "CHAOS_SYNC": delay})

    def delay(self, name, seconds):
        with open(self.path(name + ".sync"), "r+b") as f:
            f.write(struct.pack("=q", int(seconds * 1e9)))


class Linked(cluster.Cluster):
    """Each worker is in a network namespace of its own."""

    def __init__(self, workers, **options):
        super().__init__(workers=workers, **options)
        self.links = links.Links(workers, None)
        self.address = f"{links.NETWORK}.1:7700"

    def __exit__(self, kind, value, trace):
        super().__exit__(kind, value, trace)
        self.links.close()

    def _spawn(self, name, args, cgroup=None):
        if not name.startswith("worker"):
            return super()._spawn(name, args, cgroup)
        n = int(name[len("worker"):])
        address = f"{links.NETWORK}.{10 + n}"
        command = [*self.links.inside(n), cluster.MILLRACE, *args, "--set", f"worker.host={address}", "--set", f"worker.bind={address}"]
        with open(self.path(name + ".log"), "ab") as log:
            return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)


def number(c, worker):
    with open(c.path(f"ready{worker}"), encoding="utf-8") as f:
        return int(f.read())


def nodes(c):
    return {node["node"]: node for node in json.loads(c.run("node", "list", "--json")[0])}


def await_ailing(c, seen=0):
    cluster.await_line(c.path("master.log"), b" is ailing: ", seen)


def await_well(c):
    cluster.await_line(c.path("master.log"), b"it is well again")


class AilingTest(unittest.TestCase):
    @unittest.skipUnless(shutil.which("cc"), "there is no compiler for the shim")
    def test_a_node_with_a_slow_disk_takes_no_blocks_until_it_is_quick_again(self):
        with Slow(workers=4, settings=FAST + ["worker.storage_check=400ms"]) as c:
            slow = number(c, 3)
            c.delay("worker3", 1.5)
            await_ailing(c)
            node = nodes(c)[slow]
            self.assertEqual(node["state"], "ailing")
            self.assertRegex(node["ailing"], r"^the syncs of \S+/worker3 take [\d.]+ s, those of other nodes ")
            self.assertGreater(node["sync_s"], 1)
            self.assertIn(b"take", c.run("node", "list")[0])
            status = json.loads(c.run("cluster", "status", "--json")[0])
            self.assertEqual(status["nodes"]["ailing"], 1)
            self.assertTrue(any(" is ailing: node " in warning["text"] for warning in status["warnings"] if warning["code"] == "node-ailing"), status["warnings"])
            before = node["blocks"]
            for n in range(8):
                c.run("fs", "put", "-", f"/{n}", input=b"x" * 1000)
            c.run("run", "wordcount", "/0", "-o", "/out")
            self.assertEqual(nodes(c)[slow]["blocks"], before, "no block went there")
            c.delay("worker3", 0)
            await_well(c)
            self.assertEqual(nodes(c)[slow]["state"], "alive")
            self.assertEqual(nodes(c)[slow]["ailing"], None)
            self.assertEqual(json.loads(c.run("cluster", "status", "--json")[0])["nodes"]["ailing"], 0)

    @unittest.skipUnless(os.environ.get(INSIDE) == "inside", "namespaces for networks are root's")
    def test_a_node_that_reaches_its_master_alone_costs_a_job_seconds(self):
        text = cluster.words(7, 600_000) * 10
        counts = {}
        for word in text.split():
            counts[word] = counts.get(word, 0) + 1
        expected = b"".join(word + b"\t%d\n" % counts[word] for word in sorted(counts))
        with Linked(workers=4, map_slots=2, reduce_slots=2, settings=FAST) as c:
            c.run("fs", "put", "--block-size", "1M", "-", "/in", input=text)
            alone = number(c, 1)
            c.links.part(1, [0, 2, 3])
            began = time.monotonic()
            c.run("run", "wordcount", "/in", "-o", "/out1", "-r", "4", "-D", "job.pack=0")
            took = time.monotonic() - began
            self.assertEqual(b"".join(sorted(line + b"\n" for part in c.output("/out1").values() for line in part.splitlines())), expected)
            self.assertLess(took, 40, "it took 64 s and more when the first connection was given 20 s, and each job again")
            await_ailing(c)
            node = nodes(c)[alone]
            self.assertEqual(node["state"], "ailing")
            self.assertRegex(node["ailing"], "3 other nodes")
            began = time.monotonic()
            job = c.run("run", "wordcount", "/in", "-o", "/out2", "-r", "4", "-D", "job.pack=0", "--detach")[0].split()[-1].decode()
            c.run("job", "wait", job)
            again = time.monotonic() - began
            self.assertEqual({task["node"] for task in json.loads(c.run("job", "tasks", job, "--json")[0])} & {alone}, set())
            self.assertLess(again, 20)
            c.run("fs", "put", "-", "/put", input=b"x" * 1000)
            c.links.part(1, [0, 2, 3], apart=False)
            await_well(c)
            self.assertEqual(nodes(c)[alone]["state"], "alive")
            print(f"\nwordcount took {took:.1f} s when the worker was cut off, and {again:.1f} s afterwards", file=sys.stderr)


if __name__ == "__main__":
    enter()
    unittest.main()
