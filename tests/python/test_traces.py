# SPDX-License-Identifier: Apache-2.0
"""Traces in and out (millrace.trace). What is expected was computed by hand from the formats' definitions; traces/README.md has the sources
of the fixtures. tests/cluster/test_traces.py runs the same through the program and simulates what comes out."""

import contextlib
import csv
import gzip
import io
import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import stand_in  # noqa: F401  (finds the package)
from millrace import trace
from millrace.traces.job import MOST_JOBS
from millrace.traces.source import MOST_LINE

try:
    import tomllib
except ImportError:  # before Python 3.11
    tomllib = None

FIXTURES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "traces")
NOTHING_READ = {"located": False, "split": 1, "map_output": 0}
SWF = "1 0 5 10 4 -1 -1 4 20 -1 1 3 -1 -1 2 -1 -1 -1\n"
SLS_TASK = {"container.start.ms": 0, "container.end.ms": 1000, "container.type": "map"}


def sls(**changed):
    return (
        json.dumps(
            {"job.id": "a", "job.start.ms": 0, "job.tasks": [SLS_TASK], **{key.replace("_", "."): value for key, value in changed.items()}},
            indent=1,
        )
        + "\n"
    )


class Traces(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.place = place.name

    def file(self, content, name="trace"):
        path = os.path.join(self.place, name)
        Path(path).write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def trace(self, *words, status=0):
        """Runs the command; returns what it writes and what it says."""
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            done = trace.main([str(word) for word in words])
        self.assertEqual(done, status, err.getvalue())
        if status:
            self.assertEqual(out.getvalue(), "")
        return out.getvalue(), err.getvalue()

    def jobs(self, *words):
        """The [[jobs]] of an imported trace, and the [cluster]."""
        if tomllib is None:
            self.skipTest("Python reads TOML from 3.11 on")
        made = tomllib.loads(self.trace("import", *words)[0])
        return made["jobs"], made.get("cluster")

    def fixture(self, name):
        return os.path.join(FIXTURES, name)

    def refused(self, pattern, kind, content, *words):
        """The trace is refused in one line that names the line."""
        said = self.trace("import", kind, self.file(content), *words, status=1)[1]
        self.assertEqual(said.count("\n"), 1, said)
        self.assertRegex(said, rf"^millrace: trace import: .*/trace:{pattern}")


class Imports(Traces):
    """Each format by a fixture."""

    def test_swf(self):
        jobs, cluster = self.jobs("swf", self.fixture("unilu.swf"), "--jobs", "2")
        self.assertEqual(cluster, {"nodes": 151, "map_slots": 13, "reduce_slots": 1})  # 2004 processors of 151 nodes
        common = {"tell_times": True, "pool": "queue1", **NOTHING_READ}
        self.assertEqual(
            jobs,
            [
                {
                    "name": "1",
                    "arrival": {"kind": "batch", "at": 0},
                    "maps": 160,
                    "map_time": 35541,
                    "user": "user1",
                    "estimate_bias": 3.038744,
                    **common,
                },
                {
                    "name": "3",
                    "arrival": {"kind": "batch", "at": 195861},
                    "maps": 64,
                    "map_time": 278442,
                    "user": "user3",
                    "estimate_bias": 1.551490,
                    **common,
                },
            ],
        )
        said = self.trace("import", "swf", self.fixture("unilu.swf"), "--jobs", "2")[1]
        self.assertIn("1 jobs left out that failed; --keep-failed keeps them\n", said)
        self.assertIn("its header says UnixStartTime: 1400749079\n", said)
        self.assertIn("a job of n processors and t seconds is n maps of t seconds", said)
        self.assertEqual(
            [job["name"] for job in self.jobs("swf", self.fixture("unilu.swf"), "--jobs", "3", "--keep-failed")[0]], ["1", "2", "3"]
        )

    def test_swf_knows_what_is_not_known(self):
        text = (
            "; MaxProcs: 8\n"
            "1 0 -1 10 -1 -1 -1 4 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1\n"  # a model: no status, user, queue or processors that it got
            "2 1 -1 -1 4 -1 -1 4 -1 -1 1 -1 -1 -1 -1 -1 -1 -1\n"  # no run time
            "3 2 -1 10 -1 -1 -1 -1 -1 -1 1 -1 -1 -1 -1 -1 -1 -1\n"  # no processors
            "4 3.5 -1 7.25 2 -1 -1 4 -1 -1 1 -1 -1 -1 -1 -1 -1 -1\n"
            "4 3.5 -1 3 2 -1 -1 4 -1 -1 2 -1 -1 -1 -1 -1 -1 -1\n"  # its parts
            "4 9 -1 4.25 2 -1 -1 4 -1 -1 3 -1 -1 -1 -1 -1 -1 -1\n"
            "5 10 -1 4 2 -1 -1 4 -1 -1 4 -1 -1 -1 -1 -1 -1 -1\n"  # a part of a job that is not there
        )
        jobs, cluster = self.jobs("swf", self.file(text))
        self.assertEqual(cluster, {"nodes": 8, "map_slots": 1, "reduce_slots": 1})
        self.assertEqual(
            [(job["name"], job["arrival"]["at"], job["maps"], job["map_time"], "user" in job, "tell_times" in job) for job in jobs],
            [("1", 0, 4, 10, False, False), ("4", 3.5, 2, 7.25, False, False)],
        )
        said = self.trace("import", "swf", self.file(text))[1]
        self.assertRegex(said, r"1 jobs left out of which the run time is not known")
        self.assertRegex(said, r"1 jobs left out of which the number of processors is not known")
        self.assertRegex(said, r"2 lines left out that are parts of jobs that were interrupted")
        self.assertRegex(said, r"1 lines left out that are parts of jobs \(status 2 to 4\) of which the whole is not there")

    def test_sls(self):
        jobs, cluster = self.jobs("sls", self.fixture("inputsls.json"))
        self.assertIsNone(cluster)
        common = {"user": "default", **NOTHING_READ}  # (17043 + 14928 + 17843) / 3 and (22163 + 19589) / 2 ms
        self.assertEqual(
            jobs,
            [
                {"name": "job_1", "arrival": {"kind": "batch", "at": 0}, "maps": 3, "map_time": 16.604667, "pool": "sls_queue_1", **common},
                {
                    "name": "job_2",
                    "arrival": {"kind": "batch", "at": 105.204},
                    "maps": 2,
                    "map_time": 20.876,
                    "pool": "sls_queue_2",
                    **common,
                },
            ],
        )
        said = self.trace("import", "sls", self.fixture("inputsls.json"))[1]
        self.assertIn("assumed, for 2 of the jobs read: all maps of a job take the mean of their times", said)
        self.assertIn("2 jobs lose the hosts that containers ask for", said)

    def test_sls_in_short_form(self):
        text = '{"num.nodes": 6, "num.racks": 2}\n' + json.dumps(
            {
                "job.start.ms": 2000,
                "job.count": 2,
                "job.queue.name": "q",
                "job.tasks": [
                    {"count": 4, "duration.ms": 1500, "container.vcores": 2},
                    {"count": 2, "container.duration.ms": 3000, "container.type": "reduce"},
                ],
            }
        )
        jobs, cluster = self.jobs("sls", self.file(text))
        self.assertEqual(cluster, {"nodes": 6, "racks": 2})
        one = {
            "arrival": {"kind": "batch", "at": 0},
            "maps": 4,
            "map_time": 1.5,
            "map_cores": 2,
            "reduces": 2,
            "reduce_time": 3,
            "user": "default",
            "pool": "q",
            **NOTHING_READ,
        }
        self.assertEqual(jobs, [{"name": "0", **one}, {"name": "1", **one}])

    def test_synth_draws_from_the_distributions(self):
        for name in ("syn.json", "syn_generic.json"):
            jobs, cluster = self.jobs("synth", self.fixture(name))
            self.assertEqual((len(jobs), cluster), (10, {"nodes": 20, "racks": 5}))
            for job in jobs:
                self.assertEqual((job["user"], job["pool"]), ("foobar", "sls_queue_1"))
                self.assertTrue(0 <= job["arrival"]["at"] < 60 and 1 <= job["maps"] < 15 and 2 < job["map_time"] < 20)
            self.assertEqual(jobs, self.jobs("synth", self.fixture(name))[0])
        file = json.loads(Path(self.fixture("syn_generic.json")).read_text())
        file["num_jobs"] = 4000
        kind = file["workloads"][0]["job_classes"][0]
        kind["tasks"][0].update(count={"val": 1}, time={"val": 10, "std": 4})
        kind["tasks"][1].update(count={"discrete": [2, 3], "weights": [3, 1]}, time={"val": 20, "std": 3, "dist": "NORM"})
        file["workloads"][0]["time_distribution"] = [{"time": 0, "weight": 2}, {"time": 60, "weight": 1}, {"time": 120, "weight": 0}]
        jobs = self.jobs("synth", self.file(json.dumps(file)))[0]
        times, error = [job["map_time"] for job in jobs], math.sqrt(4000)
        self.assertAlmostEqual(statistics.mean(times), 10, delta=5 * 4 / error)
        self.assertAlmostEqual(statistics.stdev(times), 4, delta=0.4)
        self.assertAlmostEqual(statistics.median(times), 10 / math.sqrt(1.16), delta=0.4)  # e^mu of the log-normal distribution
        self.assertAlmostEqual(statistics.mean(job["reduce_time"] for job in jobs), 20, delta=5 * 3 / error)
        self.assertAlmostEqual(sum(job["reduces"] == 2 for job in jobs) / 4000, 0.75, delta=5 * 0.5 / error)
        self.assertAlmostEqual(sum(job["arrival"]["at"] < 60 for job in jobs) / 4000, 2 / 3, delta=5 * 0.5 / error)
        self.assertAlmostEqual(sum("deadline" in job for job in jobs) / 4000, 0.5, delta=5 * 0.5 / error)

    def test_batsim(self):
        jobs, cluster = self.jobs("batsim", self.fixture("batsim.json"), "--flops", "1e9")
        self.assertEqual(cluster, {"nodes": 4, "map_slots": 1, "reduce_slots": 1})
        found = [(job["name"], job["arrival"]["at"], job["maps"], job["map_time"], job.get("estimate_bias")) for job in jobs]
        self.assertEqual(
            found,
            [
                ("short", 0, 1, 20.25, round(30 / 20.25, 6)),
                ("repeated", 1, 3, 72.75, None),  # 3 * (20.25 + 4)
                ("killed", 2.5, 2, 20, 1),  # by its walltime
                ("computes", 5, 4, 3, None),
                ("7", 30, 1, 4, None),
            ],
        )
        said = self.trace("import", "batsim", self.fixture("batsim.json"), status=1)[1]
        self.assertRegex(said, r"batsim.json:12: the profile 'work' computes 3e\+09 operations; say by --flops")

    def test_alibaba2018(self):
        jobs, cluster = self.jobs("alibaba2018", self.fixture("batch_task.csv"))
        self.assertIsNone(cluster)
        self.assertEqual(
            jobs,
            [
                {"name": "j_2", "arrival": {"kind": "batch", "at": 0}, "maps": 4, "map_time": 60, **NOTHING_READ},
                # (3 * 10 + 1 * 30) / 4 s and (3 * 1 + 1 * 0.5) / 4 cores
                {
                    "name": "j_1",
                    "arrival": {"kind": "batch", "at": 100},
                    "maps": 4,
                    "map_time": 15,
                    "map_cores": 0.875,
                    "reduces": 2,
                    "reduce_time": 20,
                    "reduce_cores": 2,
                    **NOTHING_READ,
                },
                {
                    "name": "j_5",
                    "arrival": {"kind": "batch", "at": 300},
                    "maps": 1,
                    "map_time": 100,
                    "reduces": 2,
                    "reduce_time": 70,
                    **NOTHING_READ,
                },
            ],
        )
        said = self.trace("import", "alibaba2018", self.fixture("batch_task.csv"))[1]
        self.assertIn("the first submission, which was at 900 s", said)
        self.assertIn("1 jobs left out that began or ended outside the time of the trace", said)
        self.assertIn("1 jobs left out that failed", said)
        self.assertIn("assumed, for 1 of the jobs read: all tasks that come after others are reduces of one phase", said)

    def test_google2019(self):
        words = ("google2019", self.fixture("instance_events.csv"), "--collections", self.fixture("collection_events.csv"))
        self.assertEqual(
            self.jobs(*words)[0],
            [
                {
                    "name": "15",
                    "arrival": {"kind": "batch", "at": 0},
                    "maps": 1,
                    "map_time": 1.5,
                    "user": "Zz9=",
                    "priority": "VERY_HIGH",
                    **NOTHING_READ,
                },
                # 10 s, and 4 s of its second try
                {
                    "name": "11",
                    "arrival": {"kind": "batch", "at": 1},
                    "maps": 2,
                    "map_time": 7,
                    "user": "Ab3=",
                    "priority": "LOW",
                    **NOTHING_READ,
                },
            ],
        )
        said = self.trace("import", *words)[1]
        self.assertIn("1 events of alloc sets left out", said)
        self.assertIn("1 jobs left out that were submitted before the trace begins", said)
        self.assertIn("1 jobs left out that failed", said)
        lines = Path(self.fixture("instance_events.csv")).read_text().splitlines(keepends=True)
        shuffled = lines[1:]
        random.Random(5).shuffle(shuffled)
        mixed = self.file("".join([lines[0], *shuffled]))
        self.assertEqual(self.jobs("google2019", mixed, *words[2:]), self.jobs(*words))  # the order of rows says nothing
        rows = self.jobs("google2019", self.fixture("instance_events.json"))[0]
        self.assertEqual(
            rows, [{"name": "11", "arrival": {"kind": "batch", "at": 0}, "maps": 1, "map_time": 10, "priority": "LOW", **NOTHING_READ}]
        )

    def test_csv(self):
        jobs = self.jobs("csv", self.fixture("jobs.csv"))[0]
        self.assertEqual(
            jobs,
            [
                {
                    "name": "sort",
                    "arrival": {"kind": "batch", "at": 0},
                    "maps": 4,
                    "map_time": 10,
                    "reduces": 2,
                    "reduce_time": 5.5,
                    "user": "ann",
                    "pool": "etl",
                    "priority": "HIGH",
                    "deadline": 600,
                    "split": 1000,
                    "map_output": 0.5,
                    "reduce_output": 0.5,
                },
                {"name": "grep", "arrival": {"kind": "batch", "at": 30.5}, "maps": 3, "map_time": 2.25, "user": "bob", **NOTHING_READ},
            ],
        )
        other = self.file("when;x\n".replace(";", ",n,t,") + '5,2,3,"a ""b"", c"\n')
        self.assertEqual(self.jobs("csv", other, "--columns", "submit=when,maps=n,map_seconds=t,name=x")[0][0]["name"], 'a "b", c')

    def test_swim(self):
        head = "name,submit,maps,map_seconds,reduces,reduce_seconds,input_bytes,shuffle_bytes,output_bytes\n"
        text = head + "sort,10,4,10,2,5.5,4000,2000,1000\ngrep,40.5,3,2.25,0,,675,,50\n"
        out, said = self.trace("import", "csv", self.file(text), "--to", "swim")
        self.assertEqual(out, "sort\t0\t0\t4000\t2000\t1000\ngrep\t30\t30\t675\t0\t50\n")
        self.assertIn("assumed, for 1 of the jobs read: times of submission are cut to whole seconds", said)
        out = self.trace("import", "swf", self.file(SWF), "--to", "swim", "--rate", "100")[0]
        self.assertEqual(out, "1\t0\t0\t4000\t0\t0\n")  # 4 maps of 10 s
        self.assertIn("its bytes are not known", self.trace("import", "swf", self.file(SWF), "--to", "swim", status=1)[1])
        named = self.file("name,submit,maps,map_seconds,input_bytes\n#x,1,1,1,1\n")
        self.assertIn("cannot hold this name", self.trace("import", "csv", named, "--to", "swim", status=1)[1])


class Selection(Traces):
    LINES = "".join(
        f"{number} {submit} 0 5 1 -1 -1 1 -1 -1 1 -1 -1 -1 -1 -1 -1 -1\n" for number, submit in enumerate((1000, 1010, 1020, 1030), 1)
    )

    def names(self, *words):
        return [(job["name"], job["arrival"]["at"]) for job in self.jobs(*words)[0]]

    def test_times_count_from_the_first_submission(self):
        path = self.file(self.LINES)
        self.assertEqual(self.names("swf", path), [("1", 0), ("2", 10), ("3", 20), ("4", 30)])
        self.assertEqual(self.names("swf", path, "--from", "10", "--until", "30"), [("2", 0), ("3", 10)])
        self.assertEqual(self.names("swf", path, "--from", "5", "--jobs", "2"), [("2", 0), ("3", 10)])
        said = self.trace("import", "swf", path, "--from", "10")[1]
        self.assertIn("time 0 is the first submission, which was at 1010 s of the trace's clock", said)
        self.assertIn("1 jobs left out that come before --from", said)
        self.assertIn("no job is left", self.trace("import", "swf", path, "--from", "31", status=1)[1])

    def test_a_format_without_an_order_is_sorted(self):
        text = "name,submit,maps,map_seconds\nb,20,1,1\na,10,1,1\nc,30,1,1\n"
        self.assertEqual(self.names("csv", self.file(text), "--until", "20"), [("a", 0), ("b", 10)])
        self.assertEqual(self.names("csv", self.file(text), "--jobs", "1"), [("a", 0)])

    def test_reading_ends_with_the_last_job_that_is_wanted(self):
        self.assertEqual(len(self.names("swf", self.file(self.LINES + "this line is odd\n"), "--jobs", "3")), 3)

    def test_compressed_files_and_standard_input(self):
        path = self.file(gzip.compress(self.LINES.encode()), "trace.gz")
        self.assertEqual(len(self.names("swf", path)), 4)
        many = "".join(SWF.replace("1 0", f"{number} {number}", 1) for number in range(1, 500))
        cut = self.file(gzip.compress(many.encode())[:-20], "cut.gz")
        self.assertIn("damaged or cut off", self.trace("import", "swf", cut, status=1)[1])
        env = {**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(trace.__file__))}
        done = subprocess.run(
            [sys.executable, "-m", "millrace.trace", "import", "swf", "-"],
            input=self.LINES.encode(),
            capture_output=True,
            env=env,
            check=True,
        )
        self.assertEqual(done.stdout.count(b"[[jobs]]"), 4)
        self.assertIn(b"4 jobs from standard input", done.stderr)


