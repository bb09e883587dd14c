"""Results of lab/experiments: packed for a release, and the rows of their page computed again from the single runs."""

import csv
import json
import math
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
RUN = os.path.join(ROOT, "lab", "experiments", "run")
# Simulated in place of live, so that the test takes seconds.
COMPARISONS = {"slots-2-2": ("slots.toml", "fair,fresh-dynamic", "makespan,turnaround,utilisation"),
               "copy-compute": ("copy-compute.toml", "fair,fair+ccs", "turnaround,makespan,wait")}


class ExperimentsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.tmp = tempfile.TemporaryDirectory(prefix="millrace-experiments-")
        cls.results = os.path.join(cls.tmp.name, "results")
        os.mkdir(cls.results)
        for name, (workload, schedulers, metrics) in COMPARISONS.items():
            subprocess.run([os.path.join(os.environ["MILLRACE_BIN"], "millrace"), "compare", os.path.join(ROOT, "lab", "experiments", workload), "--scheduler", schedulers,
                            "--metric", metrics, "--repeat", "8", "-o", os.path.join(cls.results, name)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    @classmethod
    def tearDownClass(cls):
        cls.tmp.cleanup()

    def at(self, name):
        return os.path.join(self.tmp.name, name)

    def run_it(self, *words, status=0):
        done = subprocess.run([sys.executable, RUN, *words], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def pack(self, name):
        """Packs the two experiments that there are."""
        said = self.run_it("-o", self.results, "--pack", self.at(name), "slots", "copy-compute", status=1).stderr
        self.assertIn("slots-3-1, slots-1-3", said, "what has not been run is named")
        return self.at(name)

    def test_rows_follow_from_the_runs_in_the_archive(self):
        said = self.run_it("-o", self.pack("a.tar.gz"), "--recompute", "slots").stdout
        # By the other file that a comparison writes.
        values = {}
        with open(os.path.join(self.results, "slots-2-2", "runs.csv"), encoding="utf-8", newline="") as f:
            for run in csv.DictReader(f):
                if run["second"] == "0":
                    values.setdefault(run["scheduler"], {})[run["seed"]] = float(run["makespan"])
        fair, fresh = values["fair"], values["fresh-dynamic"]
        ratio = math.exp(statistics.fmean(math.log(fresh[seed] / fair[seed]) for seed in fair))
        self.assertRegex(said, rf"makespan: fair {statistics.fmean(fair.values()):.3g} s, fresh-dynamic {statistics.fmean(fresh.values()):.3g} s, ratio {ratio:.2f} \[")
        self.assertIn("; 8 pairs; verdict better", said)

    def test_a_document_that_says_other_than_its_runs(self):
        for change in (lambda found: found["ratio"].update(value=1.2 * found["ratio"]["value"]), lambda found: found["ratio"].update(high=found["ratio"]["high"] + 0.1)):
            results = self.at("changed")
            shutil.copytree(self.results, results, ignore=shutil.ignore_patterns("runs"))
            path = os.path.join(results, "copy-compute", "comparison.json")
            with open(path, encoding="utf-8") as f:
                document = json.load(f)
            change(next(found for found in document["comparisons"] if found["metric"] == "turnaround"))
            with open(path, "w", encoding="utf-8") as f:
                json.dump(document, f)
            said = self.run_it("-o", results, "--recompute", "copy-compute", status=1).stderr
            self.assertRegex(said, r"^copy-compute: mean turnaround, fair\+ccs: the document has .*, its runs give ")
            shutil.rmtree(results)

    def test_the_archive_makes_the_page_as_the_directory_does(self):
        archive = self.pack("b.tar.gz")
        pages = []
        for results in (self.results, archive):
            page = self.at("page.md")
            with open(page, "w", encoding="utf-8") as f:
                f.write("<!-- table copy-compute -->\n<!-- end of table -->\n<!-- table slots -->\n<!-- end of table -->\n")
            self.run_it("-o", results, "--write", page)
            with open(page, encoding="utf-8") as f:
                pages.append(f.read())
        self.assertEqual(*pages)
        rows = re.findall(r"^\| mean turnaround \|.*", pages[0], re.MULTILINE)
        self.assertEqual(len(rows), 2, pages[0])

    def test_equal_results_make_equal_archives(self):
        archives = []
        for _ in range(2):
            with open(self.pack("c.tar.gz"), "rb") as f:
                archives.append(f.read())
        self.assertEqual(*archives)

    def test_an_archive_without_them(self):
        said = self.run_it("-o", self.pack("d.tar.gz"), "--recompute", "deadlines", status=1).stderr
        self.assertIn("holds none of these comparisons", said)


if __name__ == "__main__":
    unittest.main()
