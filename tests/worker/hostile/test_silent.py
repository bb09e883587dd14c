# SPDX-License-Identifier: Apache-2.0
"""No task holds its worker by a peer that does not answer. Needs root: a network and a list of name servers of its own.

Tasks may connect to name servers (docs/operate/sandbox.md), and one that drops what comes by TCP is common.
"""

import os
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "cluster"))
import cluster  # noqa: E402

JOB = os.path.join(os.environ["MILLRACE_TEST_JOBS"], "hostile")
INSIDE = "MILLRACE_TEST_SILENT"
SILENT = "10.99.0.9"  # on a network of which nobody else is a part
SET_UP = f"""
ip link set lo up && ip link add silent type veth peer name nobody && ip address add 10.99.0.1/24 dev silent &&
ip link set silent up && ip link set nobody up && ip neighbour add {SILENT} lladdr 02:00:00:00:00:fe dev silent nud permanent &&
echo "nameserver {SILENT}" >"$1" && mount --bind "$1" /etc/resolv.conf && shift && exec "$@"
"""
FAST = ["master.heartbeat=200ms", "master.lost_after=2s", "master.disconnect_grace=500ms", "master.startup_grace=1s"]


def enter():
    """Runs this program again in a network and a view of files of its own, if that can be."""
    if os.environ.get(INSIDE) is not None or os.geteuid() != 0:
        return
    with tempfile.NamedTemporaryFile() as servers:
        done = subprocess.run(["unshare", "--net", "--mount", "sh", "-c", SET_UP, "sh", servers.name, sys.executable, "-B", *sys.argv],
                              env={**os.environ, INSIDE: "inside"})
    sys.exit(done.returncode)


@unittest.skipUnless(os.environ.get(INSIDE) == "inside", "networks of one's own are root's")
class Silent(unittest.TestCase):
    def put(self, c, name, *lines):
        c.run("fs", "put", "-", name, input="".join(line + "\n" for line in lines).encode())

    def test_a_task_that_waits_for_a_silent_peer_holds_nobody(self):
        with cluster.Cluster(workers=1, map_slots=2, settings=["worker.sandbox=auto", *FAST]) as c:
            if "network" not in c.log("worker0").split("tasks are confined", 1)[1].splitlines()[0]:
                self.skipTest("this machine has no part network of the sandbox")
            self.put(c, "/left", *[f"leave-connecting {SILENT} 53"] * 3)
            self.put(c, "/kept", f"keep-connecting {SILENT} 53")
            self.put(c, "/text", "a b a")
            began = time.monotonic()
            c.run("run", JOB, "/left", "-o", "/out-left")
            self.assertEqual(b"".join(c.output("/out-left").values()).count(b"\tleft\n"), 3)
            kept = c.start("run", JOB, "/kept", "-o", "/out-kept")
            log = c.path("worker0", "logs", "2", "job2.m.0.0.err")
            cluster.await_file(os.path.dirname(log), kept)
            cluster.await_file(log, kept)
            cluster.await_line(log, b"connects")
            c.run("run", "wordcount", "/text", "-o", "/counts")
            self.assertEqual(c.run("fs", "cat", "/counts/part-r-00000")[0], b"a\t2\nb\t1\n")
            self.assertIsNone(kept.poll(), "it waits for its peer")
            c.run("job", "kill", "job2")
            kept.communicate(timeout=cluster.LIMIT_SECONDS)
            c.run("run", "wordcount", "/text", "-o", "/counts2")
            self.assertLess(time.monotonic() - began, 20, "a connect takes longer, and the worker was lost for it")
            self.assertNotIn("is lost", c.log("master"))

    def test_a_worker_whose_task_waits_for_a_silent_peer_ends(self):
        with cluster.Cluster(workers=1, settings=["worker.sandbox=auto", *FAST]) as c:
            self.put(c, "/kept", f"keep-connecting {SILENT} 53")
            kept = c.start("run", JOB, "/kept", "-o", "/out-kept")
            log = c.path("worker0", "logs", "1", "job1.m.0.0.err")
            cluster.await_file(os.path.dirname(log), kept)
            cluster.await_file(log, kept)
            cluster.await_line(log, b"connects")
            c.workers[0].terminate()
            c.workers[0].wait(15)
            kept.kill()
            kept.communicate()


if __name__ == "__main__":
    enter()
    unittest.main()