class OddFiles(Traces):
    def test_swf(self):
        wrong = SWF.replace("1 0", "2 0", 1)
        for pattern, content in (
            (r"2: the line has 17 fields, not 18; mend the line, or give --skip-odd", SWF + wrong.replace(" 5 ", " ", 1)),
            (r"2: run time is 'ten', not a number", SWF + wrong.replace(" 10 ", " ten ", 1)),
            (r"2: run time is 'nan', not a number", SWF + wrong.replace(" 10 ", " nan ", 1)),
            (r"2: run time is '1e999', not a number", SWF + wrong.replace(" 10 ", " 1e999 ", 1)),
            (r"2: run time is '-7', not a number", SWF + wrong.replace(" 10 ", " -7 ", 1)),
            (r"2: submit time is '-1', not a number", SWF + wrong.replace("2 0 ", "2 -1 ", 1)),
            (r"2: job number 1 is that of a line above", SWF + SWF),
            (r"2: submit time is 3, before that of the line above", SWF.replace("1 0 ", "1 4 ", 1) + wrong.replace("2 0 ", "2 3 ", 1)),
            (r"1: status is 9", SWF.replace(" 1 3 ", " 9 3 ", 1)),
            (r"1: allocated processors is 4\.5, not a whole number", SWF.replace(" 4 ", " 4.5 ", 1)),
            (r"1: the job 1: maps is 99999999, not a number from 0 to 16777216", SWF.replace(" 4 ", " 99999999 ", 1)),
            (r"1: the file is empty", ""),
            (r"1: the line has 2 fields", "time,type,collection id,x\n"),
            (r"2: byte 0xff is no UTF-8", SWF.encode() + b"2 \xff\n"),
            (r"1: the line is longer than", "1" * (MOST_LINE + 2)),
        ):
            with self.subTest(pattern=pattern):
                self.refused(pattern, "swf", content)

    def test_odd_lines_are_skipped_and_counted(self):
        path = self.file(SWF + "x\n" + SWF.replace("1 0", "2 0", 1) + "y\n")
        said = self.trace("import", "swf", path, "--skip-odd")[1]
        self.assertRegex(said, r"2 odd lines left out; the first is .*trace:2: the line has 1 fields, not 18\n")
        self.assertIn("2 jobs from", said)

    def test_control_characters_of_a_file_reach_no_terminal_and_no_comment(self):
        said = self.trace("import", "swf", self.file("x\x1b[31m\x00 " * 18), status=1)[1]
        self.assertRegex(said, r"trace:1: job number is 'x\\x1b\[31m\\x00', not a number")
        path = self.file("; Computer: a\x1b[31m\u2028b\x00\n" + SWF)
        out, said = self.trace("import", "swf", path)
        self.assertTrue(all(each.isprintable() or each == "\n" for each in out + said))
        self.assertIn("its header says Computer: a\\x1b[31m b\\x00\n", said)

    def test_hostile_files_cost_no_more_than_others(self):
        profiles = {f"p{at}": {"type": "composed", "seq": [f"p{at + 1}"] * 1000} for at in range(15)}
        file = {
            "jobs": [{"id": 1, "subtime": 0, "res": 1, "profile": "p0"}],
            "profiles": {**profiles, "p15": {"type": "delay", "delay": 1e-50}},
        }
        self.trace("import", "batsim", self.file(json.dumps(file)))  # 1000^15 delays, of 1e-5 s together
        self.trace("import", "alibaba2018", self.file("M" + "9" * 100_000 + ",3,j_1,1,Terminated,1000,1010,100,0.5\n"))
        bomb = self.file(gzip.compress(b"1" * 50_000_000))
        self.assertRegex(self.trace("import", "swf", bomb, status=1)[1], r"trace:1: the line is longer than")

    def test_files_at_random_are_read_or_refused(self):
        """Fixtures with changes in them: one line says what is wrong, or what is made is TOML."""
        fixtures = [
            ("swf", "unilu.swf"),
            ("sls", "inputsls.json"),
            ("synth", "syn.json"),
            ("synth", "syn_generic.json"),
            ("batsim", "batsim.json"),
        ]
        fixtures += [("alibaba2018", "batch_task.csv"), ("google2019", "instance_events.csv"), ("google2019", "instance_events.json")]
        fixtures += [("csv", "jobs.csv")]
        parts = [
            b"-1",
            b"nan",
            b"1e400",
            b"9" * 5000,
            b'"',
            b"{",
            b"}",
            b"[",
            b"]",
            b"null",
            b"\x00",
            b"\xff",
            b",",
            b"\n",
            b"\\",
            b"1e9",
            b"0",
            b"_",
        ]
        seed = int(os.environ.get("MILLRACE_TEST_SEED", random.SystemRandom().randrange(1 << 30)))
        rng, statuses = random.Random(seed), set()
        for turn in range(200):
            kind, name = rng.choice(fixtures)
            data = bytearray(Path(self.fixture(name)).read_bytes())
            for _ in range(rng.randrange(1, 4)):
                at = rng.randrange(len(data))
                data[at : at + rng.randrange(8)] = rng.choice(parts)
            if turn % 10 == 0:
                del data[rng.randrange(len(data)) :]
            words = ["import", kind, self.file(bytes(data)), *(["--skip-odd"] if turn % 3 == 0 else [])]
            with self.subTest(seed=seed, turn=turn, words=words):
                out, err = io.StringIO(), io.StringIO()
                with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                    status = trace.main(words)
                statuses.add(status)
                if status:
                    self.assertEqual((status, out.getvalue(), err.getvalue().count("\n")), (1, "", 1), err.getvalue())
                elif tomllib is not None:
                    self.assertIn("jobs", tomllib.loads(out.getvalue()))
        self.assertEqual(statuses, {0, 1}, f"seed {seed}")

    def test_sls(self):
        def with_task(**changed):
            return sls(job_tasks=[SLS_TASK, {key: value for key, value in {**SLS_TASK, **changed}.items() if value is not None}])

        for pattern, content in (
            (r"21: container.end.ms is missing, not a number", sls(job_id="b") + with_task(**{"container.end.ms": None})),
            (r"1: the object that begins here does not end", sls()[:-3]),
            (r"2: 'job' stands between", "\njob\n"),
            (r"13: job.id 'a' is that of a job above", sls() + sls()),
            (r"10: container.end.ms is -5, not a number", with_task(**{"container.end.ms": -5})),
            (r"10: container.end.ms is 5, before container.start.ms 10", with_task(**{"container.end.ms": 5, "container.start.ms": 10})),
            (r"10: container.type is 'stream'", with_task(**{"container.type": "stream"})),
            (r"10: container.end.ms is '1s', not a number", with_task(**{"container.end.ms": "1s"})),
            (r"3: job.start.ms is 'x'", sls(job_start_ms="x")),
            (r"4: job.tasks is empty", sls(job_tasks=[])),
            (r"4: job.tasks is no list", sls(job_tasks="x")),
            (r"1: job.tasks is missing", '{"job.id": "a"}'),
            (r"4: this is no JSON", sls().replace('"job.tasks"', "job.tasks")),
            (r"1: this is no JSON", '{"job.start.ms": NaN}'),
            (r"1: there are more than 60 brackets", "[" * 100_000),
            (r"1: this is a list", "[1]"),
            (r"1: '// total' stands between", "// total\n"),
            (r"1: the file is empty", ""),
        ):
            with self.subTest(pattern=pattern, content=content[:200]):
                self.refused(pattern, "sls", content)
        said = self.trace("import", "sls", self.file(with_task(**{"container.type": "x"}) + sls(job_id="b")), "--skip-odd")[1]
        self.assertIn("1 odd lines left out", said)

    def test_synth(self):
        good = Path(self.fixture("syn.json")).read_text()
        for pattern, content in (
            (r"52: this is no JSON", good[:-20]),
            (r"18: mtasks_avg is 'five', not a number", good.replace('"mtasks_avg": 5', '"mtasks_avg": "five"')),
            (r"22: dur_avg is -60, not a number", good.replace('"dur_avg": 60', '"dur_avg": -60')),
            (r"5: num_jobs is 1.5, not a whole number", good.replace('"num_jobs": 10', '"num_jobs": 1.5')),
            (rf"5: num_jobs is {MOST_JOBS + 1}, not a number", good.replace('"num_jobs": 10', f'"num_jobs": {MOST_JOBS + 1}')),
            (r"1: workloads is missing", '{"num_jobs": 1}'),
            (r"7: more than 20000000 tasks would be drawn", good.replace('"mtasks_avg": 5', '"mtasks_avg": 1e9')),
            (r"1: the file is a list", "[]"),
            (r"1: the file is empty", " \n"),
        ):
            with self.subTest(pattern=pattern):
                self.refused(pattern, "synth", content)

    def test_batsim(self):
        good = Path(self.fixture("batsim.json")).read_text()
        for pattern, content in (
            (r"\d+: this is no JSON", good[:-30]),
            (r"5: id 'short' is that of a job above", good.replace('"killed"', '"short"')),
            (r"5: res is 0, not a number", good.replace('"res": 2', '"res": 0')),
            (r"5: subtime is '12', not|5: subtime is 'x', not a number", good.replace('"subtime": 12.5', '"subtime": "x"')),
            (r"5: profile 'nap' is not among the profiles", good.replace('"res": 2, "profile": "sleep"', '"res": 2, "profile": "nap"')),
            (r"11: delay is missing", good.replace('"delay": 20.25', '"wait": 20.25')),
            (
                r"13: the profile 'thrice' has too many profiles within each other",
                good.replace('"seq": ["sleep", "old"]', '"seq": ["thrice"]'),
            ),
            (r"14: the profile 'old' is of type 'smpi'", good.replace('"type": "delay"', '"type": "smpi"')),
            (r"1: profiles is missing", '{"jobs": []}'),
            (r"2: nb_res is -4", good.replace('"nb_res": 4', '"nb_res": -4')),
            (r"1: the file is empty", ""),
        ):
            with self.subTest(pattern=pattern):
                self.refused(pattern, "batsim", content, "--flops", "1e9")

    def test_alibaba2018(self):
        row = "M1,3,j_1,1,Terminated,1000,1010,100,0.5\n"
        for pattern, content in (
            (r"2: the row has 8 fields, not 9", row + row.replace(",0.5", "")),
            (r"1: instance_num is 'three', not a number", row.replace(",3,", ",three,")),
            (r"1: instance_num is '-3', not a number", row.replace(",3,", ",-3,")),
            (r"1: end_time is 990, before start_time 1000", row.replace("1010", "990")),
            (r"2: the job j_1 has a task M1 in a row above", row + row),
            (r"1: status is 'Done'", row.replace("Terminated", "Done")),
            (r"1: job_name is missing", row.replace("j_1", "")),
            (r"1: the row is no CSV", row.replace("M1", '"M1')),
            (r"1: the file is empty", ""),
        ):
            with self.subTest(pattern=pattern):
                self.refused(pattern, "alibaba2018", content)

    def test_google2019(self):
        good = Path(self.fixture("instance_events.csv")).read_text()
        line = '{"time":"5000000","type":"SUBMIT","collection_id":"11","instance_index":"0"}\n'
        for pattern, content in (
            (r"1: the header has no column 'instance_index'", good.replace("instance_index", "index")),
            (r"2: the row has 8 fields, and the header 9", good.replace(",0.01,0.002\n", ",0.01\n", 1)),
            (r"2: time is '-5', not a number", good.replace("5000000", "-5", 1)),
            (r"2: type is 'START', not a number from 0 to 10 or one of SUBMIT", good.replace("5000000,0,", "5000000,START,", 1)),
            (r"2: collection_id is 'x', not a number", good.replace("5000000,0,11", "5000000,0,x", 1)),
            (r"2: instance_index is missing", line + line.replace(',"instance_index":"0"', "")),
            (r"2: this is no JSON", line + line[:-9] + "\n"),
            (r"1: the file is empty", ""),
        ):
            with self.subTest(pattern=pattern):
                self.refused(pattern, "google2019", content)

    def test_csv(self):
        head = "name,submit,maps,map_seconds\n"
        for pattern, content in (
            (r"1: the header has no column 'maps'", "name,submit,tasks,map_seconds\na,1,2,3\n"),
            (r"1: the header names a column twice", "submit,submit,maps,map_seconds\n"),
            (r"2: the row has 3 fields, and the header 4", head + "a,1,2\n"),
            (r"3: map_seconds is 'long', not a number", head + "a,1,2,3\nb,1,2,long\n"),
            (r"2: maps is '0', not a number", head + "a,1,0,3\n"),
            (r"2: map_seconds is '1_000', not a number", head + "a,1,2,1_000\n"),
            (r"3: name 'a' is that of a row above", head + "a,1,2,3\na,1,2,3\n"),
            (r"2: the row is no CSV", head + 'a,1,2,"3\n'),
            (r"2: the job a: priority is 'URGENT'", head.replace("\n", ",priority\n") + "a,1,2,3,URGENT\n"),
            (r"1: the file is empty", ""),
        ):
            with self.subTest(pattern=pattern):
                self.refused(pattern, "csv", content)

    def test_a_workload_has_no_more_jobs_than_the_simulator_reads(self):
        with mock.patch.object(trace, "MOST_JOBS", 3):
            text = "".join(SWF.replace("1 0", f"{number} 0", 1) for number in range(1, 5))
            self.assertIn("there are more than 3 jobs", self.trace("import", "swf", self.file(text), status=1)[1])
        with mock.patch("millrace.traces.workload.MOST_FILE", 450):
            self.assertIn("take fewer jobs by --jobs", self.trace("import", "swf", self.file(text), status=1)[1])


