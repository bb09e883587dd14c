# SPDX-License-Identifier: Apache-2.0
"""Schedulers from outside: what the Python package makes of the lines, the examples against the built-in schedulers in `millrace sim`, and
programs that misbehave. Takes MILLRACE_BIN, the program or its directory."""

import csv
import io
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "client" / "python" / "src"))

import millrace  # noqa: E402
from millrace import policy, program  # noqa: E402

EXAMPLES = ROOT / "client" / "python" / "examples" / "policies"


def said(*lines):
    """What a policy answers to these lines."""
    sink = io.BytesIO()
    millrace.serve(Told, source=io.BytesIO("".join(line + "\n" for line in lines).encode()), sink=sink)
    return sink.getvalue().decode().splitlines()


class Told(millrace.Policy):
    seen = []

    def order(self, cluster, kind):
        Told.seen.append((kind, cluster.now, [(job.id, job.running(kind), job.remaining(kind), job.may_take(kind)) for job in cluster.jobs]))
        return reversed(cluster.jobs)

    def place(self, cluster):
        return [(job, node, "map") for node in cluster.nodes.values() if node.free_maps for job in cluster.jobs[:1]]

    def preempt(self, cluster):
        return [(job, "reduce", 2, "make room") for job in cluster.jobs if job.reduces_running > 1]

    def wake(self, cluster):
        return cluster.now + 5 if cluster.refused else None


class LinesTest(unittest.TestCase):
    def test_hello(self):
        self.assertEqual(said("hello 1 clock=simulated interval=500000 news=of%20later"), ["hello 1 name=Told kind=ranking"])
        with self.assertRaisesRegex(millrace.UsageError, "version 1"):
            said("hello 2 clock=simulated")

    def test_a_state_and_what_changes(self):
        Told.seen = []
        answer = said(
            "whole", "at now=7", "node id=n1 rack=r1 datacenter= maps=2 reduces=1 free_maps=1 free_reduces=0", "slots maps=2 reduces=1 permits=1",
            "job id=job3 name=a%20b user=ada pool=ada priority=NORMAL submitted=5 order=1 maps=4 reduces=2 bytes=100",
            "job id=job1 name=c user=bob pool=bob priority=HIGH submitted=3 order=0 maps=1 reduces=0 bytes=100 later=1",
            "tasks job=job3 maps_pending=3 maps_running=1 maps_done=0 reduces_pending=0 reduces_running=2 reduces_done=0 computing=1 demand_maps=4 demand_reduces=2 demand_permits=2 offered=mr map_mean=9",
            "decide question=4",
            "at now=9", "ended job=job1", "tasks job=job3 maps_pending=0 maps_running=1 maps_done=3 reduces_pending=0 reduces_running=1 reduces_done=1 computing=1 demand_maps=1 demand_reduces=1 demand_permits=1 offered=",
            "lost id=n1", "refused what=x%20on%20y why=z%3D1", "decide question=5")
        self.assertEqual(answer, [
            "preempt kind=reduce job=job3 tasks=2 reason=make%20room", "launch kind=map job=job1 node=n1",
            "order maps=job3,job1 reduces=job3,job1 permits=job3,job1", "seen 4",
            "order maps=job3 reduces=job3 permits=job3", "wake at=14", "seen 5"])
        self.assertEqual(Told.seen[0], ("map", 7, [("job1", 0, 1, False), ("job3", 1, 4, True)]))
        self.assertEqual(Told.seen[-1], ("permit", 9, [("job3", 1, 1, False)]))

    def test_what_a_policy_prints_is_no_answer(self):
        class Chatty(millrace.Policy):
            def order(self, cluster, kind):
                print("thinking")
                return cluster.jobs

        sink, errors = io.BytesIO(), io.StringIO()
        stderr, sys.stderr = sys.stderr, errors
        try:
            policy.serve(Chatty(), source=io.BytesIO(b"at now=1\ndecide question=1\n"), sink=sink)
        finally:
            sys.stderr = stderr
        self.assertEqual(sink.getvalue(), b"order maps= reduces= permits=\nseen 1\n")
        self.assertEqual(errors.getvalue(), "thinking\n" * 3)

    def test_what_would_decide_nothing_is_refused(self):
        class Typo(millrace.Policy):
            def ordr(self, cluster, kind):
                return cluster.jobs

        class Empty(millrace.Policy):
            pass

        class Other:
            def order(self, cluster, kind):
                return cluster.jobs

        for made, said in ((Typo, "is ordr() meant to be order()?"), (Empty, "Empty has none of order(), place(), preempt() and wake()"), (Other, "Other is none")):
            with self.subTest(made), self.assertRaisesRegex(millrace.UsageError, re.escape(said)):
                policy.serve(made, source=io.BytesIO(), sink=io.BytesIO())

    def test_what_a_hook_returns_is_checked(self):
        for hook, wrong, said in (("order", None, "Mine.order() returned None; it returns jobs, or their ids"), ("order", "job1", "returned 'job1'"), ("order", [3], "returned 3 among others"),
                                  ("place", None, "Mine.place() returned None; it returns launches"), ("place", [("job1", "n1")], "as (job, node, kind)"), ("preempt", 7, "Mine.preempt() returned 7")):
            made = type("Mine", (millrace.Policy,), {hook: lambda *_, wrong=wrong: wrong})
            with self.subTest(hook=hook, wrong=wrong), self.assertRaisesRegex(millrace.UsageError, re.escape(said)):
                policy.serve(made, source=io.BytesIO(b"at now=1\ndecide question=1\n"), sink=io.BytesIO())
        generated = type("Mine", (millrace.Policy,), {"order": lambda *_: (job for job in ("job2", "job1"))})
        sink = io.BytesIO()
        policy.serve(generated, source=io.BytesIO(b"at now=1\ndecide question=1\n"), sink=sink)
        self.assertEqual(sink.getvalue(), b"order maps=job2,job1 reduces=job2,job1 permits=job2,job1\nseen 1\n")

    def test_the_time_of_a_task(self):
        job = policy.Job("job1", map_time=5, profile_map_time=7, profile_reduce_time=3)
        self.assertEqual([job.task_time("map"), job.task_time("reduce")], [5, 3])
        job.map_mean = 4
        self.assertEqual(job.task_time("map"), 4)
        self.assertIsNone(policy.Job("job2").task_time("map"))


