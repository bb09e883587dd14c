# SPDX-License-Identifier: Apache-2.0
"""Papers as files: simulated and put into a page, and the page of live ones from results that are there."""

import csv
import json
import math
import os
import re
import shutil
import statistics
import subprocess
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
LIVE = os.path.join(ROOT, "lab", "papers", "live")
# Simulated in place of live, so that the test takes seconds.
COMPARISONS = {"slots-2-2": ("slots.toml", "fair,fresh-dynamic", "makespan,turnaround,utilisation"),
               "copy-compute": ("copy-compute.toml", "fair,fair+ccs", "turnaround,makespan,wait"),
               "hot-file-biased": ("hot-file.toml", "fair,fair+delay", "turnaround,makespan,node_local"),
               "hot-file-equal": ("hot-file.toml", "fair,fair+delay", "turnaround,makespan,node_local")}
MARKS = ("copy-compute", "slots", "hot-file/by-kind")
PAPER = """
name = "tiny"
[paper]
title = "A paper"
authors = "Somebody"
section = "figure 1"
schedulers = ["fifo", "fair"]
seeds = 3
[cluster]
nodes = 2
[[jobs]]
name = "one"
count = 4
users = 2
maps = 8
map_time = { uniform = [5, 9] }
per_task = true
[[tables]]
id = "ends"
title = "Ends"
head = "scheduler"
schedulers = ["fifo", "fair"]
columns = [{ name = "makespan, s", metric = "makespan" }]
[[claims]]
text = "makespan, fair / fifo"
says = "the same"
metric = "makespan"
of = "fair"
as = "ratio"
against = { of = "fifo" }
within = [0.5, 2]
"""


def page_of(names):
    return "Before.\n" + "".join(f"<!-- table {name} -->\n<!-- end of table -->\n" for name in names) + "![](page/slots.svg)\n"


class PapersTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.tmp = tempfile.TemporaryDirectory(prefix="millrace-papers-")
        cls.results = os.path.join(cls.tmp.name, "results")
        cls.millrace = os.path.join(os.environ["MILLRACE_BIN"], "millrace")
        os.mkdir(cls.results)
        for name, (workload, schedulers, metrics) in COMPARISONS.items():
            subprocess.run([cls.millrace, "compare", os.path.join(LIVE, workload), "--scheduler", schedulers, "--metric", metrics, "--repeat", "8",
                            "-o", os.path.join(cls.results, name)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    @classmethod
    def tearDownClass(cls):
        cls.tmp.cleanup()

    def setUp(self):
        self.directory = tempfile.mkdtemp(dir=self.tmp.name)

    def at(self, *names):
        return os.path.join(self.directory, *names)

    def write(self, name, text):
        with open(self.at(name), "w", encoding="utf-8") as f:
            f.write(text)
        return self.at(name)

    def read(self, name):
        with open(self.at(name), encoding="utf-8") as f:
            return f.read()

    def compare(self, *words, status=0):
        done = subprocess.run([self.millrace, "compare", *words], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def live(self, *names):
        return [os.path.join(LIVE, name + ".toml") for name in names]

    def values(self, comparison, metric):
        """scheduler -> seed -> value, by the other file that a comparison writes."""
        values = {}
        with open(os.path.join(self.results, comparison, "runs.csv"), encoding="utf-8", newline="") as f:
            for run in csv.DictReader(f):
                if run["second"] == "0":
                    values.setdefault(run["scheduler"], {})[run["seed"]] = float(run[metric])
        return values

    def test_a_simulated_paper_is_printed_written_and_checked(self):
        paper = self.write("p.toml", PAPER)
        said = self.compare(paper).stdout
        self.assertIn("tiny: A paper (Somebody, figure 1)\n", said)
        self.assertRegex(said, r"Ends\. 3 seeds\.\n  scheduler +makespan, s\n")
        page = self.write("page.md", page_of(["tiny/ends", "tiny/claims"]))
        self.compare(paper, "--check", page, status=1)
        self.compare(paper, "--write", page)
        self.compare(paper, "--check", page)
        written = self.read("page.md")
        self.assertRegex(written, r"\| makespan, fair / fifo \| the same \| 1\.\d\d .*\| yes \|\n|\| 0\.\d\d .*\| yes \|\n")
        # By `millrace sim`, which knows nothing of papers.
        with_seeds = []
        for seed in ("1", "2", "3"):
            done = subprocess.run([self.millrace, "sim", paper, "--scheduler", "fifo", "--seed", seed, "--json"], capture_output=True, text=True, check=True)
            with_seeds.append(json.loads(done.stdout)[0]["makespan"])
        self.assertIn(f"| fifo | {statistics.fmean(with_seeds):.1f} ", written)
        self.write("page.md", written.replace("| fifo |", "| fifo | 1"))
        self.assertRegex(self.compare(paper, "--check", page, status=1).stderr, r"page\.md:\d+: the page has .* and here it comes out as ")

    def test_refusals(self):
        paper = self.write("p.toml", PAPER.replace("of = \"fair\"", "of = \"fai\""))
        self.assertRegex(self.compare(paper, status=2).stderr, r"p\.toml:\d+: claims\[0\]\.of: there is no scheduler \"fai\"; did you mean fair\?")
        paper = self.write("p.toml", PAPER)
        self.assertIn("--metric is not for a paper's file", self.compare(paper, "--metric", "wait", status=2).stderr)
        plain = self.write("w.toml", "[[jobs]]\nmaps = 2\n")
        self.assertIn('w.toml" has no [paper]', self.compare(plain, "--write", "x", status=2).stderr)
        said = self.compare(paper, "--scheduler", "fifo", "--write", "x", status=2).stderr
        self.assertIn("--write is for a paper's file, without --scheduler", said)
        self.assertNotIn("has no", said)
        self.assertRegex(self.compare(self.write("broken.toml", PAPER.replace("seeds = 3", "seeds =")), status=2).stderr, r"broken\.toml:8: ")
        self.assertRegex(self.compare(self.at("absent.toml"), status=1).stderr, r"absent\.toml: No such file")
        self.assertRegex(self.compare(self.directory, status=1).stderr, "Is a directory")
        for option in ("--write", "--check"):
            self.assertIn(f"{option} names no page", self.compare(paper, option, "", status=2).stderr)
        self.assertIn("is a second one", self.compare(plain, plain, "--scheduler", "fifo", "-o", self.at("o"), status=2).stderr)
        self.assertIn("live runs, and", self.compare(paper, *self.live("slots"), "-o", self.at("o"), status=2).stderr)
        self.assertIn("-o DIR is missing", self.compare(*self.live("slots"), status=2).stderr)
        with open(self.live("slots")[0], encoding="utf-8") as f:
            moved = self.write("slots.toml", f.read())
        said = self.compare(moved, "-o", self.at("o"), status=2)
        self.assertRegex(said.stderr, r'slots\.toml:\d+: sweep\[0\]\.testbed: there is no file ".*/testbeds/slots-2-2\.toml"\n$')
        self.assertEqual(said.stdout, "")
        self.assertFalse(os.path.exists(self.at("o")))
        self.assertIn('p.toml has the name "tiny", as ', self.compare(paper, paper, status=2).stderr)
        self.assertIn("-o DIR is for live runs", self.compare(paper, "-o", self.at("o"), status=2).stderr)
        self.assertIn("for simulated papers", self.compare(*self.live("slots"), "-o", self.at("o"), "--repeat", "3", status=2).stderr)
        self.assertIn("leave one of them out", self.compare(paper, "--write", "x", "--check", "x", status=2).stderr)
        self.assertIn("leave one of them out", self.compare(paper, "--write", "x", "--json", status=2).stderr)

    def test_the_page_is_looked_at_before_anything_runs(self):
        # Runs that would take hours.
        paper = self.write("p.toml", PAPER.replace("maps = 8", "maps = 800").replace("seeds = 3", "seeds = 1000\ndraws = 1000"))
        page = self.write("page.md", page_of(["tiny/ends"]))
        fifo = self.at("fifo")
        os.mkfifo(fifo)
        for option in ("--write", "--check"):
            self.assertIn("page.md: the page has no place for the table tiny/claims", self.compare(paper, option, page, status=1).stderr)
            self.assertIn("fifo: the page is not a regular file", self.compare(paper, option, fifo, status=1).stderr)
            self.assertIn("fifo: the page is not a regular file", self.compare(*self.live("slots"), "-o", self.results, option, fifo, status=1).stderr)
            self.assertIn("absent.md: No such file", self.compare(paper, option, self.at("absent.md"), status=1).stderr)
        self.assertEqual(self.read("page.md"), page_of(["tiny/ends"]))

    def test_rows_follow_from_the_runs(self):
        page = self.write("page.md", page_of(MARKS))
        self.compare(*self.live("slots", "copy-compute", "hot-file"), "-o", self.results, "--write", page)
        written = self.read("page.md")
        values = self.values("slots-2-2", "makespan")
        fair, fresh = values["fair"], values["fresh-dynamic"]
        ratio = math.exp(statistics.fmean(math.log(fresh[seed] / fair[seed]) for seed in fair))
        self.assertRegex(written, rf"\| makespan \| {statistics.fmean(fair.values()):.3g} s \| fresh-dynamic \| {statistics.fmean(fresh.values()):.3g} s \| {ratio:.2f} \[.*\| better \|")
        self.assertIn("(`slots-3-1` has not been run.)", written)
        self.assertTrue(self.read("page/slots.svg").startswith("<svg "))
        self.assertFalse(os.path.exists(self.at("page", "copy-compute.svg")), "the page does not show it")
        self.compare(*self.live("copy-compute", "hot-file"), "-o", self.results, "--check", page)

    def test_results_that_are_missing_are_told(self):
        page = self.write("page.md", page_of((*MARKS, "live-and-simulated")))
        nowhere = self.at("nowhere")
        os.mkdir(self.at("empty"))
        for how in ("--write", "--check"):
            said = self.compare(*self.live("slots"), "-o", nowhere, how, page, status=1).stderr
            self.assertRegex(said, r'^millrace: compare: -o ".*/nowhere" is not a directory, so there are no results\n$')
            said = self.compare(*self.live("slots"), "-o", self.at("empty"), how, page, status=1).stderr
            self.assertRegex(said, r"^millrace: compare: .*: slots-2-2, slots-3-1, slots-1-3\n$")
        self.assertFalse(os.path.exists(nowhere))
        self.assertEqual(self.read("page.md"), page_of((*MARKS, "live-and-simulated")))
        # Half of what the papers ask for is there.
        os.symlink(os.path.join(self.results, "hot-file-biased"), self.at("empty", "hot-file-biased"))
        os.symlink(os.path.join(self.results, "slots-2-2"), self.at("empty", "slots-2-2"))
        papers = self.live("slots", "copy-compute", "hot-file")
        said = self.compare(*papers, "-o", self.at("empty"), "--write", page).stderr
        self.assertRegex(said, r"page\.md: left alone, since not all of it has been run: copy-compute, hot-file, live-and-simulated\n$")
        self.assertIn("| makespan |", self.read("page.md"))
        said = self.compare(*papers, "-o", self.at("empty"), "--check", page, status=1).stderr
        self.assertRegex(said, r"were not checked: copy-compute, slots-3-1, slots-1-3, hot-file-equal\n$")
        self.write("page.md", self.read("page.md").replace("| makespan |", "| makespam |"))
        said = self.compare(*papers, "-o", self.at("empty"), "--check", page, status=1).stderr
        self.assertRegex(said, r"page\.md:\d+: the page has ")

    def test_figures_of_a_class_follow_from_the_jobs(self):
        page = self.write("page.md", page_of(MARKS))
        self.compare(*self.live("hot-file"), "-o", self.results, "--write", page)
        sums = {}
        with open(os.path.join(self.results, "hot-file-biased", "jobs.csv"), encoding="utf-8", newline="") as f:
            for job in csv.DictReader(f):
                if job["second"] == "0" and job["class"] == "scan":
                    sums.setdefault(job["scheduler"], {}).setdefault(job["seed"], []).append(float(job["turnaround"]))
        means = {scheduler: {seed: statistics.fmean(values) for seed, values in seeds.items()} for scheduler, seeds in sums.items()}
        ratio = math.exp(statistics.fmean(math.log(means["fair+delay"][seed] / means["fair"][seed]) for seed in means["fair"]))
        row = next(line for line in self.read("page.md").splitlines() if line.startswith("| scan |"))
        self.assertIn(f"| {statistics.fmean(means['fair'].values()):.2f} ± ", row)
        self.assertIn(f"| {ratio:.2f} [", row)

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
            page = self.write("page.md", page_of(MARKS))
            said = self.compare(*self.live("copy-compute"), "-o", results, "--write", page, status=1).stderr
            self.assertRegex(said, r"comparison\.json: turnaround, fair\+ccs: the document has .*, its runs give ")
            self.assertEqual(self.read("page.md"), page_of(MARKS))
            shutil.rmtree(results)

    def test_the_plan_runs_each_comparison_on_its_testbed(self):
        plan = self.compare(*self.live("slots", "two-datacenters", "against-itself"), "-o", self.at("o")).stdout.splitlines()
        ups = [line for line in plan if " up " in line]
        self.assertEqual([re.search(r"testbeds/(\S+)\.toml", line).group(1) for line in ups], ["slots-2-2", "slots-3-1", "slots-1-3", "two-datacenters", "slots-2-1"])
        self.assertEqual(sum(line.startswith("trap ") and " down " in line for line in plan), len(ups), "each is taken down, whatever happens")
        self.assertEqual((plan.count("("), plan.count(")")), (len(ups), len(ups)))
        self.assertEqual(sum("against-itself.toml" in line for line in plan), 20)
        # A workload that a sweep changes is a file of its own, which runs as it stands.
        run = next(line.split(" -- ", 1)[1].split() for line in plan if line.endswith("/slots-1-3"))
        words = [word for word in run[1:] if word != "--simulate"]
        words[words.index("testbed")] = "sim"
        subprocess.run([self.millrace, *words], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with open(self.at("o", "slots-1-3", "comparison.json"), encoding="utf-8") as f:
            self.assertEqual({(node["map_slots"], node["reduce_slots"]) for node in json.load(f)["cluster"]["nodes"]}, {(1, 3)})


if __name__ == "__main__":
    unittest.main()
