# SPDX-License-Identifier: Apache-2.0
"""`millrace trace`: each format as a workload that `millrace sim` runs, and runs in the formats of other programs.

No cluster is needed. What the formats hold is tested in tests/python/test_traces.py, whose fixtures are used here.
"""

import csv
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from cluster import LIMIT_SECONDS, MILLRACE

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PACKAGE = os.path.join(ROOT, "client", "python", "src")
FIXTURES = os.path.join(ROOT, "tests", "python", "traces")


def fixture(name):
    return os.path.join(FIXTURES, name)


class TracesTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="millrace-traces-test-")
        self.addCleanup(folder.cleanup)
        self.place = folder.name
        os.mkdir(os.path.join(self.place, "bin"))
        os.symlink(sys.executable, os.path.join(self.place, "bin", "python3"))

    def run_words(self, *words, status=0, stdin=b"", **environment):
        env = {**os.environ, "PYTHONPATH": PACKAGE, "PATH": f"{self.place}/bin:{os.environ['PATH']}", **environment}
        done = subprocess.run([MILLRACE, *words], cwd=self.place, env=env, capture_output=True, input=stdin, timeout=LIMIT_SECONDS, check=False)
        self.assertEqual(done.returncode, status, done.stderr.decode())
        return done.stdout.decode(), done.stderr.decode()

    def simulated(self, workload, *words):
        """The rows of jobs.csv of a run with enough slots for all, by name, and the directory of the run."""
        directory = f"{workload}.run"
        self.run_words("sim", workload, "--scheduler", "fifo", "--nodes", "250", "--slots", "64,64", "-o", directory, *words)
        with open(os.path.join(self.place, directory, "fifo", "jobs.csv"), encoding="utf-8") as f:
            return {row["class"] or row["name"]: row for row in csv.DictReader(f)}, os.path.join(directory, "fifo")

    def test_each_format_is_simulated(self):
        """With a slot for each task a job takes as long as a map and a reduce of it: no job waits for another."""
        for words, jobs in (
            (("swf", "unilu.swf", "--keep-failed", "--jobs", "3"), {"1": (0, 160, 0, 35541), "2": (83558, 36, 0, 432024), "3": (195861, 64, 0, 278442)}),
            (("sls", "inputsls.json"), {"job_1": (0, 3, 0, 16.604667), "job_2": (105.204, 2, 0, 20.876)}),
            (("batsim", "batsim.json", "--flops", "1e9"), {"short": (0, 1, 0, 20.25), "repeated": (1, 3, 0, 72.75), "killed": (2.5, 2, 0, 20), "computes": (5, 4, 0, 3), "7": (30, 1, 0, 4)}),
            (("alibaba2018", "batch_task.csv"), {"j_2": (0, 4, 0, 60), "j_1": (100, 4, 2, 35), "j_5": (300, 1, 2, 170)}),
            (("google2019", "instance_events.csv"), {"15": (0, 1, 0, 1.5), "11": (1, 2, 0, 7)}),
        ):
            with self.subTest(format=words[0]):
                workload = f"{words[0]}.toml"
                self.run_words("trace", "import", words[0], fixture(words[1]), *words[2:], "-o", workload)
                rows, _ = self.simulated(workload)
                found = {name: (float(row["submit"]), int(row["maps"]), int(row["reduces"]), float(row["turnaround"])) for name, row in rows.items()}
                self.assertEqual(found, jobs)
                self.assertEqual({row["outcome"] for row in rows.values()}, {"succeeded"})

    def test_jobs_that_move_bytes_and_jobs_that_are_drawn_are_simulated(self):
        self.run_words("trace", "import", "csv", fixture("jobs.csv"), "-o", "csv.toml")
        rows, _ = self.simulated("csv.toml")
        self.assertEqual((rows["sort"]["user"], rows["sort"]["pool"], rows["sort"]["deadline"]), ("ann", "etl", "600.000000"))
        read = sum(int(rows["sort"][f"bytes_{level}"]) for level in ("node", "rack", "datacenter", "off"))
        self.assertEqual((read, int(rows["sort"]["shuffle_bytes"])), (4000, 2000))
        for name in ("syn.json", "syn_generic.json"):
            self.run_words("trace", "import", "synth", fixture(name), "-o", "synth.toml")
            self.assertEqual(len(self.simulated("synth.toml")[0]), 10)

    def test_a_swim_trace_is_simulated(self):
        text = b"name,submit,maps,map_seconds,reduces,reduce_seconds,input_bytes,shuffle_bytes,output_bytes\nsort,10,4,10,2,5.5,4000,2000,1000\n"
        out, said = self.run_words("trace", "import", "csv", "-", "--to", "swim", stdin=text)
        self.assertEqual(out, "sort\t0\t0\t4000\t2000\t1000\n")
        self.assertIn("1 job from standard input", said)
        Path(self.place, "swim.tsv").write_text(out)
        self.assertEqual(self.simulated("swim.tsv")[0]["sort"]["outcome"], "succeeded")

    def test_a_run_comes_back_as_the_same_jobs(self):
        self.run_words("trace", "import", "alibaba2018", fixture("batch_task.csv"), "-o", "w.toml")
        _, directory = self.simulated("w.toml")
        tasks = {"j_2": [(4, 60000)], "j_1": [(4, 15000), (2, 20000)], "j_5": [(1, 100000), (2, 70000)]}
        text = self.run_words("trace", "export", "sls", directory)[0]
        jobs = [json.loads(each) for each in re.split(r"(?m)(?<=^\})\n", text) if each.strip()]
        self.assertEqual({job["job.id"]: [(task["count"], task["duration.ms"]) for task in job["job.tasks"]] for job in jobs}, tasks)
        self.run_words("trace", "export", "sls", directory, "-o", "again.json")
        self.run_words("trace", "import", "sls", "again.json", "-o", "again.toml")
        rows, _ = self.simulated("again.toml")
        self.assertEqual({name: float(row["turnaround"]) for name, row in rows.items()}, {"j_2": 60, "j_1": 35, "j_5": 170})

    def test_results_have_the_names_of_others(self):
        self.run_words("trace", "import", "batsim", fixture("batsim.json"), "--flops", "1e9", "-o", "w.toml")
        _, directory = self.simulated("w.toml")
        out, _ = self.run_words("trace", "export", "batsim-jobs", directory)
        rows = {row["profile"]: row for row in csv.DictReader(out.splitlines())}
        repeated = rows["repeated"]
        self.assertEqual([repeated[name] for name in ("submission_time", "requested_number_of_resources", "success", "final_state", "starting_time", "execution_time",
                                                      "finish_time", "waiting_time", "turnaround_time", "stretch")],
                         ["1", "3", "1", "COMPLETED_SUCCESSFULLY", "1", "72.75", "73.75", "0", "72.75", "1"])  # fmt: skip
        out, _ = self.run_words("trace", "export", "swf", directory)
        lines = [line.split() for line in out.splitlines() if not line.startswith(";")]
        # Submission, wait, run, processors that it got and asked for, status.
        self.assertEqual([[line[at] for at in (1, 2, 3, 4, 7, 10)] for line in lines],
                         [["0", "0", "20.25", "1", "1", "1"], ["1", "0", "72.75", "3", "3", "1"], ["2.5", "0", "20", "2", "2", "1"],
                          ["5", "0", "3", "4", "4", "1"], ["30", "0", "4", "1", "1", "1"]])  # fmt: skip

    def test_statuses_and_messages_pass_through(self):
        Path(self.place, "odd.swf").write_text("1 2 3\n")
        self.assertEqual(self.run_words("trace", "import", "swf", "odd.swf", status=1)[1],
                         "millrace: trace import: odd.swf:1: the line has 3 fields, not 18; mend the line, or give --skip-odd to leave such lines out\n")  # fmt: skip
        for words in (("swf",), ("swf", "odd.swf", "--nonsense"), ("pdf", "odd.swf"), ("swf", "odd.swf", "--jobs", "x"), ("swf", "odd.swf", "--flops", "5")):
            said = self.run_words("trace", "import", *words, status=2)[1]
            self.assertRegex(said, r"^millrace: trace import: [^\n]*\n$")
        self.run_words("trace", "read", status=2)
        for hidden in ({"PYTHONPATH": ""}, {"PATH": "/nowhere"}):
            said = self.run_words("trace", "import", "swf", "odd.swf", status=1, **hidden)[1]
            self.assertRegex(said, r"^millrace: trace import: python3 does not find the package millrace, .*; install it [^\n]*\n$")

    def test_help_is_that_of_the_package(self):
        """The program knows the words, too, so that help and shells need no Python; both lists are the same."""
        def options(text):
            return set(re.findall(r"(?m)^ +(?:-\w(?: \w+)?, *)?(--[a-z-]+)", text)) - {"--help"}

        def formats(text):
            return re.findall(r"(?m)^ +([a-z]+[0-9]*(?:-jobs)?) {2,}(.+)$", text[text.lower().index("format"):])

        for verb in ("import", "export"):
            ours = self.run_words("trace", verb, "--help", PYTHONPATH="")[0]
            package = subprocess.run([sys.executable, "-m", "millrace.trace", verb, "--help"], env={**os.environ, "PYTHONPATH": PACKAGE}, capture_output=True, check=True, text=True)
            self.assertEqual(options(ours), options(package.stdout))
            self.assertTrue(options(ours))
            listed = dict(formats(package.stdout[package.stdout.index("\nformats:"):]))
            self.assertGreaterEqual(len(listed), 5)
            for name, line in listed.items():
                self.assertIn(f"{name:<13}{line}\n", ours)
        self.assertIn("alibaba2018", self.run_words("trace", "--help")[0])


if __name__ == "__main__":
    unittest.main()
