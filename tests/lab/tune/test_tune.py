# SPDX-License-Identifier: Apache-2.0
"""`millrace tune` over workload files of which it is known beforehand what serves them."""

import csv
import json
import math
import os
import statistics
import subprocess
import tempfile
import unittest

BIN = os.environ["MILLRACE_BIN"]
CLUSTER = "[cluster]\nnodes = 4\nracks = 2\nmap_slots = 2\nreduce_slots = 1\n"
# A job that needs all eight slots for 75 s, and right behind it four that need one of them for 4 s.
LONG_BEFORE_SHORT = CLUSTER + "".join(
    f'[[jobs]]\nname = "long"\nuser = "a"\nmaps = 60\nmap_time = 10\narrival = {{ kind = "batch", at = {120 * i} }}\n'
    f'[[jobs]]\nname = "short"\nuser = "b"\ncount = 4\nmaps = 1\nmap_time = 4\narrival = {{ kind = "batch", at = {120 * i + 1} }}\n'
    for i in range(10))
# Each has the cluster to itself, and all nodes have all data, so nothing can serve it better.
ONE_BY_ONE = CLUSTER + '[placement]\nreplication = 4\n' \
                       '[[jobs]]\nname = "only"\nuser = "a"\ncount = 40\nmaps = 8\nmap_time = 10\n' \
                       'arrival = { kind = "interval", every = 60 }\n'
# Two queues of mlq, the boundary of which decides: jobs of 20 maps wait behind those of 200 unless 20 maps are small.
TWO_SIZES = CLUSTER + "".join(
    f'[[jobs]]\nname = "large"\nuser = "a"\nmaps = 200\nmap_time = 4\narrival = {{ kind = "batch", at = {200 * i} }}\n'
    f'[[jobs]]\nname = "small"\nuser = "a"\ncount = 3\nmaps = 20\nmap_time = 4\narrival = {{ kind = "batch", at = {200 * i + 1} }}\n'
    for i in range(12))
FEW_ARE_SMALL = '[mlq]\nsmall_job_maps = 5\n'