class Words(Traces):
    def test_wrong_words_are_one_line_and_status_2(self):
        for words, told in (
            ([], "the following arguments are required"),
            (["read"], "invalid choice: 'read'"),
            (["import", "pdf", "x"], "invalid choice: 'pdf'"),
            (["import", "swf"], "the following arguments are required: FILE"),
            (["import", "swf", "x", "--jobs", "0"], "'0' is no number from 1 to"),
            (["import", "swf", "x", "--from", "nan"], "'nan' is no number of seconds"),
            (["import", "csv", "x", "--columns", "size=b"], "'size' is no FIELD=COLUMN"),
            (["import", "swf", self.fixture("unilu.swf"), "--flops", "5"], "--flops is of the format batsim"),
            (["import", "swf", self.fixture("unilu.swf"), "--rate", "5"], "--rate is of SWIM traces"),
        ):
            with self.subTest(words=words):
                said = self.trace(*words, status=2)[1]
                self.assertIn(told, said)
                self.assertRegex(said, r"^millrace: trace[^\n]*\n$")

    def test_help_lists_the_formats(self):
        for words, of in (
            (["--help"], [*trace.READERS, *trace.WRITERS]),
            (["import", "--help"], trace.READERS),
            (["export", "--help"], trace.WRITERS),
        ):
            out = self.trace(*words)[0]
            for name in of:
                self.assertRegex(out, rf"(?m)^  {name} +\S")

    def test_a_file_is_whole_or_not_there(self):
        path = os.path.join(self.place, "out.toml")
        self.trace("import", "swf", self.file(SWF), "-o", path)
        before = Path(path).read_text()
        self.trace("import", "swf", self.file(SWF + "x\n"), "-o", path, status=1)
        self.assertEqual(Path(path).read_text(), before)
        with mock.patch("millrace.traces.workload.MOST_FILE", 150):
            self.trace("import", "swf", self.file(SWF), "-o", path, status=1)
        self.assertEqual(sorted(os.listdir(self.place)), ["out.toml", "trace"])
        said = self.trace("import", "swf", self.file(SWF), "-o", os.path.join(self.place, "none", "x"), status=1)[1]
        self.assertIn("none/x cannot be written: No such file or directory", said)
        self.assertIn("nowhere cannot be read: No such file", self.trace("import", "swf", "nowhere", status=1)[1])
        self.assertIn("cannot be read: Is a directory", self.trace("import", "swf", self.place, status=1)[1])

    def test_lost_output_is_a_failure_and_a_reader_that_leaves_is_none(self):
        env = {**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(trace.__file__))}
        for words in (["import", "swf", self.file(SWF)], ["--help"]):
            with open("/dev/full", "w") as full:
                done = subprocess.run(
                    [sys.executable, "-m", "millrace.trace", *words], stdout=full, stderr=subprocess.PIPE, text=True, env=env
                )
            self.assertEqual((done.returncode, sum("standard output" in line for line in done.stderr.splitlines())), (1, 1), done.stderr)
            self.assertNotIn("Traceback", done.stderr)
            reader, writer = os.pipe()
            os.close(reader)
            with os.fdopen(writer, "w") as gone:
                done = subprocess.run(
                    [sys.executable, "-m", "millrace.trace", *words], stdout=gone, stderr=subprocess.PIPE, text=True, env=env
                )
            self.assertEqual((done.returncode, "output" in done.stderr), (-13, False), done.stderr)

    @unittest.skipIf(tomllib is None, "Python reads TOML from 3.11 on")
    def test_names_are_texts_of_toml(self):
        name = 'a"b\\c\n\t\x00\x1f\x7f\x85\u2028é😀 ]\n[[jobs]]\nname = "x'
        jobs = self.jobs("sls", self.file(sls(job_id=name, job_user="#", job_queue_name="")))[0]
        self.assertEqual([(job["name"], job["user"]) for job in jobs], [(name, "#")])
        half = sls().replace('"job.id": "a"', '"job.id": "\\ud800"')
        self.assertEqual(self.jobs("sls", self.file(half))[0][0]["name"], "\ufffd")
        self.assertNotIn('\n[[jobs]]\nname = "x"', self.trace("import", "swf", self.file(SWF, 'x"\n[[jobs]]\nname = "x'))[0])


