# SPDX-License-Identifier: Apache-2.0
"""Pipelines of jobs: their steps are jobs of the cluster, their results are compared with Python's."""

import collections
import json
import os
import re
import signal
import subprocess
import unittest

from cluster import LIMIT_SECONDS, MILLRACE, Cluster, words

FREQUENT = os.path.join(os.environ["MILLRACE_TEST_JOBS"], "frequent")


class PipelineTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(workers=2, map_slots=2)
        cls.cluster.__enter__()
        cls.text = words(1, 300_000)
        counts = collections.Counter(cls.text.split())
        mean = sum(counts.values()) // len(counts)
        cls.ranked = b"".join(b"%d\t%s\n" % pair for pair in sorted((n, word) for word, n in counts.items() if n >= mean))
        cls.mean = mean
        lines = cls.text.splitlines(keepends=True)
        for n in range(3):
            cls.cluster.run("fs", "put", "-", f"/text/{n}", input=b"".join(lines[n::3]))

    @classmethod
    def tearDownClass(cls):
        cls.cluster.__exit__(None, None, None)

    def jobs(self):
        return json.loads(self.cluster.run("job", "list", "--json")[0])

    def left(self, output):
        """The temporary directories beside an output of that name."""
        return [word for word in self.cluster.run("fs", "ls", "/")[0].decode().split() if f"_{output}.steps-" in word]

    def check(self, parts):
        """The parts, one after the other, are what is expected."""
        self.assertTrue(b"".join(parts[name] for name in sorted(parts)) == self.ranked)

    def test_steps_are_jobs_that_know_of_each_other(self):
        said, _ = self.cluster.run("run", FREQUENT, "/text", "-o", "/ranked", "--reducers", "3", "--pool", "research", "-D", "job.max_attempts=2")
        self.check(self.cluster.output("/ranked"))
        self.assertEqual(len(self.cluster.output("/ranked")), 3)
        self.assertRegex(said.decode(), r"^frequent/count: job\d+ succeeded\nfrequent/rank: job\d+ succeeded\nfrequent succeeded: 2 jobs; output in /ranked\n$")
        self.assertEqual(self.left("ranked"), [])
        steps = {int(number) for number in re.findall(r": job(\d+) succeeded", said.decode())}
        ours = [job for job in self.jobs() if job["job"] in steps]
        self.assertEqual(sorted(job["name"] for job in ours), ["frequent/count", "frequent/rank"])
        self.assertEqual({job["pool"] for job in ours}, {"research"})

    def test_json(self):
        report = json.loads(self.cluster.run("run", FREQUENT, "/text", "-o", "/json", "--json", "--name", "mine")[0])
        self.assertEqual((report["pipeline"], report["state"], report["output"]), ("mine", "succeeded", "/json"))
        self.assertEqual([(job["step"], job["name"]) for job in report["jobs"]], [("count", "mine/count"), ("rank", "mine/rank")])
        counters = {(c["group"], c["name"]): c["value"] for c in report["jobs"][0]["counters"]}
        self.assertEqual(counters["frequent", "words"] // counters["frequent", "different"], self.mean)

    def test_a_step_that_fails(self):
        said = self.cluster.run("run", FREQUENT, "/text", "-o", "/failed", "-D", "frequent.wrong=throw", "-D", "job.max_attempts=1", status=1)[1].decode()
        last = said.splitlines()[-1]
        self.assertRegex(last, r"^frequent: step rank: job\d+: failed: .*cannot rank .*; the output of its steps is in /_failed\.steps-[0-9a-f]{8}$")
        self.assertEqual(said.count("cannot rank"), 1)
        kept = last.split()[-1]
        self.assertEqual(len(self.left("failed")), 1)
        self.assertGreater(len(self.cluster.output(kept + "/counts")["part-r-00000"]), 0)
        self.cluster.run("fs", "stat", "/failed", status=1)
        self.cluster.run("fs", "rm", "-r", kept)

    def test_an_interrupt_kills_the_step(self):
        run = self.cluster.start("run", FREQUENT, "/text", "-o", "/killed", "-D", "frequent.wrong=hang")
        seen = 0
        while seen < 2:  # until the second step is submitted
            line = run.stderr.readline()
            self.assertTrue(line, "it has ended")
            seen += b": submitted" in line
        run.send_signal(signal.SIGINT)
        out, error = run.communicate(timeout=LIMIT_SECONDS)
        self.assertEqual(run.returncode, 130, error)
        self.assertRegex(error.decode(), r"frequent: step rank: interrupted; the output of its steps is in /_killed\.steps-")
        killed = [job for job in self.jobs() if job["name"] == "frequent/rank" and job["output"] == "/killed"]
        self.assertEqual([job["state"] for job in killed], ["killed"])

    def test_what_is_refused(self):
        run = lambda *args, status: self.cluster.run("run", FREQUENT, *args, status=status)[1].decode()
        self.assertIn("exists already", run("/text", "-o", "/text", status=1))
        self.assertIn("/nowhere", run("/nowhere", "-o", "/x", status=1))
        self.assertIn("did you mean frequent.wrong?", run("/text", "-o", "/x", "-D", "frequent.wrng=a", status=2))
        self.assertIn("--detach", run("/text", "-o", "/x", "--detach", status=2))
        self.assertIn("frequent.wrong", self.cluster.run("run", FREQUENT, "--help")[0].decode())

    def test_local_runs(self):
        source = self.cluster.path("text")
        with open(source, "wb") as f:
            f.write(self.text)
        for out, more in (("alone", ["--in-process"]), ("local", [])):
            target = self.cluster.path(out)
            done = subprocess.run([MILLRACE, "local", "--workers", "1", "run", FREQUENT, source, "-o", target, "--reducers", "2", *more],
                                  capture_output=True, timeout=LIMIT_SECONDS)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(b"frequent/rank", done.stdout)
            parts = {}
            for name in os.listdir(target):
                if name.startswith("part-"):
                    with open(os.path.join(target, name), "rb") as f:
                        parts[name] = f.read()
            self.check(parts)
        self.assertEqual([name for name in os.listdir(self.cluster.directory) if ".steps-" in name], [])


if __name__ == "__main__":
    unittest.main()