class TuneTest(unittest.TestCase):
    def setUp(self):
        self.tmp = tempfile.TemporaryDirectory(prefix="millrace-tune-")
        self.addCleanup(self.tmp.cleanup)

    def at(self, name):
        return os.path.join(self.tmp.name, name)

    def write(self, name, text):
        with open(self.at(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.at(name)

    def millrace(self, *words, status=0):
        done = subprocess.run([os.path.join(BIN, "millrace"), *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual(done.returncode, status, done.stderr + done.stdout)
        return done

    def tune(self, workload, *words, status=0):
        return self.millrace("tune", "--workload", self.write("w.toml", workload), *words, status=status)

    def tuned(self, workload, *words):
        return json.loads(self.tune(workload, "--json", *words).stdout)

    def rows(self, *path):
        with open(os.path.join(self.at(path[0]), *path[1:]), encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))

    def test_a_setting_that_decides_is_found_and_does_what_was_said(self):
        settings = self.write("s.toml", FEW_ARE_SMALL)
        tuned = self.tuned(TWO_SIZES, "--in-force", "mlq", "--settings", settings, "--scheduler", "mlq", "--goal", "turnaround", "--tries", "24", "-o", self.at("c"))
        self.assertEqual((tuned["tuning"], tuned["in_force"], tuned["goals"]), ("change", "mlq", ["turnaround"]))
        (chosen,) = (one for one in tuned["front"] if one["label"] == tuned["chosen"])
        self.assertEqual(chosen["scheduler"], "mlq")
        values = dict(value.split("=") for value in chosen["set"])
        self.assertTrue(20 <= int(values["mlq.small_job_maps"]) < 200, values)
        # Searched on the earlier half, judged on the later one.
        self.assertEqual((tuned["jobs"], tuned["searched_jobs"], tuned["judged_jobs"]), (48, 24, 24))
        # What is said is of the runs in the report, in pairs.
        runs = self.rows("c", "runs.csv")
        before, after = ([float(row["turnaround"]) for row in runs if row["scheduler"] == name] for name in ("mlq", tuned["chosen"]))
        self.assertEqual((len(before), len(after)), (20, 20))
        ratio = math.exp(statistics.fmean(math.log(b / a) for a, b in zip(before, after)))
        row = next(row for row in tuned["findings"]["comparisons"] if row["scheduler"] == 1 + tuned["front"].index(chosen))
        self.assertAlmostEqual(row["ratio"]["value"], ratio, places=6)
        self.assertLess(row["ratio"]["high"], 1)
        # The scheduler file that it wrote is one, and serves the jobs better in a comparison of its own.
        self.millrace("scheduler", "check", os.path.join(self.at("c"), "scheduler.toml"))
        self.assertIn("small_job_maps = " + values["mlq.small_job_maps"], tuned["change"]["settings"])
        done = self.millrace("compare", self.at("w.toml"), "--scheduler", "now=mlq,then=mlq", "--settings", settings, "--settings",
                             "then=" + os.path.join(self.at("c"), "scheduler.toml"), "--metric", "turnaround", "--repeat", "2", "--json", "-o", self.at("again"))
        (again,) = (row for row in json.loads(done.stdout)["comparisons"] if row["metric"] == "turnaround")
        self.assertLess(again["ratio"]["value"], 1)

    def test_all_tries_are_written(self):
        self.tune(TWO_SIZES, "--in-force", "mlq", "--scheduler", "mlq,fair", "--goal", "turnaround,makespan", "--tries", "24", "-o", self.at("c"))
        tries = self.rows("c", "tries.csv")
        self.assertEqual(len(tries), 24)
        self.assertEqual((tries[0]["scheduler"], tries[0]["turnaround"], tries[0]["draws"]), ("mlq", "1", "16"))
        self.assertEqual({row["scheduler"] for row in tries}, {"mlq", "fair"})
        self.assertEqual({row["draws"] for row in tries}, {"2", "4", "16"})  # 24 tries, then 12 and twice 8
        self.assertLessEqual(sum(row["finalist"] == "yes" for row in tries), 5)

    def test_it_says_that_nothing_is_better(self):
        tuned = self.tuned(ONE_BY_ONE, "--in-force", "fifo")
        self.assertEqual((tuned["tuning"], tuned["chosen"], tuned["change"]), ("keep", None, None))
        self.assertIn("Nothing better was found", tuned["why"])
        said = self.tune(ONE_BY_ONE, "--in-force", "fifo").stdout
        self.assertIn("Nothing better was found", said)
        self.assertNotIn("scheduler set", said)

    def test_it_says_that_nothing_is_better_than_what_it_found(self):
        tuned = self.tuned(LONG_BEFORE_SHORT, "--in-force", "fifo", "--scheduler", "fair,sjf")
        self.assertEqual(tuned["tuning"], "change")
        self.assertEqual(self.tuned(LONG_BEFORE_SHORT, "--in-force", tuned["change"]["command"].split()[-1], "--scheduler", "fifo,sjf,fair", "--goal", "turnaround")["tuning"], "keep")

    def test_the_same_seed_finds_the_same(self):
        words = ("--in-force", "fifo", "--tries", "20", "--repeat", "6", "--seed", "7", "--json")
        both = [json.loads(self.tune(LONG_BEFORE_SHORT, *words).stdout) for _ in range(2)]
        for one in both:  # how long deciding takes is no matter of the seed
            one["findings"]["comparisons"] = [row for row in one["findings"]["comparisons"] if row["metric"] != "deciding"]
            del one["findings"]["warnings"]
        self.assertEqual(both[0], both[1])

    def test_text_says_what_was_done_and_what_to_do(self):
        said = self.tune(LONG_BEFORE_SHORT, "--in-force", "fifo", "--scheduler", "sjf", "--goal", "turnaround").stdout
        for part in ("2 tries of 2 schedulers, in 32 runs of jobs drawn from the first 25; 1 try was left, judged by 20 other draws from the last 25",
                     "sjf is shown to serve better than fifo, which is in force, by mean turnaround.",
                     "To change it:\n  millrace scheduler set sjf\nThe scheduler file stays as it is.\nTo go back:\n  millrace scheduler set fifo\n"):
            self.assertIn(part, said)

    def test_where_nothing_can_be_foretold_prediction_is_no_goal(self):
        at_once = CLUSTER + '[[jobs]]\nname = "a"\nuser = "a"\ncount = 30\nmaps = { uniform = [1, 40] }\nmap_time = 10\narrival = { kind = "batch" }\n'
        said = self.tune(at_once, "--in-force", "fifo", "--scheduler", "sjf").stdout
        self.assertIn("By turnaround alone: in some draws of these jobs there is no error of foretold ends: when they come, nothing is known yet", said)
        self.assertIn("With it, mean turnaround", said)
        self.assertIn("name other goals", self.tune(at_once, "--in-force", "fifo", "--scheduler", "sjf", "--goal", "prediction", status=2).stderr)

    def test_a_history_that_does_not_end_is_refused(self):
        stuck = LONG_BEFORE_SHORT.replace("reduce_slots = 1", "reduce_slots = 0").replace("maps = 60", "maps = 60\nreduces = 1")
        self.assertIn("do not end", self.tune(stuck, "--in-force", "fifo", "--scheduler", "sjf", status=2).stderr)

    def test_a_short_history_is_too_little(self):
        for words in ((), ("--json",)):
            self.assertIn("fewer than 20 are too few", self.tune(CLUSTER + '[[jobs]]\nname = "a"\ncount = 5\nmaps = 1\nmap_time = 1\n', *words).stdout)

    def test_wrong_words_are_refused_with_what_to_do(self):
        for words, part in ((("--goal", "turnarund"), "did you mean turnaround?"), (("--goal", "turnaround,turnaround"), "twice"), (("--goal", ","), "no goal"),
                            (("--goal", "turnaround,makespan,tail,fairness"), "at most 3 goals"), (("--goal", "deadlines"), "no job has had a deadline"),
                            (("--vary", "delay.rack_wait"), "SECTION.KEY=LOW:HIGH"), (("--vary", "nothing=1:2"), "no setting"),
                            (("--scheduler", "fifo"), "nothing to try"), (("--scheduler", "x=fair"), "leave the label out"),
                            (("--settings", "fair=s.toml"), "takes none for one scheduler"),
                            (("--check", "testbed"), "--check local"), (("--since", "24h"), "--since asks a cluster"), (("--tries", "1"), "2")):
            with self.subTest(words=words):
                self.assertIn(part, self.tune(LONG_BEFORE_SHORT, *words, status=2).stderr)
        self.assertIn("--check needs --workload", self.millrace("tune", "--check", "local", status=2).stderr)


if __name__ == "__main__":
    unittest.main()