JOB_COLUMNS = "job,name,user,pool,class,maps,reduces,outcome,submit,start,maps_ended,end,turnaround,wait,slowdown,deadline,late"


@unittest.skipIf(tomllib is None, "Python reads TOML from 3.11 on")
class RoundTrips(Traces):
    """What is exported is imported again as the same jobs, as far as the format carries them."""

    def again(self, kind, path):
        exported = os.path.join(self.place, f"out.{kind}")
        self.trace("export", kind, path, "-o", exported)
        return self.jobs(kind, exported)[0]

    def workload(self, *words):
        path = os.path.join(self.place, "workload.toml")
        self.trace("import", *words, "-o", path)
        return path, tomllib.loads(Path(path).read_text())["jobs"]

    def test_swf(self):
        path, jobs = self.workload("swf", self.fixture("unilu.swf"))
        again = self.again("swf", path)
        for job, number in zip(jobs, range(1, 100)):
            job["name"] = str(number)  # jobs are numbered in order
        for one, other in zip(jobs, again):
            self.assertAlmostEqual(one.pop("estimate_bias"), other.pop("estimate_bias"), places=4)
        self.assertEqual(jobs, again)
        self.assertGreater(len(jobs), 20)

    def test_sls(self):
        text = "".join(
            sls(
                job_id=f"j{at}",
                job_start_ms=at * 1000 + 1,
                job_user="u",
                job_queue_name="q",
                job_tasks=[{"count": at + 1, "duration.ms": 1500 + at}, {"count": 2, "duration.ms": 700, "container.type": "reduce"}],
            )
            for at in range(5)
        )
        path, jobs = self.workload("sls", self.file(text))
        self.assertEqual(self.again("sls", path), jobs)

    def test_batsim(self):
        path, jobs = self.workload("batsim", self.fixture("batsim.json"), "--flops", "1e9")
        again = self.again("batsim", path)
        for one, other in zip(jobs, again):
            self.assertAlmostEqual(one.pop("estimate_bias", 0), other.pop("estimate_bias", 0), places=4)
        self.assertEqual(jobs, again)

    def test_csv(self):
        path, jobs = self.workload("csv", self.fixture("jobs.csv"))
        lost = {"split", "map_output", "reduce_output", "deadline", "priority", "located"}
        again = self.again("csv", path)
        strip = [{key: value for key, value in job.items() if key not in lost} for job in jobs]
        self.assertEqual(strip, [{key: value for key, value in job.items() if key not in lost} for job in again])

    def test_a_workload_with_draws_has_to_be_simulated_first(self):
        for text, told in (
            (
                '[[jobs]]\nmaps = { uniform = [1, 2] }\narrival = { kind = "batch" }\n',
                "[[jobs]] number 1: maps is drawn, so its jobs are known when they are drawn",
            ),
            ('[[jobs]]\narrival = { kind = "poisson", mean = 5 }\n', "its arrival is no batch"),
            ('[arrival]\nkind = "batch"\n[[jobs]]\nmaps = 3\n', "has arrival"),
            ("[[jobs]]\nplaces = [[1]]\n", "it has places"),
            ("[[jobs\n", "this is no TOML"),
            ("x = 1\n", "has no [[jobs]]"),
            ("", "the file is empty"),
        ):
            with self.subTest(text=text):
                self.assertIn(told, self.trace("export", "sls", self.file(text), status=1)[1])
        with mock.patch.dict(sys.modules, {"tomllib": None}):
            self.assertIn("which Python reads from 3.11 on; run `millrace sim", self.trace("export", "sls", self.file(SWF), status=1)[1])


