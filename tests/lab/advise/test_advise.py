# SPDX-License-Identifier: Apache-2.0
"""`millrace advise` over workload files whose best scheduler is known beforehand."""

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
# A job that needs all eight slots for 75 s, and right behind it four that need one of them for 4 s; then again, for as long as
# the cluster takes for them. Under fifo the four wait for 75 s, under fair they have their slots as soon as a task ends.
LONG_BEFORE_SHORT = CLUSTER + "".join(
    f'[[jobs]]\nname = "long"\nuser = "a"\nmaps = 60\nmap_time = 10\narrival = {{ kind = "batch", at = {120 * i} }}\n'
    f'[[jobs]]\nname = "short"\nuser = "b"\ncount = 4\nmaps = 1\nmap_time = 4\narrival = {{ kind = "batch", at = {120 * i + 1} }}\n'
    for i in range(6))
# Jobs whose tasks need a core all the time, on workers of two map slots and two reduce slots.
BUSY = "[cluster]\nnodes = 3\nmap_slots = 2\nreduce_slots = 2\n" \
       '[[jobs]]\nname = "count"\ncount = 22\nmaps = { uniform = [20, 28] }\nmap_time = 3\n' \
       'arrival = { kind = "interval", every = 48 }\n'
# Each has the cluster to itself.
ONE_BY_ONE = CLUSTER + '[[jobs]]\nname = "only"\nuser = "a"\ncount = 24\nmaps = 8\nmap_time = 10\n' \
                       'arrival = { kind = "interval", every = 60 }\n'


