# SPDX-License-Identifier: Apache-2.0
"""Journals as tables, against the tables that the simulator writes of the same runs. Takes MILLRACE_BIN, the program or its directory."""

import contextlib
import csv
import io
import os
import random
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "client" / "python" / "src"))

import millrace  # noqa: E402
from millrace import journal, program  # noqa: E402

try:
    import pyarrow.parquet as parquet
except ImportError:
    parquet = None

BEGIN = ["0 NodeJoined node=n0 rack=r0 datacenter=dc0 maps=2 reduces=1", "0 NodeJoined node=n1 maps=2 reduces=1",
         "0 JobSubmitted job=job0 name=a%20b priority=HIGH maps=10:n0;20:n1 reduces=1 max_attempts=2 user=ada",
         "5 JobSubmitted job=job1 name=c maps=7:n0 user=bob pool=etl deadline=900"]


class LinesTest(unittest.TestCase):
    def read(self, *lines):
        with tempfile.TemporaryDirectory() as place:
            path = Path(place, "run1.txt")
            path.write_text("\n".join([*BEGIN, *lines, ""]))
            return journal.read(path)

    def test_choices_are_the_jobs_with_something_to_launch(self):
        tables = self.read("9 decide", "9 AttemptLaunched attempt=job1.m.0.0 node=n0", "9 AttemptLaunched attempt=job0.m.0.0 node=n0",
                           "9 AttemptLaunched attempt=job0.m.1.0 node=n1", "12 AttemptSucceeded attempt=job1.m.0.0 input_bytes=7 output_bytes=3 cpu=2",
                           "13 NodeLost node=n1", "14 AttemptLaunched attempt=job0.m.1.1 node=n0", "15 AttemptLaunched attempt=job0.m.0.1 node=n0")
        self.assertEqual([(row["what"], row["at"], row["choices"]) for row in tables.decisions],
                         [("launch", 9, ["job0", "job1"]), ("launch", 9, ["job0"]), ("launch", 9, ["job0"]), ("launch", 14, ["job0"]), ("speculate", 15, None)])
        self.assertEqual([(row["task"], row["attempt"], row["how"], row["end"]) for row in tables.tasks],
                         [(0, 0, "succeeded", 12), (0, 0, "running", None), (1, 0, "lost", 13), (1, 1, "running", None), (0, 1, "running", None)])
        self.assertEqual([tables.tasks[0][name] for name in ("input_bytes", "output_bytes", "cpu")], [7, 3, 2])
        self.assertEqual(tables.jobs[0], {
            "run": "run1", "job": "job0", "name": "a b", "user": "ada", "pool": "ada", "priority": "HIGH", "maps": 2, "reduces": 1, "input_bytes": 30,
            "submit": 0, "deadline": None, "end": None, "outcome": "unfinished"})
        self.assertEqual([tables.jobs[1][name] for name in ("pool", "deadline", "end", "outcome")], ["etl", 900, 12, "succeeded"])

    def test_jobs_that_fail_and_are_killed(self):
        tables = self.read("9 AttemptLaunched attempt=job0.m.0.0 node=n0", "10 AttemptFailed attempt=job0.m.0.0 reason=full%20disk", "11 AttemptLaunched attempt=job0.m.0.1 node=n0",
                           "11 AttemptLaunched attempt=job0.m.1.0 node=n0", "12 AttemptFailed attempt=job0.m.0.1 reason=again", "13 JobKilled job=job1 reason=mine")
        self.assertEqual([(row["outcome"], row["end"]) for row in tables.jobs], [("failed", 12), ("killed", 13)])
        self.assertEqual([(row["how"], row["reason"]) for row in tables.tasks], [("failed", "full disk"), ("failed", "again"), ("killed", None)])

    def test_what_is_no_journal(self):
        for line in ("x decide", "5 AttemptLaunched attempt=job9.m.0.0 node=n0", "5 AttemptLaunched node=n0", "words"):
            with self.assertRaisesRegex(millrace.UsageError, r"run1.txt:5 is no line of a journal"):
                self.read(line)