class Runs(Traces):
    """The files of a run, as lab/measure/report_csv.cc writes them."""

    def run_directory(self, tasks=True):
        jobs = (
            f"{JOB_COLUMNS}\n"
            "0,sort-0,ann,,sort,2,1,succeeded,0.000000,1.000000,5.000000,9.000000,9.000000,1.000000,,,0\n"
            "1,'=x-0,bob,slow,'=x,1,0,failed,2.500000,3.000000,,4.000000,1.500000,0.500000,,,0\n"
            "2,never-0,bob,slow,never,1,0,unfinished,3.000000,,,,,,,,0\n"
        )
        rows = (
            "attempt,node,locality,speculative,start,read,compute,end,how\n"
            "job0.m.0.0,0,node,0,1.000000,1.500000,,4.000000,succeeded\n"
            "job0.m.1.0,1,node,0,1.000000,,,2.000000,killed\n"
            "job0.m.1.1,2,rack,0,2.000000,,,5.000000,succeeded\n"
            "job0.r.0.0,5,,0,4.000000,5.000000,6.000000,9.000000,succeeded\n"
            "job1.m.0.0,1,node,0,3.000000,,,4.000000,failed\n"
        )
        self.file(jobs, "jobs.csv")
        if tasks:
            self.file(rows, "tasks.csv")
        return self.place

    def test_batsim_jobs(self):
        out, said = self.trace("export", "batsim-jobs", self.run_directory())
        table = list(csv.DictReader(io.StringIO(out)))
        self.assertEqual(
            list(table[0]),
            [
                "job_id",
                "workload_name",
                "profile",
                "submission_time",
                "requested_number_of_resources",
                "requested_time",
                "success",
                "final_state",
                "starting_time",
                "execution_time",
                "finish_time",
                "waiting_time",
                "turnaround_time",
                "stretch",
                "consumed_energy",
                "allocated_resources",
                "metadata",
            ],
        )
        self.assertEqual(
            list(table[0].values()),
            ["0", "millrace", "sort", "0", "2", "-1", "1", "COMPLETED_SUCCESSFULLY", "1", "8", "9", "1", "9", "1.125", "", "0-2 5", ""],
        )
        self.assertEqual(
            list(table[1].values()),
            ["1", "millrace", "=x", "2.5", "1", "-1", "0", "COMPLETED_FAILED", "3", "1", "4", "0.5", "1.5", "1.5", "", "1", ""],
        )
        self.assertEqual(list(table[2].values()), ["2", "millrace", "never", "3", "1", "-1", "0", "", "", "", "", "", "", "", "", "", ""])
        self.assertIn("3 jobs of", said)

    def test_swf(self):
        out = self.trace("export", "swf", self.run_directory())[0]
        lines = [line for line in out.splitlines() if not line.startswith(";")]
        # Its attempts held slots for 3 + 1 + 3 + 5 s in 8 s: 1.5 slots, so 2 processors.
        self.assertEqual(lines[0], "1 0 1 8 2 -1 -1 2 -1 -1 1 1 -1 -1 -1 -1 -1 -1")
        self.assertEqual(lines[1], "2 2.5 0.5 1 1 -1 -1 1 -1 -1 0 2 -1 -1 1 -1 -1 -1")
        self.assertEqual(lines[2], "3 3 -1 -1 -1 -1 -1 1 -1 -1 -1 2 -1 -1 1 -1 -1 -1")
        self.assertIn("; MaxJobs: 3\n", out)
        self.assertIn("; Note: user 1 is ann\n", out)

    def test_sls(self):
        directory = self.run_directory()
        self.assertIn("the job =x has no times of tasks", self.trace("export", "sls", directory, status=1)[1])
        jobs = Path(directory, "jobs.csv").read_text().splitlines(keepends=True)
        self.file("".join(jobs[:2]), "jobs.csv")
        out = self.trace("export", "sls", directory)[0]
        self.assertEqual(
            json.loads(out),
            {
                "am.type": "mapreduce",
                "job.start.ms": 0,
                "job.end.ms": 9000,
                "job.queue.name": "default",
                "job.id": "sort",
                "job.user": "ann",
                "job.tasks": [
                    {"count": 2, "duration.ms": 3000, "container.priority": 20, "container.type": "map"},
                    {"count": 1, "duration.ms": 3000, "container.priority": 10, "container.type": "reduce"},
                ],
            },
        )

    def test_what_is_no_run_is_refused(self):
        self.assertIn("has no jobs.csv; name what `millrace sim -o DIR` wrote", self.trace("export", "swf", self.place, status=1)[1])
        os.mkdir(os.path.join(self.place, "fifo"))
        self.file(JOB_COLUMNS, "fifo/jobs.csv")
        self.assertRegex(
            self.trace("export", "swf", self.place, status=1)[1], r"has no jobs.csv; name one of its schedulers, such as .*/fifo"
        )
        self.assertIn("is no directory of a run", self.trace("export", "batsim-jobs", self.file(SWF), status=1)[1])
        self.file("job,name\n0,a\n", "jobs.csv")
        self.assertIn("jobs.csv:1: the header has no column 'user'", self.trace("export", "swf", self.place, status=1)[1])
        self.file(f"{JOB_COLUMNS}\n0,a,u,,a,two,0,succeeded,0,0,0,0,0,0,0,0,0\n", "jobs.csv")
        self.assertIn("jobs.csv:2: maps is 'two', not a number", self.trace("export", "swf", self.place, status=1)[1])
        self.assertIn("so the times and nodes of tasks are not known", self.trace("export", "swf", self.run_directory(tasks=False))[1])


if __name__ == "__main__":
    unittest.main()
