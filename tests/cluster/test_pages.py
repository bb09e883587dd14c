# SPDX-License-Identifier: Apache-2.0
"""Every command of docs/use/jobs.md runs as it is printed, one after the other, on a small cluster."""

import os
import subprocess
import unittest

import pages
from cluster import BIN, LIMIT_SECONDS, Cluster

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class PagesTest(unittest.TestCase):
    def test_jobs(self):
        with Cluster(workers=3, map_slots=2) as cluster:
            os.mkdir(cluster.path("here"))
            environment = {**cluster.environment(), "LC_ALL": "C", "PATH": os.environ["PATH"] + os.pathsep + BIN}
            commands = pages.commands(os.path.join(ROOT, "docs", "use", "jobs.md"))
            self.assertGreater(len(commands), 25)
            for command in commands:
                # A pipe fails if any of its parts does, but for one whose reader wanted no more.
                done = subprocess.run(["bash", "-ec", command], cwd=cluster.path("here"), env=environment, stdin=subprocess.DEVNULL, capture_output=True,
                                      timeout=LIMIT_SECONDS, check=False)
                self.assertEqual(done.returncode, 0, f"{command}\n{done.stdout.decode(errors='replace')}{done.stderr.decode(errors='replace')}")
            # What the page says that some of them give.
            report = cluster.run("fs", "cat", "/report/part-r-00000")[0]
            self.assertNotIn(b"misorder", report)
            self.assertIn(b"records\t100000\n", report)
            self.assertEqual(cluster.run("fs", "cat", "/lines/part-m-00000")[0].count(b"error"), 0, "the generated words have none")
            text = cluster.run("fs", "cat", "/text/part")[0].split()
            counts = {line.split(b"\t")[0]: int(line.split(b"\t")[1]) for part in cluster.output("/counts").values() for line in part.splitlines()}
            self.assertEqual(sum(counts.values()), len(text))
            self.assertEqual(counts.keys(), set(text))


if __name__ == "__main__":
    unittest.main()