@unittest.skipUnless(os.environ.get("MILLRACE_BIN"), "MILLRACE_BIN names no program")
class SimulatedTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = Path(directory.name)

    def simulate(self, seed, scheduler, faults):
        """Returns the journal of a run, and the directory of its tables."""
        chance = random.Random(seed)
        lines = [f"seed = {seed}", "[cluster]", "nodes = 4", "racks = 2", "map_slots = 2", "reduce_slots = 1"]
        if faults:
            lines += ["slow_share = 0.2", "failure_probability = 0.1", "[[cluster.failures]]", "node = 1", "at = 30", "back = 60"]
        lines += ["[arrival]", 'kind = "poisson"', "mean = 5", "[[jobs]]", 'name = "job"', "count = 15", "users = 3", "maps = { uniform = [1, 20] }",
                  'priority = { choice = ["HIGH", "NORMAL"] }', "map_time = { uniform = [2, 9] }", f"reduces = {{ uniform = [0, {chance.choice([0, 3])}] }}", "reduce_time = 3"]
        workload, settings = self.directory / "w.toml", self.directory / "s.toml"
        workload.write_text("\n".join(lines))
        settings.write_text(f"[speculation]\nenabled = {str(faults).lower()}\n")
        output = Path(tempfile.mkdtemp(dir=self.directory)) / "output"
        subprocess.run([program.find(), "sim", workload, "--scheduler", scheduler, "--settings", settings, "--journal", self.directory / "j.txt", "-o", output],
                       check=True, capture_output=True)
        return self.directory / "j.txt", next(path.parent for path in output.glob("*/tasks.csv"))

    @staticmethod
    def rows(path):
        with path.open(newline="") as file:
            return list(csv.DictReader(file))

    def test_the_tables_are_those_of_the_simulator(self):
        def seconds(time):
            return "" if time is None else f"{time / 1e6:.6f}"

        first = random.SystemRandom().randrange(10**6)
        for number, (scheduler, faults) in enumerate([("fifo", False), ("fair+delay+ccs", True), ("sjf+ccs", True), ("capacity", True), ("lsap", False)]):
            with self.subTest(seed=first + number, scheduler=scheduler):
                path, output = self.simulate(first + number, scheduler, faults)
                tables = journal.read(path)
                tasks = {f"{row['job']}.{row['kind'][0]}.{row['task']}.{row['attempt']}": (f"n{row['node'][1:]}", seconds(row["start"]), seconds(row["end"]), row["how"])
                         for row in tables.tasks}
                self.assertEqual(tasks, {row["attempt"]: (f"n{row['node']}", row["start"], row["end"], row["how"]) for row in self.rows(output / "tasks.csv")})
                jobs = {row["job"]: (row["name"], row["user"], row["pool"], row["outcome"], seconds(row["submit"]), seconds(row["end"])) for row in tables.jobs}
                self.assertEqual(jobs, {f"job{row['job']}": (row["name"], row["user"], row["pool"], row["outcome"], row["submit"], row["end"])
                                        for row in self.rows(output / "jobs.csv")})
                computing = {row["attempt"]: row["compute"] for row in self.rows(output / "tasks.csv") if ".r." in row["attempt"] and row["how"] == "succeeded"}
                for row in tables.tasks:
                    if row["kind"] == "reduce" and row["how"] == "succeeded":
                        self.assertEqual(seconds(row["computing"]), computing[f"{row['job']}.r.{row['task']}.{row['attempt']}"])
                launches = [row for row in tables.decisions if row["what"] in ("launch", "speculate")]
                self.assertEqual(len(launches), len(tasks))
                for row in launches:
                    if row["what"] == "launch":
                        self.assertIn(row["job"], row["choices"])

    @unittest.skipIf(parquet is None, "pyarrow is not installed")
    def test_parquet(self):
        path, _ = self.simulate(5, "fair", True)
        other = self.directory / "other"
        other.mkdir()
        (other / "second.txt").write_bytes(path.read_bytes())
        output = self.directory / "tables"
        self.assertEqual(journal.main(["to-parquet", str(path), str(other / "second.txt"), "-o", str(output)]), 0)
        tables = journal.read(path)
        for name in ("decisions", "tasks", "jobs"):
            rows = parquet.read_table(output / f"{name}.parquet").to_pylist()
            expected = getattr(tables, name)
            self.assertEqual(rows, expected + [{**row, "run": "second"} for row in expected])
        (other / "j.txt").write_bytes(path.read_bytes())
        journal.to_parquet([path, other / "j.txt"], output)
        self.assertEqual(set(parquet.read_table(output / "jobs.parquet").column("run").to_pylist()), {str(path), str(other / "j.txt")})

    @unittest.skipIf(parquet is None, "pyarrow is not installed")
    def test_what_is_wrong_is_one_line(self):
        with contextlib.redirect_stderr(io.StringIO()) as errors:
            self.assertEqual(journal.main(["to-parquet", "nowhere.txt", "-o", str(self.directory / "out")]), 1)
        self.assertIn("nowhere.txt", errors.getvalue())
        self.assertEqual(errors.getvalue().count("\n"), 1)


if __name__ == "__main__":
    unittest.main()
