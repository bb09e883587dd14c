# SPDX-License-Identifier: Apache-2.0
"""`millrace compare --on local --simulate`: every live run simulated beside it, also when the comparison has ended before."""

import csv
import json
import os
import shutil
import subprocess
import tempfile
import unittest

from cluster import LIMIT_SECONDS, MILLRACE, Cluster

WORKLOAD = """
name = "tiny"
block_size = "64K"
[cluster]
nodes = 2
racks = 2
map_slots = 1
reduce_slots = 1
[placement]
replication = 1
[data.text]
size = "128K"
[[jobs]]
name = "load"
user = "ann"
maps = 6
map_time = "0.4s"
map_cores = 0
map_output = 0.5
reduces = 1
reduce_time = "0.3s"
reduce_cores = 0
[[jobs]]
name = "query"
count = 2
user = "bob"
maps = 1
map_time = "0.3s"
map_cores = 0
arrival = { kind = "closed", workers = 1, think = "0.2s", at = "0.3s" }
[[jobs]]
name = "count"
program = "wordcount"
input = "text"
reduces = 1
user = "cid"
"""


class SimulatedBeside(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="millrace-beside-test-")
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        self.workload = os.path.join(self.directory, "w.toml")
        with open(self.workload, "w", encoding="utf-8") as f:
            f.write(WORKLOAD)

    def run_words(self, *words, status=0):
        done = subprocess.run([MILLRACE, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=LIMIT_SECONDS)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def compare(self, *more):
        return self.run_words("compare", self.workload, "--scheduler", "fifo,fair", "--repeat", "2", "--on", "local", "--busy", "-o", self.at(), *more)

    def at(self, *names):
        return os.path.join(self.directory, "c", *names)

    def document(self):
        with open(self.at("comparison.json"), encoding="utf-8") as f:
            return json.load(f)

    def test_a_comparison_that_has_ended_is_simulated_without_new_runs(self):
        self.compare()
        self.assertIsNone(self.document()["simulated"])
        self.assertFalse(os.path.exists(self.at("simulated.csv")))
        made = {name: os.stat(self.at("runs", name)).st_mtime_ns for name in os.listdir(self.at("runs"))}
        said = self.compare("--simulate").stdout
        self.assertEqual({name: os.stat(self.at("runs", name)).st_mtime_ns for name in os.listdir(self.at("runs"))}, made)
        document = self.document()
        simulated = document["simulated"]
        self.assertIn("SIMULATED", said)
        for key in ("turnaround", "makespan", "fairness", "node_local", "rack_bytes"):
            for row in simulated["metrics"][key]:
                live = [run["metrics"][key] for run in document["runs"] if run["scheduler"] == row["scheduler"] and not run["second"]]
                self.assertEqual(row["runs"], 2)
                self.assertAlmostEqual(row["live"], sum(live) / 2, places=5)
        # The tasks sleep for most of their time, so that also a busy machine is met within a third.
        for key in ("turnaround", "makespan"):
            for row in simulated["metrics"][key]:
                self.assertLess(abs(row["error"]["value"]), 1 / 3, row)
        parameters = simulated["parameters"]
        self.assertEqual((parameters["runs"], parameters["second"]), (2, True))
        load, query, count = parameters["classes"]
        self.assertEqual((load["map"]["attempts"] > 0, load["reduce"]["attempts"], count["reduce"]["attempts"]), (True, 2, 2))
        # What all attempts have alike may be the whole of it.
        self.assertGreater(load["map"]["latency"] + parameters["task_latency"], 0)
        self.assertEqual(query["reduce"], None)
        self.assertNotEqual(count["map"]["scale"], 1)
        with open(self.at("simulated.csv"), encoding="utf-8", newline="") as f:
            rows = list(csv.DictReader(f))
        flat = [(document["schedulers"][row["scheduler"]], key, row) for key, rows in simulated["metrics"].items() for row in rows]
        self.assertEqual([(row["scheduler"], row["metric"]) for row in rows], [(name, key) for name, key, _ in flat])
        for line, (_, _, row) in zip(rows, flat):
            self.assertAlmostEqual(float(line["simulated"]), row["simulated"], places=4)
        self.compare()
        self.assertIsNone(self.document()["simulated"])
        self.assertFalse(os.path.exists(self.at("simulated.csv")))

    def test_programs_are_timed_alone(self):
        timed = os.path.join(self.directory, "timed.toml")
        untimed = self.run_words("sim", self.workload, "--scheduler", "fifo", status=2)
        self.assertIn("map_time", untimed.stderr)
        said = self.run_words("compare", self.workload, "--calibrate", timed).stdout
        self.assertRegex(said, r"count +wordcount +\d\.\d+ s +\d\.\d+ s +\d\.\d+")
        with open(timed, encoding="utf-8") as f:
            lines = f.read().splitlines()
        added = [line for line in lines if line not in WORKLOAD.splitlines()]
        self.assertEqual([line.split()[0] for line in added], ["#", "map_time", "map_output", "reduce_time"])
        self.assertEqual([line for line in lines if line not in added], WORKLOAD.splitlines())
        self.run_words("sim", timed, "--scheduler", "fifo")

    def test_runs_go_on_with_the_nodes_that_made_them_alone(self):
        with Cluster(workers=2, racks=2, map_slots=1, reduce_slots=1) as cluster:
            words = ("compare", self.workload, "--scheduler", "fifo,fair", "--repeat", "2", "--on", "cluster", "--no-same-against-same", "-o", self.at())
            cluster.run(*words)
            cluster.run(*words, "--simulate")
            cluster.start_worker(2)
            refused = cluster.run(*words, "--simulate", status=2)[1]
            self.assertIn(b"the list of nodes was ", refused)

    def test_only_live_runs_are_simulated_beside(self):
        refused = self.run_words("compare", self.workload, "--scheduler", "fifo", "--simulate", "-o", self.at(), status=2)
        self.assertIn("--simulate needs live runs", refused.stderr)


if __name__ == "__main__":
    unittest.main()
