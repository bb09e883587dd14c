# SPDX-License-Identifier: Apache-2.0
"""`millrace compare` over simulations: its files, its figures by another computation, and that it goes on where it was."""

import csv
import itertools
import json
import math
import os
import re
import signal
import statistics
import subprocess
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
BIN = os.environ["MILLRACE_BIN"]
FIRST_STEPS = os.path.join(ROOT, "examples", "workloads", "first-steps.toml")
SMALL = """
[cluster]
nodes = 4
racks = 2
[arrival]
kind = "poisson"
mean = 5
[[jobs]]
name = "long"
count = 2
maps = 30
map_time = { uniform = [5, 15] }
reduces = 2
reduce_time = 5
user = "a"
[[jobs]]
name = "short"
count = 8
maps = 2
map_time = 4
reduces = 1
reduce_time = 2
user = "b"
deadline = 30
"""


def quantile_by_rank(values, share):
    return sorted(values)[max(math.ceil(share * len(values)), 1) - 1]


def sign_flip_p(differences):
    """Over all ways to give the differences signs."""
    seen = abs(sum(differences)) * (1 - 1e-12)
    ways = [abs(sum(sign * value for sign, value in zip(signs, differences)))
            for signs in itertools.product((1, -1), repeat=len(differences))]
    return sum(way >= seen for way in ways) / len(ways)


def hodges_lehmann(differences):
    return statistics.median((a + b) / 2 for i, a in enumerate(differences) for b in differences[i:])


def joint_sign_flip_p(differences, family):
    """Over all ways to give the pairs signs, the same for all metrics: how often any of them is as far as this one."""
    def distance(signs, values):
        size = math.sqrt(sum(value * value for value in values))
        return abs(sum(sign * value for sign, value in zip(signs, values))) / size if size else 0
    seen = distance((1,) * len(differences), differences) - 1e-12
    ways = [max(distance(signs, values) for values in family) for signs in itertools.product((1, -1), repeat=len(differences))]
    return sum(way >= seen for way in ways) / len(ways)


def without_wall_time(document):
    """The document but for what differs between equal comparisons."""
    document = json.loads(json.dumps(document))
    del document["made"]
    document["comparisons"] = [c for c in document["comparisons"] if c["metric"] != "deciding"]
    for table in (document["winners"], document["same_against_same"], *(run["metrics"] for run in document["runs"])):
        table.pop("deciding", None)
    del document["deciding"]
    document["metrics"] = [metric for metric in document["metrics"] if metric["key"] != "deciding"]
    return document