@unittest.skipUnless(os.environ.get("MILLRACE_BIN"), "MILLRACE_BIN names no program")
class SimulatedTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = Path(directory.name)
        self.environment = {**os.environ, "PYTHONPATH": str(ROOT / "client" / "python" / "src"), "PYTHONDONTWRITEBYTECODE": "1"}

    def millrace(self, *words, timeout=300):
        return subprocess.run([program.find(), *map(str, words)], capture_output=True, text=True, env=self.environment, timeout=timeout, check=False)

    def write(self, name, text, mode=0o644):
        path = self.directory / name
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        path.chmod(mode)
        return path

    def script(self, name, body):
        """A program that answers the hello, and then does as `body` says for each question, which it has as `question`."""
        path = self.directory / name
        path.write_text("\n".join([f"#!{sys.executable}", "import os, signal, sys, time", 'print("hello 1 name=bad kind=ranking", flush=True)', "for line in sys.stdin:",
                                   '    if not line.startswith("decide"): continue', '    question = line.split("=")[1].strip()', "    " + body, ""]), encoding="utf-8")
        path.chmod(0o755)
        return path

    def workload(self, name, seed, nodes=4, jobs=25):
        """A workload of jobs of several users, priorities and sizes that arrive one after another."""
        chance = random.Random(seed)
        lines = [f"seed = {seed}", "[cluster]", f"nodes = {nodes}", "racks = 2", "map_slots = 2", "reduce_slots = 1", ""]
        for job in range(jobs):
            lines += ["[[jobs]]", f'name = "j{job}"', f'user = "u{chance.randrange(3)}"', f'priority = "{chance.choice(["HIGH", "NORMAL", "NORMAL", "VERY_LOW"])}"',
                      f'arrival = {{ kind = "list", times = ["{job * chance.choice([1, 2, 5])}s"] }}', f"maps = {chance.choice([1, 2, 3, 8, 20])}",
                      f"reduces = {chance.choice([0, 1, 2, 5])}", f'map_time = "{chance.randrange(2, 20)}s"', f'reduce_time = "{chance.randrange(2, 20)}s"',
                      "map_output = 0.3", ""]
        return self.write(name, "\n".join(lines))

    def journal(self, workload, scheduler, *words):
        path = self.directory / "journal"
        done = self.millrace("sim", workload, "--scheduler", scheduler, "--journal", path, *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return path.read_text()

    @staticmethod
    def without_answers(journal):
        """The events, without the lines by which a program speaks and without the marks of Decide, which comes again after each answer."""
        return [line for line in journal.splitlines() if line.split(" ")[1] not in ("PolicyAnswered", "decide", "SchedulerSet")]

    def test_a_simulation_goes_on_whatever_a_program_wants_to_be_woken_for(self):
        for kind in ("ranking", "assignment"):
            past = self.write("past.py", f"""\
                #!{sys.executable}
                import millrace

                class Past(millrace.Policy):
                    kind = {kind!r}

                    def wake(self, cluster):
                        return cluster.now

                millrace.serve(Past)
                """, 0o755)
            done = self.millrace("sim", self.workload("w.toml", 1), "--scheduler", f"external:{past}", timeout=60)
            self.assertIn("past       25 of 25", done.stdout)
            self.assertIn("wake%20at%200 why=the%20time%20is%20not%20after%20now", done.stderr)  # and it was relieved

    def test_examples_decide_as_the_built_in_schedulers(self):
        for seed in range(1, 5):
            workload = self.workload("w.toml", seed)
            for name in ("fifo", "fair"):
                for parts in ("", "+delay", "+ccs", "+delay+ccs"):
                    with self.subTest(seed=seed, scheduler=name + parts):
                        theirs = self.journal(workload, f"mine{parts}=external:{EXAMPLES / name}.py{parts}")
                        self.assertIn(" PolicyAnswered ", theirs)
                        self.assertEqual(self.without_answers(theirs), self.without_answers(self.journal(workload, name + parts)))

    @unittest.skipUnless("MILLRACE_TEST_POLICIES" in os.environ, "needs MILLRACE_TEST_POLICIES")
    def test_an_example_in_cpp_decides_as_the_built_in_scheduler(self):
        fifo = Path(os.environ["MILLRACE_TEST_POLICIES"]) / "fifo"
        for seed in range(1, 5):
            workload = self.workload("w.toml", seed)
            for parts in ("", "+delay", "+ccs", "+delay+ccs"):
                with self.subTest(seed=seed, parts=parts):
                    theirs = self.journal(workload, f"mine{parts}=external:{fifo}{parts}")
                    self.assertIn(" PolicyAnswered ", theirs)
                    self.assertEqual(self.without_answers(theirs), self.without_answers(self.journal(workload, "fifo" + parts)))

    def test_a_journal_replays_without_the_program(self):
        workload = self.workload("w.toml", 7)
        mine = self.write("mine.py", (EXAMPLES / "shortest.py").read_text(), 0o755)
        settings = self.write("external.toml", f'[external]\nprogram = "{mine}"\n')
        journal = self.write("journal.txt", self.journal(workload, f"external:{mine}+ccs"))
        mine.unlink()
        done = self.millrace("sim", journal, "--replay", "--scheduler", "external+ccs", "--settings", settings)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("the same decisions", done.stdout)

    def test_journals_of_an_assignment_and_of_a_relief_replay(self):
        workload = self.workload("w.toml", 7)
        settings = self.write("external.toml", '[external]\nprogram = "none"\nkind = "assignment"\n')
        journal = self.write("journal.txt", self.journal(workload, f"mine=external:{EXAMPLES / 'fair.py'}"))
        done = self.millrace("sim", journal, "--replay", "--scheduler", "external", "--settings", settings)
        self.assertIn("the same decisions", done.stdout, done.stderr)
        tired = self.script("tired.py", 'int(question) > 5 and os._exit(3); print("order maps=\\nseen", question, flush=True)')
        failed = self.millrace("sim", workload, "--scheduler", f"external:{tired}", "--journal", self.directory / "relieved.txt")
        self.assertEqual(failed.returncode, 1, failed.stderr)
        self.assertIn(" SchedulerSet name=fair ", (self.directory / "relieved.txt").read_text())
        settings = self.write("external.toml", '[external]\nprogram = "none"\n')
        done = self.millrace("sim", self.directory / "relieved.txt", "--replay", "--scheduler", "external", "--settings", settings)
        self.assertIn("the same decisions", done.stdout, done.stderr)

    def test_whatever_a_program_says_every_job_ends_and_the_journal_replays(self):
        """A program that decides by chance, over nodes that are slow, fail and come back, with and without second attempts and parts. MILLRACE_TEST_SEEDS is how
        many histories there are."""
        first = random.SystemRandom().randrange(10**6)
        for seed in range(first, first + int(os.environ.get("MILLRACE_TEST_SEEDS", "4"))):
            chance = random.Random(seed)
            kind, parts = chance.choice(("ranking", "assignment")), chance.choice(("", "+delay", "+ccs", "+delay+ccs"))
            odd = self.write("odd.py", f"""\
                #!{sys.executable}
                import random
                import millrace

                class Odd(millrace.Policy):
                    kind = {kind!r}
                    chance = random.Random({seed})

                    def order(self, cluster, kind):
                        jobs = cluster.jobs
                        self.chance.shuffle(jobs)
                        return jobs[:self.chance.randrange(len(jobs) + 1)]

                    def place(self, cluster):
                        for kind in ("map", "reduce"):
                            nodes = [node for node in cluster.nodes.values() if (node.free_maps if kind == "map" else node.free_reduces)]
                            jobs = [job for job in cluster.jobs if job.may_take(kind)]
                            if nodes and jobs and self.chance.random() < 0.5:
                                yield self.chance.choice(jobs), self.chance.choice(nodes), kind

                    def preempt(self, cluster):
                        jobs = [job for job in cluster.jobs if job.maps_running and job.maps_pending]
                        if jobs and self.chance.random() < 0.02:
                            yield self.chance.choice(jobs), "map", 1, "a whim"

                    def wake(self, cluster):
                        return cluster.now + 3_000_000 if self.chance.random() < 0.3 else None

                millrace.serve(Odd)
                """, 0o755)
            workload = self.workload("w.toml", seed, nodes=chance.choice([2, 4, 7]), jobs=12)
            text = workload.read_text().replace("[cluster]\n", "[cluster]\nslow_share = 0.2\nfailure_probability = 0.03\n", 1)
            workload.write_text(text.replace("[[jobs]]", f"[[cluster.failures]]\nnode = 1\nat = {chance.randrange(5, 40)}\nback = {chance.randrange(41, 90)}\n\n[[jobs]]", 1))
            settings = self.write("s.toml", f'[external]\nprogram = "{odd}"\nkind = "{kind}"\ntolerate = 100000\n[speculation]\nenabled = {chance.choice(["true", "false"])}\n')
            with self.subTest(seed=seed, kind=kind, parts=parts):
                journal = self.write("j.txt", self.journal(workload, "external" + parts, "--settings", settings, "--think", chance.choice(["0s", "2ms", "15ms"])))
                done = self.millrace("sim", journal, "--replay", "--scheduler", "external" + parts, "--settings", settings)
                self.assertIn("the same decisions", done.stdout, done.stderr)

    def test_second_attempts_beside_a_program(self):
        """With speculation and every part, over nodes that are slow, fail and come back: each job ends, and the program is not relieved."""
        workload = self.workload("w.toml", 4)
        text = workload.read_text().replace("[cluster]\n", "[cluster]\nslow_share = 0.2\nfailure_probability = 0.05\n", 1)
        workload.write_text(text.replace("[[jobs]]", "[[cluster.failures]]\nnode = 1\nat = 30\nback = 60\n\n[[jobs]]", 1))
        settings = self.write("s.toml", "[speculation]\nenabled = true\n[eviction]\ngives_up_after = 60\n")
        for name in ("fair", "shortest"):
            for think in ("0s", "2ms"):
                done = self.millrace("sim", workload, "--scheduler", f"mine+delay+ccs=external:{EXAMPLES / name}.py+delay+ccs", "--settings", settings, "--think", think)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_the_order_of_a_ranking_counts(self):
        """The last job of four is the shortest: under fifo it ends last, under the program first of those that wait."""
        workload = self.write("w.toml", """\
            [cluster]
            nodes = 1
            map_slots = 1
            reduce_slots = 1
            """ + "".join(f'[[jobs]]\nname = "j{i}"\narrival = {{ kind = "list", times = ["{i}s"] }}\nmaps = {maps}\nreduces = 0\nmap_time = "10s"\n' for i, maps in enumerate((3, 9, 9, 1))))
        done = self.millrace("sim", workload, "--scheduler", f"external:{EXAMPLES / 'shortest.py'}", "-o", self.directory / "out")
        self.assertEqual(done.returncode, 0, done.stderr)
        with (self.directory / "out" / "shortest" / "jobs.csv").open() as file:
            ends = {job["name"]: float(job["end"]) for job in csv.DictReader(file)}
        self.assertLess(ends["j3-0"], ends["j0-0"])

    def test_from_python(self):
        """A class is simulated and compared; its file has a main part, which is not run."""
        workload = self.workload("w.toml", 5, jobs=8)
        self.write("greedy.py", """\
            import millrace

            class Backwards(millrace.Policy):
                def order(self, cluster, kind):
                    return sorted(cluster.jobs, key=lambda job: -job.order)

            def inner():
                class Inner(Backwards):
                    pass
                return Inner

            if __name__ == "__main__":
                raise SystemExit("this is not to be run")
            """)
        sys.path.insert(0, str(self.directory))
        self.addCleanup(sys.path.remove, str(self.directory))
        self.addCleanup(sys.modules.pop, "greedy", None)
        import greedy

        mine = millrace.simulate(greedy.Backwards, workload, words=["--nodes", "2"])
        self.assertEqual((mine.scheduler, len(mine.jobs)), ("backwards", 8))
        self.assertEqual(millrace.simulate(greedy.Backwards, workload, words=["--nodes", "2"]).jobs, mine.jobs)
        theirs = millrace.simulate("fifo", workload, words=["--nodes", "2"])
        self.assertNotEqual([job["end"] for job in mine.jobs], [job["end"] for job in theirs.jobs])
        document = millrace.compare([greedy.Backwards, "fifo"], workload, repeat=2)
        self.assertEqual(document["schedulers"], ["backwards", "fifo"])
        with self.assertRaisesRegex(millrace.UsageError, "not at the top level of a file"):
            millrace.simulate(greedy.inner(), workload)
        with self.assertRaisesRegex(millrace.CommandFailed, "no scheduler is called"):
            millrace.simulate("nonsense", workload)

    def relieved(self, program_path, *words, timeout=120):
        """The program is relieved, every job ends, and the program is told why. Returns standard error."""
        workload = self.workload("w.toml", 3, jobs=6)
        begin = time.monotonic()
        done = self.millrace("sim", workload, "--scheduler", f"external:{program_path}", *words, timeout=timeout)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("relieved", done.stderr)
        self.assertIn("fair decided from then on", done.stderr)
        self.assertNotIn("stuck", done.stderr)
        self.took = time.monotonic() - begin
        return done.stderr

    def test_programs_that_misbehave(self):
        for body, why in [
            ('print("nonsense", flush=True); print("seen", question, flush=True)', 'line 1, "nonsense": no answer begins like this'),
            ('print("order maps=job1,", flush=True); print("seen", question, flush=True)', "order takes jobs"),
            ('print("seen 77", flush=True)', 'answered "seen 77" to question'),
            ('os._exit(3)', "has ended with status 3"),
            ('os.kill(os.getpid(), signal.SIGSEGV)', "was ended by signal 11"),
            ('print("my last words", file=sys.stderr, flush=True); os._exit(1)', "it said: my last words"),
            ('os.write(1, b"x" * (5 << 20)); print("seen", question, flush=True)', 'without a line that begins with "seen"'),
            ('os.close(1); os.close(0); time.sleep(1000)', "has closed its standard output"),
        ]:
            with self.subTest(body=body):
                self.assertIn(why, self.relieved(self.script("bad.py", body)))

    def test_what_is_impossible_is_refused_until_it_is_too_much(self):
        bad = self.script("bad.py", 'print("order maps=job999,job0,job0\\nlaunch kind=map job=job0 node=n77\\nseen", question, flush=True)')
        errors = self.relieved(bad)
        self.assertIn("parts of its answers were refused", errors)
        self.assertIn("\n> decide question=1\n", errors, "the transcript is in lines")
        self.assertIn("refused what=order%20of%20job999 why=there%20was%20never%20such%20a%20job", errors)
        self.assertIn("why=it%20is%20named%20twice", errors)
        self.assertIn("launch%20of%20job0%20on%20n77 why=no%20such%20node%20takes%20part", errors)

    def test_a_program_that_sleeps_and_ignores_signals(self):
        errors = self.relieved(self.script("bad.py", "signal.signal(signal.SIGTERM, signal.SIG_IGN); open(%r, 'w').write(str(os.getpid())); time.sleep(1000)" % str(self.directory / "pid")))
        self.assertIn("has not answered within 20 s", errors)
        with self.assertRaises(ProcessLookupError):
            os.kill(int((self.directory / "pid").read_text()), 0)

    def test_a_program_that_is_none(self):
        workload = self.workload("w.toml", 3, jobs=2)
        for path, why in [("nowhere.py", "nowhere.py"), (self.write("silent.py", "", 0o644), "has ended with status 0"),
                          (self.write("old.py", f"#!{sys.executable}\nprint('hello 9 name=x')\n", 0o755), "does not speak version 1"),
                          (self.write("odd.py", f"#!{sys.executable}\nprint('hello 1 kind=odd')\n", 0o755), "kind is ranking or assignment")]:
            with self.subTest(path=path):
                done = self.millrace("sim", workload, "--scheduler", f"external:{path}")
                self.assertNotEqual(done.returncode, 0)
                self.assertIn(why, done.stderr)
        plain = self.write("plain", "#!/bin/sh\n")
        windows = self.directory / "windows"
        windows.write_bytes(b"#!/bin/sh\r\n")
        windows.chmod(0o755)
        for path, why in ((plain, "chmod +x makes it so"), (windows, "line ends of Windows")):
            for confined in ((), ("--confine",)):
                with self.subTest(path=path, confined=confined):
                    said = self.millrace("sim", workload, "--scheduler", f"external:{path}", *confined).stderr
                    if "cannot be confined on this machine" not in said:
                        self.assertIn(why, said)
        done = self.millrace("compare", workload, "--scheduler", f"external:{EXAMPLES / 'shortest.py'},fifo", "--on", "local", "-o", self.directory / "live")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("asked in simulations alone here; leave --on out", done.stderr)
        done = self.millrace("advise", "--workload", self.workload("many.toml", 3, jobs=60), "--in-force", "fifo", "--scheduler", f"external:{EXAMPLES / 'shortest.py'}")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("asked in simulations alone here; `millrace compare` takes it", done.stderr)
        done = self.millrace("sim", workload, "--scheduler", "external+ccs")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("external+ccs names no program; write external:PATH", done.stderr)
        settings = self.write("external.toml", '[external]\nfallback = "cp"\n')
        done = self.millrace("sim", workload, "--scheduler", "external", "--settings", settings)
        self.assertIn('external.fallback: "cp" is not one of the schedulers that order jobs', done.stderr)

    def test_a_confined_program_decides_the_same_and_reads_nothing_else(self):
        workload = self.workload("w.toml", 5, jobs=6)
        program = self.write("fifo.py", "#!/usr/bin/python3\n" + (EXAMPLES / "fifo.py").read_text())
        os.chmod(program, 0o755)
        words = ("sim", workload, "--json", "--scheduler", f"external:{program}")
        free, confined = self.millrace(*words), self.millrace(*words, "--confine", "--readable", ROOT / "client" / "python" / "src")
        if "cannot be confined on this machine" in confined.stderr:
            self.skipTest(confined.stderr)
        self.assertEqual(confined.returncode, 0, confined.stderr)
        turnarounds = [[(row["makespan"], row["jobs"]) for row in json.loads(done.stdout)] for done in (free, confined)]
        self.assertEqual(turnarounds[0], turnarounds[1])
        alone = self.millrace(*words, "--confine")
        self.assertEqual(alone.returncode, 1)
        self.assertIn("No module named 'millrace'", alone.stderr)
        spy = self.write("spy", f"#!/bin/sh\ncat {workload} > /dev/null && echo read >&2\necho done >&2\n")
        os.chmod(spy, 0o755)
        self.assertIn("it said: done", self.millrace("sim", workload, "--scheduler", f"external:{spy}", "--confine").stderr)
        self.assertIn("add --confine", self.millrace(*words, "--readable", ROOT / "client" / "python" / "src").stderr)
        self.assertIn("does not exist", self.millrace(*words, "--confine", "--readable", self.directory / "gone").stderr)

    def test_thinking_takes_time(self):
        """A question of an assignment that is open for longer than the limit goes to the fallback; one that is answered within it does not."""
        workload = self.workload("w.toml", 5, jobs=6)
        words = ("sim", workload, "--scheduler", f"external:{EXAMPLES / 'fair.py'}", "--settings", self.write("strict.toml", "[external]\ntolerate = 0\n"))
        slow = self.millrace(*words, "--think", "50ms")
        self.assertEqual(slow.returncode, 1)
        self.assertIn("limits missed", slow.stderr)
        self.assertEqual(self.millrace(*words, "--think", "5ms").returncode, 0)


if __name__ == "__main__":
    unittest.main()