class AdviseTest(unittest.TestCase):
    def setUp(self):
        self.tmp = tempfile.TemporaryDirectory(prefix="millrace-advise-")
        self.addCleanup(self.tmp.cleanup)

    def at(self, name):
        return os.path.join(self.tmp.name, name)

    def write(self, name, text):
        with open(self.at(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.at(name)

    def advise(self, workload, *words, status=0):
        done = subprocess.run([os.path.join(BIN, "millrace"), "advise", "--workload", self.write("w.toml", workload), *words],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual(done.returncode, status, done.stderr + done.stdout)
        return done

    def advice(self, workload, *words):
        return json.loads(self.advise(workload, "--json", *words).stdout)

    def test_short_jobs_behind_long_ones_are_served_better_by_fair(self):
        advice = self.advice(LONG_BEFORE_SHORT, "--scheduler", "fair", "-o", self.at("c"))
        self.assertEqual((advice["advice"], advice["in_force"], advice["recommended"], advice["best"]), ("change", "fifo", "fair", ["fair"]))
        self.assertEqual(advice["change"], {"command": "millrace scheduler set fair", "settings_file": "", "settings": ""})
        self.assertTrue(advice["redrawn"])  # the file has the same jobs for every seed
        with open(os.path.join(self.at("c"), "runs.csv"), encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        fifo, fair = ([float(row["turnaround"]) for row in rows if row["scheduler"] == name] for name in ("fifo", "fair"))
        self.assertEqual((len(fifo), len(fair)), (20, 20))
        gain = advice["gain"]
        self.assertAlmostEqual(gain["before"], statistics.fmean(fifo), places=6)
        self.assertAlmostEqual(gain["after"], statistics.fmean(fair), places=6)
        ratio = math.exp(statistics.fmean(math.log(b / a) for a, b in zip(fifo, fair)))
        self.assertAlmostEqual(gain["ratio"]["value"], ratio, places=6)
        self.assertLess(gain["ratio"]["high"], 1)
        ratios = [b / a for a, b in zip(fifo, fair)]
        self.assertAlmostEqual(gain["single"]["low"], min(ratios), places=6)
        self.assertAlmostEqual(gain["single"]["high"], max(ratios), places=6)
        self.assertEqual(gain["better_in"], sum(b < a for a, b in zip(fifo, fair)))
        for key, first in (("before", fifo[0]), ("after", fair[0])):
            self.assertAlmostEqual(gain["as_it_was"][key], first, places=6)
        # The first run is the history as it was: of 30 jobs 24 are short, and wait for 74 s under fifo.
        self.assertGreater(fifo[0], (24 * 74 + 6 * 75) / 30)
        self.assertLess(fair[0], (24 * 15 + 6 * 90) / 30)
        self.assertGreater(len(set(fifo)), 15)  # the others are drawn
        self.assertTrue(os.path.exists(self.at("c/report.html")))

    def test_a_heavy_tail_is_named(self):
        tail = LONG_BEFORE_SHORT + '[[jobs]]\nname = "giant"\nuser = "a"\nmaps = 600\nmap_time = 10\n' \
            'arrival = { kind = "batch", at = 700 }\n'
        self.assertEqual(self.advice(tail, "--scheduler", "fair")["heavy_tail"], 1)
        self.assertIn("1 of the 31 jobs has half of the work, so the result of days to come depends on it.", self.advise(tail, "--scheduler", "fair").stdout)
        self.assertIsNone(self.advice(LONG_BEFORE_SHORT, "--scheduler", "fair")["heavy_tail"])

    def test_people_are_told_what_to_do(self):
        said = self.advise(LONG_BEFORE_SHORT, "--scheduler", "fair,sjf").stdout
        for part in ("30 jobs of 2 users on 4 nodes", "once as it was, then with jobs drawn from it", "Best by mean turnaround: ",
                     " of these jobs as they were: ", "If the days to come are drawn from them: ", " times as much (95%: ", "better in 20 of 20 runs", "In single runs it was ", "millrace scheduler set ", "The scheduler file stays as it is"):
            self.assertIn(part, said)

    def test_those_that_fit_are_simulated_if_none_are_named(self):
        advice = self.advice(LONG_BEFORE_SHORT, "--repeat", "8")
        schedulers = advice["findings"]["schedulers"]
        self.assertEqual(schedulers[0], "fifo")
        self.assertEqual(len(schedulers), len(set(schedulers)))
        self.assertIn("fair+delay", schedulers)
        self.assertFalse({"edf", "cp", "capacity", "joss-t"} & set(schedulers))

    def test_fresh_is_looked_at_where_slots_cost_something(self):
        without = self.advice(BUSY, "--repeat", "8")
        self.assertTrue(without["slots_cost_nothing"])
        self.assertFalse([name for name in without["findings"]["schedulers"] if name.startswith("fresh")])
        said = self.advise(BUSY, "--scheduler", "fair").stdout
        self.assertIn("does not say how many cores there are, or how many of them tasks use, so slots are assumed to cost nothing; FRESH", said)
        # Named, it looks good where there is a core for every slot, and the advice says what that is worth.
        named = self.advice(BUSY, "--scheduler", "fresh-dynamic")
        self.assertEqual(named["recommended"], "fresh-dynamic")
        said = self.advise(BUSY, "--scheduler", "fair,fresh-dynamic").stdout
        self.assertIn("slots are assumed to cost nothing: fresh-dynamic turns slots of one kind into the other", said)
        self.assertIn("do not believe this before you have tried it", said)
        # With the two cores that there are it is not recommended, and nothing is said.
        cores = BUSY.replace("[cluster]\n", "[cluster]\ncores = 2\nnodes_per_machine = 3\n")
        known = self.advice(cores, "--repeat", "8")
        self.assertFalse(known["slots_cost_nothing"])
        self.assertIn("fresh-dynamic", known["findings"]["schedulers"])
        self.assertNotIn("fresh", known["recommended"] or "")
        self.assertEqual(self.advice(cores, "--scheduler", "fresh-dynamic")["advice"], "keep")
        self.assertNotIn("cost nothing", self.advise(cores, "--scheduler", "fresh-dynamic").stdout)

    def test_of_several_that_serve_best_the_plainest_is_recommended(self):
        # Data is everywhere, so that +delay and +ccs change nothing, or next to nothing: none of them is shown to beat fair.
        for names in ("fair+delay,fair+ccs,fair", "fair,fair+delay+ccs,fair+ccs", "fair+delay+ccs,fair+delay,fair"):
            advice = self.advice(LONG_BEFORE_SHORT, "--scheduler", names)
            self.assertEqual(set(advice["best"]), set(names.split(",")))
            self.assertEqual(advice["recommended"], "fair", names)
        advice = self.advice(LONG_BEFORE_SHORT, "--scheduler", "fair+delay+ccs,fair+delay")
        self.assertEqual(advice["recommended"], "fair+delay")

    def test_where_nothing_differs_nothing_changes(self):
        advice = self.advice(ONE_BY_ONE, "--scheduler", "fair,sjf,mlq")
        self.assertEqual((advice["advice"], advice["recommended"], advice["change"]), ("keep", None, None))
        self.assertIn("nothing would have to change", advice["why"])
        self.assertEqual(set(advice["best"]), {"fifo", "fair", "sjf", "mlq"})

    def test_the_best_is_kept(self):
        advice = self.advice(LONG_BEFORE_SHORT, "--in-force", "fair", "--scheduler", "fifo,fair")
        self.assertEqual((advice["advice"], advice["best"]), ("keep", ["fair"]))

    def test_too_little_history_is_no_advice(self):
        few = CLUSTER + '[[jobs]]\ncount = 19\nmaps = 1\nmap_time = 1\n'
        advice = self.advice(few)
        self.assertEqual(advice["advice"], "none")
        self.assertIn("19 jobs", advice["why"])
        self.assertIn("too few", self.advise(few).stdout)

    def test_settings_that_would_have_served_better(self):
        capped = self.write("capped.toml", "[pools.b]\nmax_maps = 1\n[fair]\norder = \"fifo\"\n")
        free = self.write("free.toml", "[fair]\norder = \"sjf\"\n")
        advice = self.advice(LONG_BEFORE_SHORT, "--in-force", "fair", "--settings", capped, "--scheduler", "free=fair", "--settings", f"free={free}")
        self.assertEqual(advice["recommended"], "free")
        self.assertEqual(advice["change"]["command"], "")
        self.assertEqual(advice["change"]["settings"], "[fair]\norder = \"sjf\"\n# without [pools.b]\n")
        self.assertIn("# without [pools.b]", self.advise(LONG_BEFORE_SHORT, "--in-force", "fair", "--settings", capped, "--scheduler", "free=fair",
                                                          "--settings", f"free={free}").stdout)

    def test_other_goals(self):
        deadlines = LONG_BEFORE_SHORT.replace("map_time = 4\n", "map_time = 4\ndeadline = 40\n")
        advice = self.advice(deadlines, "--goal", "deadlines", "--scheduler", "edf")
        self.assertEqual((advice["metric"], advice["recommended"]), ("late", "edf"))
        fairness = self.advice(LONG_BEFORE_SHORT, "--goal", "fairness", "--scheduler", "fair")
        self.assertEqual((fairness["metric"], fairness["recommended"]), ("distance", "fair"))

    def test_wrong_usage_is_one_line(self):
        for words, part in ((("--goal", "deadlines"), "no job has had a deadline"), (("--goal", "peace"), "peace"),
                            (("--since", "1h"), "--workload"), (("--in-force", "fifo,fair"), "more than one"),
                            (("--scheduler", "fifo"), "which is in force"), (("--scheduler", "fare"), "fare")):
            said = self.advise(LONG_BEFORE_SHORT, *words, status=2).stderr
            self.assertEqual(said.count("\n"), 1, said)
            self.assertIn(part, said)

    def test_a_directory_holds_one_advice(self):
        words = ("--scheduler", "fair", "--repeat", "6", "-o", self.at("c"))
        self.advise(LONG_BEFORE_SHORT, *words)
        self.assertIn("the history was", self.advise(ONE_BY_ONE, *words, status=2).stderr)
        self.advise(ONE_BY_ONE, *words, "--force")


if __name__ == "__main__":
    unittest.main()