class CompareTest(unittest.TestCase):
    def setUp(self):
        self.tmp = tempfile.TemporaryDirectory(prefix="millrace-compare-")
        self.addCleanup(self.tmp.cleanup)
        self.workload = self.at("w.toml")
        with open(self.workload, "w", encoding="utf-8") as file:
            file.write(SMALL)

    def at(self, name):
        return os.path.join(self.tmp.name, name)

    def command(self, *words):
        return [os.path.join(BIN, "millrace"), "compare", *words]

    def compare(self, *words, status=0):
        done = subprocess.run(self.command(*words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual(done.returncode, status, done.stderr + done.stdout)
        return done

    def refused(self, *words, status=2):
        """The one line of an error."""
        said = self.compare(*words, status=status).stderr
        self.assertEqual(said.count("\n"), 1, said)
        return said

    def stopped_at(self, files, runs, how, *words):
        """Starts a comparison and sends it a signal once `runs` has so many files. Returns its status and its words."""
        with subprocess.Popen(self.command(*words), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as command:
            while command.poll() is None and not (os.path.isdir(runs) and len(os.listdir(runs)) > files):
                try:
                    command.wait(timeout=0.002)
                except subprocess.TimeoutExpired:
                    pass
            command.send_signal(how)
            said = command.communicate()[1]
        return command.returncode, said

    def document(self, directory):
        with open(os.path.join(self.at(directory), "comparison.json"), encoding="utf-8") as file:
            return json.load(file, parse_constant=lambda text: self.fail(f"{text} is no number of JSON"))

    def table(self, directory, name):
        with open(os.path.join(self.at(directory), name), encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))

    def test_the_document_has_the_members_of_its_page(self):
        self.compare(self.workload, "--scheduler", "fifo,fair", "--repeat", "6", "--slowdown", "-o", self.at("c"))
        document = self.document("c")
        with open(os.path.join(ROOT, "docs", "schedulers", "comparison.md"), encoding="utf-8") as file:
            block = file.read().split("```")[1]
        top = re.findall(r'^(?:  |\{ )"(\w+)":', block, re.M)
        self.assertEqual(list(document), top)
        named = set(re.findall(r'"([a-z_]+)"', block)) | {key for run in document["runs"] for key in run["metrics"]}

        def keys(value):
            for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else []:
                yield from keys(inner)
            if isinstance(value, dict):
                yield from value
        self.assertEqual(set(keys(document)) - named, set())
        for member in ("jobs", "tasks", "samples"):  # columns of one length each, all that the page has
            part = block[block.index(f'     "{member}": {{'):]
            part = part[:part.index("},")]
            names = [name for name in re.findall(r'"([a-z_]+)": \[', part) if name != member]
            for run in document["details"]:
                self.assertEqual(list(run[member]), names)
                self.assertEqual(len({len(column) for column in run[member].values()}), 1)
        self.assertEqual([len(run) for run in document["turnarounds"][0]], 6 * [10])
        self.assertEqual(len(document["slowdowns"][1]), 60)
        self.assertEqual([len(run["jobs"]["name"]) for run in document["details"]], [10, 10] * 6)

    def test_figures_by_another_computation(self):
        self.compare(self.workload, "--scheduler", "fifo,fair,sjf", "--repeat", "8", "-o", self.at("c"))
        document, runs, jobs = self.document("c"), self.table("c", "runs.csv"), self.table("c", "jobs.csv")
        self.assertEqual(len(runs), 8 * 4)
        self.assertEqual(len(jobs), 8 * 4 * 10)
        by_run = {}
        for job in jobs:
            by_run.setdefault((job["block"], job["order"]), []).append(job)
        for run in runs:
            own = by_run[run["block"], run["order"]]
            turnarounds = [float(job["turnaround"]) for job in own]
            ends, submits = [float(job["end"]) for job in own], [float(job["submit"]) for job in own]
            with_deadline = [job for job in own if job["deadline"]]
            expected = {
                "turnaround": statistics.fmean(turnarounds), "makespan": max(ends) - min(submits),
                "wait": statistics.fmean(float(job["wait"]) for job in own),
                "turnaround_p95": quantile_by_rank(turnarounds, 0.95),
                "turnaround_p99": quantile_by_rank(turnarounds, 0.99),
                "longest_wait": max(float(job["wait"]) for job in own),
                "late": sum(float(job["end"]) > float(job["deadline"]) for job in with_deadline) / len(with_deadline),
                "node_local": sum(int(job["maps_node"]) for job in own) / sum(
                    int(job[f"maps_{level}"]) for job in own for level in ("node", "rack", "datacenter", "off")),
            }
            for key, value in expected.items():
                self.assertAlmostEqual(float(run[key]), value, places=5, msg=f"{key} of {run}")
        headline = document["design"]["headline"]
        tested_of = {}
        for comparison in document["comparisons"]:
            key, name = comparison["metric"], document["schedulers"][comparison["scheduler"]]
            if key == "deciding":
                continue
            first = [run for run in runs if run["second"] == "0"]
            rival = [float(run[key]) for run in first if run["scheduler"] == name]
            base = [float(run[key]) for run in first if run["scheduler"] == "fifo"]
            differences = [a - b for a, b in zip(rival, base)]
            self.assertEqual(comparison["runs"], 8)
            tested = differences
            if min(rival + base) > 0:
                tested = [math.log(a / b) for a, b in zip(rival, base)]
                ratio = math.exp(statistics.fmean(math.log(a / b) for a, b in zip(rival, base)))
                self.assertAlmostEqual(comparison["ratio"]["value"], ratio, places=6)
                self.assertLessEqual(comparison["ratio"]["low"], ratio + 1e-6)
                self.assertGreaterEqual(comparison["ratio"]["high"], ratio - 1e-6)
            else:
                self.assertIsNone(comparison["ratio"])
            shift, size = hodges_lehmann(differences), max(map(abs, rival + base)) or 1
            self.assertAlmostEqual(comparison["shift"]["value"] / size, shift / size, places=6)
            self.assertAlmostEqual(comparison["p"], sign_flip_p(tested), places=6, msg=f"{key} {name}")
            tested_of[name, key] = tested
        pairs = len(document["schedulers"]) * (len(document["schedulers"]) - 1) / 2
        for comparison in document["comparisons"]:
            key, name = comparison["metric"], document["schedulers"][comparison["scheduler"]]
            if key == "deciding":
                self.assertEqual((comparison["no_verdict"], comparison["p_adjusted"]), ("not judged", 1))
                continue
            family = [other for other in tested_of if other[0] == name and (other[1] in headline) == (key in headline)]
            joint = joint_sign_flip_p(tested_of[name, key], [tested_of[other] for other in family])
            share = 0.8 if key in headline else 0.2
            self.assertAlmostEqual(comparison["p_adjusted"], min(1, joint * pairs / share), places=6, msg=f"{key} {name}")
        for row, comparison in zip(self.table("c", "comparisons.csv"), document["comparisons"]):
            self.assertEqual((row["metric"], row["verdict"]), (comparison["metric"], comparison["verdict"]))

    def test_a_metric_of_a_group_decides(self):
        done = self.compare(self.workload, "--scheduler", "fifo,fair", "--repeat", "6", "--metric", "turnaround/short,turnaround", "-o", self.at("c"))
        self.assertIn("turnaround/short", done.stdout)
        document, jobs = self.document("c"), self.table("c", "jobs.csv")
        self.assertEqual(document["design"]["headline"], ["turnaround/short", "turnaround"])
        for run in self.table("c", "runs.csv"):
            own = [float(job["turnaround"]) for job in jobs if (job["block"], job["order"]) == (run["block"], run["order"]) and job["user"] == "b"]
            self.assertAlmostEqual(float(run["turnaround/short"]), statistics.fmean(own), places=5)
        (row,) = (row for row in document["comparisons"] if row["metric"] == "turnaround/short")
        self.assertLess(row["ratio"]["value"], 1)

    def test_groups_by_another_computation(self):
        with open(self.workload, "a", encoding="utf-8") as file:
            file.write("[[jobs]]\nname = \"other\"\ncount = 4\nmaps = 3\nmap_time = 4\nuser = [\"a\", \"c\"]\npool = \"odd\"\n")
        self.compare(self.workload, "--scheduler", "fifo,fair,sjf", "--repeat", "10", "-o", self.at("c"))
        document, jobs = self.document("c"), self.table("c", "jobs.csv")
        names = document["schedulers"]
        self.assertEqual([grouping["kinds"] for grouping in document["groups"]], [["class"], ["pool"], ["user"]])
        tested, judged = {}, []
        for grouping in document["groups"]:
            column = grouping["kinds"][0]
            self.assertEqual([row["name"] for row in grouping["rows"]], sorted({job[column] for job in jobs}))
            self.assertEqual(grouping["groups"], len(grouping["rows"]))
            for at, name in enumerate(names):  # all groups together are the run, as runs.csv has it
                of_all = statistics.fmean(float(run["turnaround"]) for run in self.table("c", "runs.csv")
                                          if (run["scheduler"], run["second"]) == (name, "0"))
                self.assertAlmostEqual(sum(row["jobs"] * row["means"][at] for row in grouping["rows"]) / 14, of_all, places=5)
            for row in grouping["rows"]:
                own = {}
                for job in jobs:
                    if job[column] == row["name"]:
                        own.setdefault((job["scheduler"], job["second"], int(job["block"])), []).append(float(job["turnaround"]))
                means = {name: [statistics.fmean(own[name, "0", block]) for block in range(10)] for name in names}
                self.assertAlmostEqual(row["jobs"], statistics.fmean(len(own["fifo", "0", block]) for block in range(10)))
                for name, mean in zip(names, row["means"]):
                    self.assertAlmostEqual(mean, statistics.fmean(means[name]), places=5, msg=f"{row['name']} {name}")
                for comparison in row["comparisons"]:
                    name = names[comparison["scheduler"]]
                    ratios = [math.log(a / b) for a, b in zip(means[name], means["fifo"])]
                    self.assertAlmostEqual(comparison["ratio"]["value"], math.exp(statistics.fmean(ratios)), places=5)
                    difference = statistics.fmean(means[name]) - statistics.fmean(means["fifo"])
                    self.assertAlmostEqual(comparison["difference"]["value"], difference, places=5)
                    self.assertAlmostEqual(comparison["p"], sign_flip_p(ratios), places=6)
                    tested[name, column, row["name"]] = ratios
                    judged.append(((name, column, row["name"]), comparison))
        self.assertEqual(len(judged), 2 * 9)
        for key, comparison in judged:
            joint = joint_sign_flip_p(tested[key], [ratios for other, ratios in tested.items() if other[0] == key[0]])
            self.assertAlmostEqual(comparison["p_adjusted"], min(1, joint * 3), places=6, msg=f"{key}: over three pairs of schedulers")
            ratio = comparison["ratio"]
            beyond = ratio["high"] < 1 / 1.03 or ratio["low"] > 1.03
            if comparison["verdict"] in ("better", "worse"):
                self.assertTrue(beyond and comparison["p_adjusted"] < 0.05, f"{key} {comparison}")
                self.assertEqual(comparison["verdict"], "better" if ratio["high"] < 1 else "worse")
            else:
                self.assertFalse(beyond and comparison["p_adjusted"] < 0.05, f"{key} {comparison}")
        said = {key: comparison["verdict"] for key, comparison in judged}
        self.assertEqual(said["fair", "class", "short"], "better", "fair serves them while the long ones run")
        words = [self.workload, "--scheduler", "fifo,fair,sjf", "--repeat", "10", "--json", "-o", self.at("c")]
        self.assertEqual(json.loads(self.compare(*words).stdout)["groups"], document["groups"])

    def test_all_pictures_are_of_seeds_that_every_scheduler_ran(self):
        self.compare(self.workload, "--scheduler", "fifo,fair,sjf", "--repeat", "8", "-o", self.at("c"))
        document, runs = self.document("c"), self.table("c", "runs.csv")
        base = sorted((float(run["turnaround"]), int(run["seed"])) for run in runs if run["scheduler"] == "fifo" and run["second"] == "0")
        self.assertEqual([(picture["of_baseline"], picture["seed"]) for picture in document["pictures"]],
                         [("median", base[3][1]), ("best", base[0][1]), ("worst", base[7][1]),
                          *((None, seed) for seed in sorted(base[i][1] for i in (1, 2, 4, 5, 6)))])
        self.assertEqual([(run["seed"], run["scheduler"]) for run in document["details"]],
                         [(picture["seed"], scheduler) for picture in document["pictures"] for scheduler in range(3)])
        for run in document["details"]:
            key = (document["schedulers"][run["scheduler"]], str(run["seed"]), "0")
            row = next(row for row in runs if (row["scheduler"], row["seed"], row["second"]) == key)
            turnarounds = [end - submit for submit, end in zip(run["jobs"]["submit"], run["jobs"]["end"])]
            self.assertAlmostEqual(statistics.fmean(turnarounds), float(row["turnaround"]), places=2)
            self.assertAlmostEqual(run["makespan"], float(row["makespan"]), places=2)

    def test_killed_it_goes_on_and_ends_as_if_it_had_not_been(self):
        words = [self.workload, "--scheduler", "fifo,fair,sjf", "--repeat", "30", "--slowdown", "-o"]
        self.compare(*words, self.at("whole"))
        runs = os.path.join(self.at("killed"), "runs")
        self.stopped_at(20, runs, signal.SIGKILL, *words, self.at("killed"))
        made = {name: os.stat(os.path.join(runs, name)).st_mtime_ns for name in os.listdir(runs) if name.endswith(".run")}
        self.assertLess(len(made), 120, "it ended before it was killed")
        self.assertFalse(os.path.exists(os.path.join(self.at("killed"), "comparison.json")))
        self.compare(*words, self.at("killed"))
        for name, time in made.items():  # none is made again
            self.assertEqual(os.stat(os.path.join(runs, name)).st_mtime_ns, time)
        self.assertEqual(without_wall_time(self.document("killed")), without_wall_time(self.document("whole")))

    def test_interrupted_it_says_how_to_go_on(self):
        words = [self.workload, "--scheduler", "fifo,fair", "--repeat", "1000", "-o", self.at("c")]
        status, said = self.stopped_at(5, os.path.join(self.at("c"), "runs"), signal.SIGINT, *words)
        self.assertEqual(status, 128 + signal.SIGINT, said)
        self.assertIn("runs left; the same command goes on from here", said)

    def test_more_repeats_go_on_from_fewer(self):
        for directory, repeats in (("grown", (3, 6)), ("at once", (6,))):
            for repeat in repeats:
                self.compare(self.workload, "--scheduler", "fifo,fair", "--repeat", str(repeat), "-o", self.at(directory))
        self.assertEqual(without_wall_time(self.document("grown")), without_wall_time(self.document("at once")))

    def test_a_seed_is_a_simulation(self):
        self.compare(self.workload, "--scheduler", "fifo,fair", "--repeat", "2", "--seed", "40", "-o", self.at("c"))
        done = subprocess.run([os.path.join(BIN, "millrace"), "sim", self.workload, "--scheduler", "fair", "--seed", "41", "--json"],
                              stdout=subprocess.PIPE, text=True, check=True)
        run = [run for run in self.document("c")["runs"] if run["seed"] == 41 and run["scheduler"] == 1][0]
        self.assertAlmostEqual(run["metrics"]["turnaround"], json.loads(done.stdout)[0]["mean_turnaround"], places=6)

    def test_when_a_workload_begins_says_nothing_of_its_schedulers(self):
        late = self.at("late.toml")  # as from a trace whose times are since 1970
        with open(late, "w", encoding="utf-8") as file:
            file.write(SMALL.replace("mean = 5\n", "mean = 5\nat = 1700000000\n"))
        for workload, directory in ((self.workload, "now"), (late, "late")):
            self.compare(workload, "--scheduler", "fifo,fair", "--repeat", "6", "-o", self.at(directory))
        for now, then in zip(self.table("now", "runs.csv"), self.table("late", "runs.csv")):
            for metric, value in now.items():
                if metric != "deciding" and value != then[metric]:
                    self.assertAlmostEqual(float(value), float(then[metric]), places=9, msg=metric)
        now, late = (without_wall_time(self.document(directory)) for directory in ("now", "late"))
        self.assertEqual(now["comparisons"], late["comparisons"])
        self.assertEqual([run["samples"] for run in now["details"]], [run["samples"] for run in late["details"]])

    def test_a_scheduler_is_itself(self):
        done = self.compare(self.workload, "--scheduler", "fair", "--repeat", "6", "--json", "-o", self.at("c"))
        found = json.loads(done.stdout)
        self.assertEqual(found["comparisons"], [])
        for key in ("turnaround", "makespan", "wait"):
            self.assertEqual(found["same_against_same"][key], {"value": 1.0, "low": 1.0, "high": 1.0})

    def test_until_it_is_narrow_enough(self):
        words = [self.workload, "--scheduler", "fifo,fair", "-o"]
        self.compare(*words, self.at("wide"), "--until-width", "90%")
        self.compare(*words, self.at("narrow"), "--until-width", "0.01%")
        self.assertEqual(self.document("wide")["design"]["repeat"], 8)
        self.assertEqual(self.document("narrow")["design"]["repeat"], 20)
        self.assertAlmostEqual(self.document("wide")["design"]["significance"], 0.05 / 3)
        self.assertIn("--repeat", self.refused(*words, self.at("x"), "--until-width", "5%", "--repeat", "9"))

    def test_a_table_of_eighty_columns_for_people(self):
        done = self.compare(FIRST_STEPS, "--scheduler", "fifo, fair, fair+delay", "--repeat", "8", "-o", self.at("c"))
        lines = done.stdout.split("\n")
        self.assertEqual(lines[0].split(), ["METRIC", "SCHEDULER", "MEAN", "RATIO", "95%", "INTERVAL", "VERDICT"])
        self.assertTrue(all(len(line) <= 80 for line in lines[:10]), done.stdout)
        self.assertRegex(done.stdout, r"turnaround +fair +[\d.]+ s +0\.\d+ +0\.\d+ to 0\.\d+ +better")
        wide = self.compare(FIRST_STEPS, "--scheduler", "fifo,fair,fair+delay", "--repeat", "8", "-o", self.at("c"), "--wide")
        self.assertIn("utilisation", wide.stdout)
        self.assertIn("SHIFT", wide.stdout)

    def test_traces(self):
        with open(self.at("trace.tsv"), "w", encoding="utf-8") as file:
            for i in range(30):
                file.write(f"job{i}\t{i * 3}\t3\t{(i % 7 + 1) << 27}\t{1 << 24}\t{1 << 20}\n")
        self.compare(self.at("trace.tsv"), "--scheduler", "fifo,fair", "--repeat", "6", "--users", "3", "--nodes", "4", "-o", self.at("c"))
        document = self.document("c")
        self.assertEqual(len(document["cluster"]["nodes"]), 4)
        self.assertGreater(len({job for run in document["details"] for job in run["jobs"]["user"]}), 1)

    def test_wrong_usage_is_one_line_and_leaves_nothing(self):
        out = ("-o", self.at("c"))
        for words, part in (
                ((), "WORKLOAD is missing"), ((self.workload, *out), "--scheduler is missing"),
                ((self.workload, "--scheduler", "fifo"), "-o DIR is missing"),
                ((self.workload, "--scheduler", "fifo,fare", *out), "fare"),
                ((self.workload, "--scheduler", "fifo,,fair", *out), '""'),
                ((self.workload, "--scheduler", "fifo,fair", "--metric", "turnarond", *out), "did you mean turnaround"),
                ((self.workload, "--scheduler", "fifo,fair", "--metric", "wait,wait", *out), "twice"),
                ((self.workload, "--scheduler", "fifo,fair", "--metric", "wait,late,makespan,fairness", *out), "at most 3"),
                ((self.workload, "--scheduler", "fifo,fair", "--metric", "slowdown", *out), "need --slowdown"),
                ((self.workload, "--scheduler", "fifo,fair", "--metric", "turnaround/shrot", *out), "did you mean short?"),
                ((self.workload, "--scheduler", "fifo,fair", "--metric", "fairness/short", *out), "a figure of the cluster"),
                ((self.workload, "--scheduler", "fifo,fair", "--metric", "turnaround/", *out), "names no class, pool or user"),
                ((self.workload, "--scheduler", "fifo,fair", "--metric", "foretold", "--on", "local", *out), "is for simulations"),
                ((self.workload, "--scheduler", "fifo,fair", "--practical", "3", *out), "--practical"),
                ((self.workload, "--scheduler", "fifo,fair", "--repeat", "1", *out), "--repeat"),
                ((self.workload, "--scheduler", "fifo,fair", "--on", "moon", *out), "moon"),
                ((self.workload, "--scheduler", "fifo", "--no-same-against-same", *out), "nothing to compare")):
            self.assertIn(part, self.refused(*words))
        self.refused(self.at("none.toml"), "--scheduler", "fifo,fair", *out, status=1)
        self.assertFalse(os.path.exists(self.at("c")))

    def test_directories_are_not_mixed(self):
        words = [self.workload, "--repeat", "2", "-o", self.at("c")]
        self.compare(*words, "--scheduler", "fifo,fair")
        self.assertIn('--scheduler was "fifo,fair" and now is "fifo,sjf"', self.refused(*words, "--scheduler", "fifo,sjf"))
        with open(self.workload, "a", encoding="utf-8") as file:
            file.write("# changed\n")
        self.assertIn("the workload was", self.refused(*words, "--scheduler", "fifo,fair"))
        self.compare(*words, "--scheduler", "fifo,sjf", "--force")
        self.assertEqual(self.document("c")["schedulers"], ["fifo", "sjf"])
        # What there is of the other comparison is gone as soon as the new one begins.
        words = [self.workload, "--repeat", "1000", "--scheduler", "fifo,cp", "--force", "-o", self.at("c")]
        self.stopped_at(20, os.path.join(self.at("c"), "runs"), signal.SIGKILL, *words)
        self.assertEqual(os.listdir(self.at("c")), ["runs"])
        os.mkdir(self.at("other"))
        with open(self.at("other/letter"), "w", encoding="utf-8"):
            pass
        self.assertIn("not empty", self.refused(*words[:-1], self.at("other")))

    def test_a_damaged_run_is_named(self):
        words = [self.workload, "--scheduler", "fifo,fair", "--repeat", "2", "-o", self.at("c")]
        self.compare(*words)
        path = os.path.join(self.at("c"), "runs", "1-0.run")
        with open(path, "r+b") as file:
            file.truncate(100)
        self.assertIn("1-0.run", self.refused(*words, status=1))
        os.remove(path)
        self.compare(*words)

    def write(self, name, text):
        with open(self.at(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.at(name)

    def test_variants_are_one_scheduler_under_several_settings(self):
        base, capped = self.write("base.toml", "[pools.a]\nweight = 2\n"), self.write("capped.toml", "[pools.a]\nmax_maps = 1\n")
        self.compare(self.workload, "--scheduler", "fair,capped=fair", "--settings", base, "--settings", f"capped={capped}",
                     "--repeat", "8", "-o", self.at("c"))
        document = self.document("c")
        self.assertEqual(document["schedulers"], ["fair", "capped"])
        self.assertEqual(document["variants"], [{"scheduler": "fair", "settings": "[pools.a]\nweight = 2\n"},
                                                {"scheduler": "fair", "settings": "[pools.a]\nmax_maps = 1\n"}])
        self.assertEqual(document["made"]["settings"], "[pools.a]\nweight = 2\n")
        self.assertEqual({run["scheduler"] for run in self.table("c", "runs.csv")}, {"fair", "capped"})
        # Of user a one map runs at a time: two jobs of 30 maps of at least 5 s.
        makespan = document["comparisons"][1]
        self.assertEqual((makespan["metric"], makespan["verdict"]), ("makespan", "worse"))
        self.assertTrue(all(run["metrics"]["makespan"] >= 60 * 5 for run in document["runs"] if run["scheduler"] == 1))
        for at, file in ((0, base), (1, capped)):  # each is what the simulator makes of the one scheduler and its file
            alone = subprocess.run([os.path.join(BIN, "millrace"), "sim", self.workload, "--scheduler", "fair", "--settings", file,
                                    "--seed", "3", "--json"], stdout=subprocess.PIPE, text=True, check=True)
            run = [run for run in document["runs"] if run["seed"] == 3 and run["scheduler"] == at][0]
            self.assertAlmostEqual(run["metrics"]["turnaround"], json.loads(alone.stdout)[0]["mean_turnaround"], places=6)

    def test_variants_that_are_not_clear_are_refused(self):
        a, b = self.write("a.toml", ""), self.write("b.toml", "[fair]\norder = \"fifo\"\n")
        for words, part in (
                (("x=fair,x=sjf",), "two variants with the label x"), (("fair,fair=sjf",), "label fair of sjf is the name of another"),
                (("a/b=fair",), '"a/b"'), (("=fair",), '""'), (("x=fare",), "fare"), (("all=fair",), "another scheduler"),
                (("fair,eager=fair", "--settings", f"eagr={a}"), "did you mean eager?"),
                (("fair", "--settings", a, "--settings", b), "LABEL=FILE"),
                (("fair", "--settings", f"fair={a}", "--settings", f"fair={b}"), "two files for fair"),
                (("fair", "--settings", f"={a}"), "no label"),
                (("x=fair", "--settings", f"x={b}", "--on", "cluster"), "--on local"),
                (("x=fair", "--settings", f"x={b}", "--on", "testbed"), "--on local")):
            self.assertIn(part, self.refused(self.workload, "-o", self.at("c"), "--scheduler", *words))
        self.refused(self.workload, "-o", self.at("c"), "--scheduler", "x=fair", "--settings", f"x={self.at('none.toml')}", status=1)
        self.assertFalse(os.path.exists(self.at("c")))

    def test_other_settings_are_another_comparison(self):
        words = [self.workload, "--scheduler", "fair,eager=fair", "--repeat", "2", "--settings", f"eager={self.write('e.toml', '')}", "-o", self.at("c")]
        self.write("e.toml", "[fair]\norder = \"fifo\"\n")
        self.compare(*words)
        self.compare(*words)
        self.write("e.toml", "[fair]\norder = \"sjf\"\n")
        self.assertIn("the scheduler file of eager was", self.refused(*words))

    def test_another_trace_is_another_comparison(self):
        line = f"job0\t0\t3\t{1 << 27}\t{1 << 24}\t{1 << 20}\n"
        self.write("jobs.tsv", line)
        words = [self.write("t.toml", "[cluster]\nnodes = 2\n[trace]\nfile = \"jobs.tsv\"\n"), "--scheduler", "fifo,fair", "--repeat", "2", "-o", self.at("c")]
        self.compare(*words)
        self.compare(*words)
        self.write("jobs.tsv", line.replace("\t3\t", "\t4\t").replace(str(1 << 27), str(1 << 28)))
        self.assertIn("the trace of the workload was", self.refused(*words))

    def test_a_job_that_does_not_succeed_is_warned_of(self):
        done = self.compare(self.workload, "--scheduler", "fifo,fair", "--repeat", "2", "--stop-at", "60s", "-o", self.at("c"))
        self.assertIn("jobs did not succeed", done.stderr)

    def test_the_dictionary_of_metrics(self):
        said = self.compare("--columns").stdout
        with open(os.path.join(ROOT, "docs", "schedulers", "comparing.md"), encoding="utf-8") as file:
            page = file.read()
        for line in said.split("\n")[1:-1]:
            key, unit, better, says = line.split(None, 3)
            self.assertIn(f"| `{key}` | {unit} | {better} | {says} |", page)


if __name__ == "__main__":
    unittest.main()
