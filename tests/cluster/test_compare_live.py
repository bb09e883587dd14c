# SPDX-License-Identifier: Apache-2.0
"""A workload file as real jobs: on clusters made for each run, and on one that is there. Nothing is left behind."""

import csv
import json
import os
import shutil
import signal
import subprocess
import tempfile
import unittest

from cluster import LIMIT_SECONDS, MILLRACE, Cluster, await_file, words

COMPARE_LIVE = os.path.join(os.environ["MILLRACE_TEST_JOBS"], "..", "compare_live")

WORKLOAD = """
block_size = "256K"
[cluster]
nodes = 3
racks = 2
datacenters = 2
map_slots = 1
reduce_slots = 1
[placement]
replication = 1
[data.text]
size = "768K"
[[jobs]]
name = "load"
user = "ann"
maps = 6
map_time = "0.2s"
map_cores = 0
map_output = 0.5
reduces = 1
reduce_time = "0.1s"
reduce_cores = 0
[[jobs]]
name = "count"
count = 2
user = ["bob", "cid"]
program = "wordcount"
input = "text"
reduces = 2
arrival = { kind = "interval", every = "0.3s", at = "0.1s" }
[[jobs]]
name = "own"
program = "./own-job"
input = "text"
options = { "grep.pattern" = "a+" }
reduces = 1
[[jobs]]
name = "rest"
count = 3
maps = 1
map_time = "0.1s"
located = false
arrival = { kind = "closed", workers = 1, think = "0.05s" }
"""


class Run:
    def __init__(self, lines):
        _, self.scheduler, self.outputs = lines[0].split(" ", 2)
        self.jobs = list(csv.DictReader(lines[1:-2]))
        _, self.events, self.deciding, self.master = (float(word) if i else word for i, word in enumerate(lines[-2].split(" ")))
        _, tasks, nodes, self.disturbed = lines[-1].split(" ", 3)
        self.tasks, self.nodes = int(tasks), int(nodes)


def runs_of(text):
    runs, lines = [], []
    for line in text.splitlines():
        lines.append(line)
        if line.startswith("tasks "):
            runs.append(Run(lines))
            lines = []
    return runs


def processes_about(directory):
    """The processes whose command line names the directory."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                if directory.encode() in f.read():
                    found.append(pid)
        except OSError:
            pass  # it has ended
    return found


class CompareLive(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="millrace-compare-test-")
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        self.scratch = os.path.join(self.directory, "tmp")
        os.mkdir(self.scratch)
        self.workload = os.path.join(self.directory, "w.toml")
        self.write_workload(WORKLOAD)
        shutil.copy(os.path.join(os.path.dirname(MILLRACE), "grep"), os.path.join(self.directory, "own-job"))

    def start(self, kind, *schedulers, master="", seed="1", patience="300"):
        environment = {**os.environ, "TMPDIR": self.scratch, "MASTER": master, "PATIENCE": patience}
        return subprocess.Popen([COMPARE_LIVE, MILLRACE, kind, self.workload, seed, *schedulers], env=environment, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)

    def run_all(self, kind, *schedulers, status=0, **more):
        process = self.start(kind, *schedulers, **more)
        out, error = process.communicate(timeout=LIMIT_SECONDS)
        self.assertEqual(process.returncode, status, error)
        return runs_of(out) if status == 0 else error

    def assert_nothing_left(self):
        self.assertEqual(os.listdir(self.scratch), [])
        self.assertEqual(processes_about(self.scratch), [])

    def test_two_schedulers_have_the_same_jobs_and_outputs(self):
        runs = self.run_all("local", "fifo", "fair+delay")
        self.assertEqual([run.scheduler for run in runs], ["fifo", "fair+delay"])
        self.assertTrue(runs[0].outputs)
        self.assertEqual(runs[0].outputs, runs[1].outputs)
        for run in runs:
            self.assertEqual([job["name"] for job in run.jobs], ["load-0", "count-0", "count-1", "own-0", "rest-0", "rest-1", "rest-2"])
            self.assertEqual({job["outcome"] for job in run.jobs}, {"succeeded"})
            self.assertGreater(run.events, run.tasks, "the end of each attempt is an event, and so is that of each job")
            self.assertGreater(run.deciding, 0)
            self.assertLess(run.deciding, run.master + 0.01, "deciding is a part of what the master did")
            self.assertEqual([job["user"] for job in run.jobs[:3]], ["ann", "bob", "cid"])
            self.assertEqual(run.tasks, 7 + 2 * 5 + 4 + 3)
            self.assertEqual(run.nodes, 3)
            load, first, second = (float(run.jobs[i]["submit"]) for i in (0, 1, 2))
            self.assertGreater(second, first)
            self.assertLess(abs(second - first - 0.3), 1)  # a busy machine is late
            self.assertGreaterEqual(float(run.jobs[0]["end"]) - load, 0.2 * 2 + 0.1)  # six maps in three slots, then the reduce
            for before, after in ((4, 5), (5, 6)):  # one after the other
                self.assertGreaterEqual(float(run.jobs[after]["submit"]), float(run.jobs[before]["end"]) + 0.05)
        self.assert_nothing_left()

    def test_a_variant_has_a_scheduler_file_of_its_own(self):
        self.write_workload('block_size = "64K"\n[cluster]\nnodes = 2\nmap_slots = 2\nreduce_slots = 1\n[[jobs]]\nname = "load"\n'
                            'user = "ann"\nmaps = 6\nmap_time = "0.2s"\nmap_cores = 0\n')
        capped, out = os.path.join(self.directory, "capped.toml"), os.path.join(self.directory, "out")
        with open(capped, "w", encoding="utf-8") as f:
            f.write("[pools.ann]\nmax_maps = 1\n")
        subprocess.run([MILLRACE, "compare", self.workload, "--on", "local", "--busy", "--scheduler", "fair,capped=fair", "--settings", f"capped={capped}",
                        "--repeat", "2", "--no-same-against-same", "-o", out], env={**os.environ, "TMPDIR": self.scratch}, check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=LIMIT_SECONDS)
        with open(os.path.join(out, "comparison.json"), encoding="utf-8") as f:
            document = json.load(f)
        most = []  # maps at a time
        for run in document["details"]:
            tasks = run["tasks"]
            maps = [(tasks["start"][i], tasks["end"][i]) for i, kind in enumerate(tasks["kind"]) if kind == "m"]
            self.assertEqual(len(maps), 6)
            most.append(max(sum(a <= start < b for a, b in maps) for start, _ in maps))
        self.assertGreater(most[0], 1)
        self.assertEqual(most[1], 1)
        self.assertEqual(document["variants"][1], {"scheduler": "fair", "settings": "[pools.ann]\nmax_maps = 1\n"})
        self.assert_nothing_left()

    def test_a_cluster_that_is_there_is_left_as_it_was(self):
        with Cluster(workers=2, settings=["master.scheduler=capacity"]) as cluster:
            cluster.run("fs", "put", "-", "/in/text", input=words(1, 1000))
            cluster.run("run", "wordcount", "/in/text", "-o", "/out")
            self.assertEqual(cluster.run("scheduler", "forget")[0], b"forgotten: 1 program\n")
            self.assertEqual(cluster.run("scheduler", "forget")[0], b"forgotten: 0 programs\n")
            cluster.run("run", "wordcount", "/in/text", "-o", "/out2")
            runs = self.run_all("cluster", "fair", "edf", master=cluster.address)
            self.assertEqual([run.scheduler for run in runs], ["fair", "edf"])
            self.assertEqual(runs[0].outputs, runs[1].outputs)
            # The rows say what the master says of its jobs: 7 of each run after the 2 above.
            listed = json.loads(cluster.run("job", "list", "--json")[0])
            listed = sorted(listed, key=lambda job: int(str(job["job"]).removeprefix("job")))[2:]
            self.assertEqual(len(listed), 14)
            for run, jobs in zip(runs, (listed[:7], listed[7:])):
                by_name = {job["name"]: job for job in jobs}
                begin = min(by_name["load-0"]["submitted_at"], by_name["own-0"]["submitted_at"], by_name["rest-0"]["submitted_at"])
                begin = min(begin, by_name["count-0"]["submitted_at"] - 0.1, by_name["count-1"]["submitted_at"] - 0.4)
                for row in run.jobs:
                    job = by_name[row["name"]]
                    for column, key in (("submit", "submitted_at"), ("start", "first_launched_at"), ("end", "ended_at")):
                        self.assertAlmostEqual(float(row[column]), job[key] - begin, places=5, msg=(row, column))
            exported = os.path.join(self.directory, "exported.toml")
            cluster.run("history", "export", "--since", "1h", "-o", exported)
            self.assertEqual(cluster.run("history", "export")[0].decode().count("[[jobs]]"), 16)
            simulated = json.loads(cluster.run("sim", exported, "--scheduler", "fifo,fair", "--json")[0])
            self.assertEqual([one["jobs"] for one in simulated], [16, 16])
            # Programs were forgotten before the second run, and it has learnt those of its own.
            self.assertEqual(cluster.run("scheduler", "forget")[0], b"forgotten: 4 programs\n")
            self.assertEqual(cluster.run("scheduler", "show")[0].split()[0], b"capacity")
            self.assertEqual(sorted(line.split()[-1] for line in cluster.run("fs", "ls", "/")[0].splitlines() if line.strip()),
                             sorted([b"/.millrace", b"/in", b"/out", b"/out2"]))
        self.assert_nothing_left()

    def write_workload(self, text):
        with open(self.workload, "w", encoding="utf-8") as f:
            f.write(text)

    def write_own_job(self, instead):
        """A job like grep, whose tasks do this in the shell first."""
        with open(os.path.join(self.directory, "own-job"), "w", encoding="utf-8") as f:
            f.write(f'#!/bin/sh\ncase "$1" in --millrace-describe|--millrace-prepare) ;; *) {instead} ;; esac\n'
                    f'exec {os.path.dirname(MILLRACE)}/grep "$@"\n')

    def test_a_job_that_fails_is_part_of_what_came_of_a_run(self):
        self.write_own_job("exit 3")
        own = '[[jobs]]\nname = "bad"\nprogram = "./own-job"\nmaps = 1\nmax_attempts = 1\noptions = { "grep.pattern" = "a" }\n'
        self.write_workload(f'block_size = "64K"\n[cluster]\nnodes = 1\n{own}[[jobs]]\nname = "good"\nmaps = 1\nmap_time = 0.1\nmap_cores = 0\n')
        (run,) = self.run_all("local", "fifo")
        self.assertEqual([(job["name"], job["outcome"]) for job in run.jobs], [("bad-0", "failed"), ("good-0", "succeeded")])
        self.assertEqual(run.jobs[0]["failed"], "1")

    def test_a_run_that_gets_no_further_ends_and_names_the_job(self):
        self.write_workload('[cluster]\nnodes = 1\nreduce_slots = 0\n[[jobs]]\nname = "a"\nmaps = 1\nlocated = false\nmap_time = 0.1\nreduces = 1\n')
        self.assertEqual(self.run_all("local", "fifo", status=1, patience="2").strip(),
                         'job1 ("a-0") has got no further for 2 s: 1 of 1 map and 0 of 1 reduce have ended; its logs may say why')
        self.assert_nothing_left()

    def interrupt(self, how):
        """Ends a run by this signal while its jobs run."""
        self.write_workload(WORKLOAD + '[[jobs]]\nname = "long"\nmaps = 9\nmap_time = 1000\nmap_cores = 0\n')
        ran = os.path.join(self.directory, "ran")
        self.write_own_job(f"touch {ran}")
        process = self.start("local", "fifo")
        await_file(ran, process)
        process.send_signal(how)
        error = process.communicate(timeout=LIMIT_SECONDS)[1]  # the guardians hold standard error until nothing is left
        return process.returncode, error

    def test_nothing_is_left_after_an_interrupt(self):
        status, error = self.interrupt(signal.SIGINT)
        self.assertEqual((status, error.strip().splitlines()[-1:]), (1, ["interrupted"]))
        self.assert_nothing_left()

    def test_nothing_is_left_after_a_kill(self):
        status, _ = self.interrupt(signal.SIGKILL)
        self.assertEqual(status, -signal.SIGKILL)
        self.assert_nothing_left()

    def test_what_is_wrong_is_told_with_its_line(self):
        def why(text):
            self.write_workload(text)
            return self.run_all("local", "fifo", status=1).strip()

        self.assertEqual(why('[[jobs]]\nname = "a"\nprogram = "wordcont"\nmaps = 1\n'),
                         f'{self.workload}:1: jobs[0] (a): there is no bundled job "wordcont"; did you mean wordcount?')
        self.assertIn("1: jobs[0] (a): ", why('[[jobs]]\nname = "a"\nprogram = "grep"\nmaps = 1\n'))  # without its pattern
        self.assertIn("the cluster has 100 nodes, but a local one has at most 64; give --nodes",
                      why('[cluster]\nnodes = 100\n[[jobs]]\nname = "a"\nmaps = 1\n'))
        self.assertIn(f'{self.workload}:1: data.d: no data of the kind "nonsense"', why('[data.d]\nkind = "nonsense"\n[[jobs]]\nname = "a"\nmaps = 1\ndata = "d"\n'))
        self.assert_nothing_left()


if __name__ == "__main__":
    unittest.main()
