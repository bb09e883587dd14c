# SPDX-License-Identifier: Apache-2.0
"""Evaluation of policies: the score, the report of what holds, and policies that cheat. Takes MILLRACE_BIN, the program or its directory.
What needs a program that confines is left out where there is none."""

import contextlib
import io
import json
import math
import os
import random
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "client" / "python" / "src"))

import millrace  # noqa: E402
from millrace import apart, evaluation, score, suites  # noqa: E402

EXAMPLES = ROOT / "client" / "python" / "examples" / "policies"
CONFINES = bool(os.environ.get("MILLRACE_BIN")) and not apart.why_not_confined()
CAUGHT = 7  # the status of a policy that has got what it must not have


class SuitesTest(unittest.TestCase):
    def test_the_suites_of_the_package(self):
        training, held = suites.find("training"), suites.find("held-out")
        self.assertFalse(set(training.seeds) & set(held.seeds))
        self.assertFalse({path.name for path in training.workloads} & {path.name for path in held.workloads})
        self.assertEqual(len(training.pairs()), len(training.seeds) * len(training.workloads))
        self.assertEqual([seed for _, seed in training.pairs()][: len(training.workloads)], [training.seeds[0]] * len(training.workloads))

    def test_a_directory_and_what_is_none(self):
        with tempfile.TemporaryDirectory() as place:
            with self.assertRaisesRegex(millrace.UsageError, "has no workload file"):
                suites.find(place)
            Path(place, "b.toml").touch()
            Path(place, "a.toml").touch()
            self.assertEqual([path.name for path in suites.find(Path(place)).workloads], ["a.toml", "b.toml"])
            self.assertEqual(suites.find(place, [5, 5, 4]).seeds, (5, 4))
            with self.assertRaisesRegex(millrace.UsageError, "needs a seed"):
                suites.find(place, [])
        with self.assertRaisesRegex(millrace.UsageError, "neither a suite"):
            suites.find("holdout")


class IntervalTest(unittest.TestCase):
    def test_it_covers(self):
        """Of 200 intervals about the mean of normal values, 95% have the true mean in them; fewer than 88% would be chance once in a million."""
        chance = random.Random(4)
        covered = 0
        with mock.patch.object(evaluation, "_RESAMPLES", 400):
            for _ in range(200):
                low, high = evaluation.interval([[chance.gauss(center, 0.2) for _ in range(8)] for center in (0.1, 0.3, 0.5)])
                covered += low <= 0.3 <= high
        self.assertGreater(covered, 176)

    def test_one_value_says_nothing(self):
        self.assertEqual(evaluation.interval([[0.1, 0.2], [0.3]]), (-math.inf, math.inf))

    def test_verdicts(self):
        def found(ratio, low, high):
            return {"suite": "x", "ratio": ratio, "low": low, "high": high}

        better = found(1.2, 1.1, 1.3)
        for training, held, verdict in [
            (better, found(1.1, 1.01, 1.2), "holds"),
            (better, found(1.004, 1.001, 1.007), "holds"),
            (better, found(1.0, 0.995, 1.005), "does not hold"),
            (better, found(0.8, 0.7, 0.9), "does not hold"),
            (better, found(1.1, 0.95, 1.3), "cannot be told"),
            (found(1.1, 0.9, 1.3), found(1.1, 1.05, 1.2), "cannot be told"),
            (better, found(1.1, 0, math.inf), "cannot be told"),
        ]:
            self.assertEqual(evaluation._judge(training, held)[0], verdict, (training, held))


class Evaluated(unittest.TestCase):
    def await_end(self, pid):
        """A process that was killed ends when the machine gets round to it."""
        until = time.monotonic() + 60
        while not ended(pid):
            self.assertLess(time.monotonic(), until, f"process {pid} lives on")
            os.sched_yield()

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = Path(directory.name)
        self.suite = self.directory / "suite"
        self.suite.mkdir()
        for name, maps in (("small", 6), ("large", 20)):
            (self.suite / f"{name}.toml").write_text(textwrap.dedent(f"""\
                [cluster]
                nodes = 2
                map_slots = 2
                reduce_slots = 1

                [arrival]
                kind = "poisson"
                mean = 6

                [[jobs]]
                name = "job"
                count = 12
                users = 2
                maps = {{ uniform = [1, {maps}] }}
                map_time = {{ uniform = [2, 9] }}
                reduces = 1
                reduce_time = 3
                """))

    def policy(self, *body, name="mine.py", before="", more=""):
        """A policy that does as `body` says when it is asked for an order, which is that of submission otherwise."""
        path = self.directory / name
        path.write_text("\n".join([
            "import os, sys, time", "import millrace", before, "class Mine(millrace.Policy):", "    def order(self, cluster, kind):",
            *(f"        {line}" for line in body), "        return cluster.jobs", more, 'if __name__ == "__main__":', "    millrace.serve(Mine)", ""]))
        return path

    def evaluate(self, policy, **how):
        how = {"suite": self.suite, "seeds": [1, 2], "trusted": not CONFINES, **how}
        return millrace.evaluate(policy, **how)

    def assert_fails(self, result, why):
        self.assertFalse(result["valid"], result["log"])
        self.assertEqual(result["score"], 0.0)
        self.assertIn(why, result["log"])

    def assert_gets_nothing(self, result):
        self.assertTrue(result["valid"], result["log"])


@unittest.skipUnless(os.environ.get("MILLRACE_BIN"), "MILLRACE_BIN names no program")
class EvaluateTest(Evaluated):
    def test_a_program_that_decides_as_a_reference_scores_as_the_reference(self):
        for name in ("fair", "fifo"):
            result = self.evaluate(EXAMPLES / f"{name}.py", suite="training", seeds=[1])
            self.assertTrue(result["valid"], result["log"])
            ratios = []
            for row in result["by_workload"].values():
                self.assertEqual(row["turnaround"]["policy"], row["turnaround"][name])
                ratios += [fair / own for fair, own in zip(row["turnaround"]["fair"], row["turnaround"]["policy"])]
            self.assertEqual(len(ratios), 5)
            self.assertAlmostEqual(result["score"], math.exp(sum(map(math.log, ratios)) / 5))
            self.assertEqual((result["suite"], result["seeds"], result["confined"]), ("training", [1], CONFINES))
        self.assertNotAlmostEqual(result["score"], 1)

    def test_the_turnarounds_are_those_of_the_simulator(self):
        patched = mock.patch.dict(os.environ, PYTHONPATH=str(ROOT / "client" / "python" / "src"))
        patched.start()
        self.addCleanup(patched.stop)
        result = self.evaluate(EXAMPLES / "shortest.py")
        for name, row in result["by_workload"].items():
            for index, seed in enumerate(row["seeds"]):
                for scheduler, there in (("fair", "fair"), ("sjf", "sjf"), (EXAMPLES / "shortest.py", "policy")):
                    self.assertEqual(millrace.simulate(scheduler, self.suite / f"{name}.toml", seed=seed).summary["mean_turnaround"],
                                     row["turnaround"][there][index])

    def test_a_class_is_trusted_or_refused(self):
        self.policy(name="classy.py", more="    kind = 'assignment'\n")
        sys.path.insert(0, str(self.directory))
        self.addCleanup(sys.path.remove, str(self.directory))
        self.addCleanup(sys.modules.pop, "classy", None)
        import classy

        with self.assertRaisesRegex(millrace.UsageError, "whose code has run in this process"):
            self.evaluate(classy.Mine, trusted=False)
        by_class, by_file = (self.evaluate(policy, trusted=True) for policy in (classy.Mine, self.directory / "classy.py"))
        self.assertEqual(by_class["by_workload"], by_file["by_workload"])
        self.assertFalse(by_class["confined"])
        self.assertIn("it was trusted, and not confined", by_class["log"])

    def test_without_confinement_nothing_is_run(self):
        mark = self.directory / "mark"
        path = self.policy(before=f"open({str(mark)!r}, 'w')")
        with mock.patch.object(apart, "why_not_confined", return_value="no"), self.assertRaisesRegex(millrace.UsageError, "cannot be confined here"):
            self.evaluate(path, trusted=False)
        self.assertFalse(mark.exists())

    def test_policies_that_fail(self):
        for body, why in [
            ("os._exit(3)", "has ended with status 3"),
            ("raise KeyError('job99')", "it said: KeyError: 'job99'"),
            ("sys.__stdout__.write('what?\\n'); sys.__stdout__.flush()", "no answer begins like this"),
            ("return ['job999'] * 9", "parts of its answers were refused"),
        ]:
            with self.subTest(body=body):
                self.assert_fails(self.evaluate(self.policy(body)), why)
        (self.directory / "silent.py").write_text("")
        self.assert_fails(self.evaluate(self.directory / "silent.py"), "silent.py: ")
        with self.assertRaisesRegex(millrace.UsageError, "is no file"):
            self.evaluate(self.directory / "nowhere.py")

    def test_refusals_are_counted_and_tolerated_up_to_a_limit(self):
        path = self.policy("self.asked = getattr(self, 'asked', 0) + 1", "if self.asked == 3:", "    return ['job999', 'job998']")
        result = self.evaluate(path)
        self.assertTrue(result["valid"], result["log"])
        self.assertEqual(result["refused"], 2 * 4)
        self.assertIn("8 parts of its answers were refused", result["log"])
        self.assert_fails(self.evaluate(path, tolerate=1), "parts of its answers were refused")

    def test_a_policy_that_has_not_ended_in_time(self):
        pid = self.directory / "pid"
        path = self.policy("time.sleep(1000)", before="import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
                                                      f"try: open({str(pid)!r}, 'w').write(str(os.getpid()))\nexcept OSError: pass")
        begin = time.monotonic()
        self.assert_fails(self.evaluate(path, limit=2.0), "has not ended within 2 s")
        self.assertLess(time.monotonic() - begin, 15)
        if pid.exists():
            self.await_end(int(pid.read_text()))

    def test_a_policy_that_preempts_without_end(self):
        path = self.policy(more="    def preempt(self, cluster):\n        return [(job, 'map', 1, 'spite') for job in cluster.jobs if job.maps_running]\n"
                                "    def wake(self, cluster):\n        return cluster.now + 100_000\n")
        self.assert_fails(self.evaluate(path, limit=4.0), "has not ended within 4 s")

    def test_jobs_that_do_not_succeed(self):
        simulate = apart.Place.simulate
        with mock.patch.object(apart.Place, "simulate", lambda *words: {**simulate(*words), "succeeded": 10}):
            self.assert_fails(self.evaluate(EXAMPLES / "shortest.py"), "2 jobs of large did not succeed that do under fair")

    def test_what_is_printed_for_other_loops(self):
        printed = io.StringIO()
        words = [str(EXAMPLES / "shortest.py"), "--suite", str(self.suite), "--seeds", "1,2", *([] if CONFINES else ["--trusted"])]
        with contextlib.redirect_stdout(printed):
            self.assertEqual(score.main(words), 0)
        self.assertEqual(json.loads(printed.getvalue()), self.evaluate(EXAMPLES / "shortest.py"))
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as errors:
            self.assertEqual(score.main([str(self.policy("os._exit(3)")), *words[1:]]), 1)
            self.assertEqual(score.main([words[0], "--seeds", "one"]), 2)
        self.assertIn("is not a list of numbers", errors.getvalue())


@unittest.skipUnless(os.environ.get("MILLRACE_BIN"), "MILLRACE_BIN names no program")
class HeldOutTest(Evaluated):
    def held_out(self, policy, over, **how):
        how = {"training": self.suite, "suite": self.suite, "seeds": range(11, 17), "trusted": not CONFINES, **how}
        return millrace.held_out(policy, over, **how)

    def test_what_holds(self):
        slow = self.policy("return reversed(cluster.jobs)", name="slow.py")
        report = self.held_out(EXAMPLES / "shortest.py", slow)
        self.assertEqual(report["verdict"], "holds", report["why"])
        self.assertEqual(report["held_out"]["pairs"], 12)
        self.assertLess(report["held_out"]["low"], report["held_out"]["ratio"])

    def test_the_same_policy_is_no_improvement(self):
        report = self.held_out(EXAMPLES / "fifo.py", "fifo")
        self.assertEqual((report["verdict"], report["held_out"]["ratio"]), ("cannot be told", 1.0), report)

    def test_what_was_learnt_by_heart_does_not_hold(self):
        """A policy that goes by the names of the training suite's jobs alone."""
        other = self.directory / "other"
        other.mkdir()
        for path in self.suite.glob("*.toml"):
            (other / path.name).write_text(path.read_text().replace('name = "job"', 'name = "work"'))
        path = self.policy('if cluster.jobs and cluster.jobs[0].name.startswith("job"):',
                           "    return sorted(cluster.jobs, key=lambda job: job.remaining('map'))", name="knows.py")
        report = self.held_out(path, "fifo", suite=other)
        self.assertGreater(report["training"]["low"], 1)
        self.assertEqual(report["verdict"], "does not hold", report["why"])

    def test_a_policy_that_fails(self):
        report = self.held_out(self.policy("os._exit(3)"), "fair")
        self.assertEqual((report["verdict"], report["valid"]), ("does not hold", False))
        report = self.held_out(EXAMPLES / "fifo.py", self.policy("os._exit(3)"))
        self.assertEqual((report["verdict"], report["valid"]), ("cannot be told", False))


@unittest.skipUnless(os.environ.get("MILLRACE_BIN"), "MILLRACE_BIN names no program")
class EvolveTest(Evaluated):
    """The example that searches for a policy without a model."""

    @classmethod
    def setUpClass(cls):
        sys.path.insert(0, str(EXAMPLES))
        cls.addClassCleanup(sys.path.remove, str(EXAMPLES))
        import evolve

        cls.evolve = evolve
        cls.addClassCleanup(sys.modules.pop, "evolve")

    def test_weights_are_written_and_read(self):
        text = self.evolve.SEED.read_text()
        weights = self.evolve.mutate(self.evolve.weights_of(text), random.Random(1), 1.0)
        again = self.evolve.weights_of(self.evolve.with_weights(text, weights))
        for name, weight in weights.items():
            self.assertAlmostEqual(again[name], weight, places=3)
        self.assertAlmostEqual(sum(weight * weight for weight in weights.values()), 1)

    def test_it_improves(self):
        said = []
        best = self.evolve.evolve(self.evolve.SEED.read_text(), generations=3, children=3, chance=random.Random(2), trusted=not CONFINES,
                                  suite=self.suite, say=said.append)
        (self.directory / "best.py").write_text(best)
        score = self.evaluate(self.directory / "best.py", seeds=None)["score"]
        self.assertGreater(score, self.evaluate(self.evolve.SEED, seeds=None)["score"])
        self.assertEqual(said[-1].split(" (")[0], f"generation 3: {score:.3f}")


@unittest.skipUnless(os.environ.get("MILLRACE_BIN"), "MILLRACE_BIN names no program")
class CheatsTest(Evaluated):
    """Each of these policies ends with status CAUGHT once it has got what it wants, which a valid result rules out."""

    def test_the_environment_and_the_words_say_nothing(self):
        os.environ["MILLRACE_SECRET_SEED"] = "17"
        self.addCleanup(os.environ.pop, "MILLRACE_SECRET_SEED")
        self.assert_gets_nothing(self.evaluate(self.policy(
            "text = ' '.join([*sys.argv, *os.environ, *os.environ.values(), os.getcwd()])",
            f"if 'SEED' in text.replace('PYTHONHASHSEED', '') or 'MILLRACE' in text or {str(self.suite)!r} in text or len(sys.argv) > 1:",
            f"    os._exit({CAUGHT})", "if [name for name in os.listdir('.') if not __file__.startswith(os.path.abspath(name))]:",
            f"    os._exit({CAUGHT})")))

    def test_it_is_given_no_descriptor(self):
        self.assert_gets_nothing(self.evaluate(self.policy(
            "import stat", "for fd in range(3, 64):", "    try: found = os.fstat(fd)", "    except OSError: continue",
            f"    if not ({CONFINES} and stat.S_ISFIFO(found.st_mode)): os._exit({CAUGHT})")))  # the launcher has a pipe, by which it notices an end

    def test_a_false_result_on_its_output_is_no_answer(self):
        self.assert_fails(self.evaluate(self.policy(
            """sys.__stdout__.write('[{"scheduler": "policy", "workload": "small", "succeeded": 12, "jobs": 12, "mean_turnaround": 0.001}]\\n')""",
            "sys.__stdout__.flush()")), "is none: line 1")

    def test_it_is_not_imported_and_cannot_change_the_package(self):
        before = (millrace.evaluate, evaluation.geometric_mean, apart.Place.simulate)
        path = self.policy(before="import contextlib\nwith contextlib.suppress(Exception):\n    from millrace import evaluation\n"
                                  "    evaluation.geometric_mean = lambda values: 1e9\nmillrace.evaluate = lambda *words, **how: {'score': 1e9}", name="patches.py")
        result = self.evaluate(path)
        self.assertEqual((millrace.evaluate, evaluation.geometric_mean, apart.Place.simulate), before)
        self.assertNotIn("patches", sys.modules)
        self.assertEqual(result["by_workload"], self.evaluate(self.policy())["by_workload"])
        lonely = subprocess.run([sys.executable, "-c", "import millrace, sys; millrace.evaluate"], env={**os.environ, "PYTHONPATH": str(ROOT / "client/python/src")}, check=True)
        self.assertEqual(lonely.returncode, 0)

    def test_it_sees_no_part_of_the_package_that_has_workloads(self):
        self.assert_gets_nothing(self.evaluate(self.policy(
            f"if any(name != 'millrace.policy' and name != 'millrace.errors' for name in sys.modules if name.startswith('millrace.')): os._exit({CAUGHT})",
            "place = os.path.dirname(millrace.__file__)", f"if any(name.endswith('.toml') or name == 'suites' for name in os.listdir(place)): os._exit({CAUGHT})")))

    def test_a_policy_that_answers_by_the_clock_is_not_valid(self):
        self.assert_fails(self.evaluate(self.policy("if time.time_ns() // 1000 % 2:", "    return reversed(cluster.jobs)")), "does not decide alike")

    def test_a_policy_that_answers_by_chance_of_the_system_is_not_valid(self):
        self.assert_fails(self.evaluate(self.policy("jobs = cluster.jobs", "self.chance.shuffle(jobs)", "return jobs",
                                                    more="    import random\n    chance = random.SystemRandom()\n")), "does not decide alike")

    def test_a_policy_that_forks_leaves_nobody(self):
        pids = self.directory / "pids"
        result = self.evaluate(self.policy(before=textwrap.dedent(f"""\
            try:
                if os.fork() == 0:
                    try: open({str(pids)!r}, "a").write(str(os.getpid()) + "\\n")
                    except OSError: pass
                    time.sleep(1000)
            except OSError: pass
            """)))
        self.assertEqual(result["by_workload"], self.evaluate(self.policy())["by_workload"])
        for pid in pids.read_text().split() if pids.exists() else []:
            self.await_end(int(pid))

    def test_a_file_for_the_next_run(self):
        """What is not confined can write, and is found out."""
        result = self.evaluate(self.policy(before="open('notes', 'w').write('of this run')"), trusted=True)
        self.assert_fails(result, "it left files for a later run: notes")


@unittest.skipUnless(CONFINES, "this program cannot confine a policy")
class ConfinedTest(Evaluated):
    """What only confinement prevents."""

    def probe(self, *lines):
        """Evaluates a policy that runs these lines, and ends with CAUGHT unless one of them fails with an OSError."""
        self.assert_gets_nothing(self.evaluate(self.policy(before="\n".join(
            ["try:", *(f"    {line}" for line in lines), "except OSError: pass", f"else: os._exit({CAUGHT})"]))))

    def test_it_reads_no_workload(self):
        for path in (self.suite / "small.toml", suites.find("held-out").workloads[0]):
            self.probe(f"open({str(path)!r}).read()")

    def test_it_reads_nothing_of_the_process_that_evaluates(self):
        self.assert_gets_nothing(self.evaluate(self.policy(before=textwrap.dedent(f"""\
            for name in os.listdir('/proc'):
                for kind in ('cmdline', 'environ', 'maps', 'fd'):
                    try: text = ' '.join(os.listdir(f'/proc/{{name}}/fd')) if kind == 'fd' else open(f'/proc/{{name}}/{{kind}}').read()
                    except (OSError, ValueError): continue
                    if 'evaluate' in text or 'seed' in text or {str(self.suite)!r} in text: os._exit({CAUGHT})
            """))))
        self.probe("if os.path.exists('/proc/%d/cmdline'): pass\n    else: raise OSError" % os.getpid())

    def test_it_writes_nothing_that_stays(self):
        target = self.directory / "result"
        target.write_text("1")
        self.probe(f"open({str(target)!r}, 'w').write('2')")
        self.assertEqual(target.read_text(), "1")
        self.probe("os.chmod(__file__, 0o777)", "open(__file__, 'a').write('#')")
        for where in ("notes", "/tmp/millrace-notes", "/dev/shm/millrace-notes", "/var/tmp/millrace-notes"):
            # It is there neither for the next run nor for anybody else.
            self.assert_gets_nothing(self.evaluate(self.policy(before=textwrap.dedent(f"""\
                if os.path.exists({where!r}): os._exit({CAUGHT})
                try: open({where!r}, 'w').write('of this run')
                except OSError: pass
                """))))
            self.assertFalse(Path(where).exists())

    def test_it_opens_no_socket(self):
        self.probe("import socket", "socket.socket()")
        self.probe("import socket", "socket.socket(socket.AF_UNIX).bind(b'\\0millrace-notes')")

    def test_it_ends_nobody(self):
        self.probe("import signal", "os.kill(os.getppid(), 0)")
        self.probe("import signal", f"os.kill({os.getpid()}, 0)")

    def test_a_daemon_of_it_ends(self):
        marker = f"millrace-test-{os.getpid()}"
        self.evaluate(self.policy(before=textwrap.dedent(f"""\
            try:
                if os.fork() == 0:
                    os.setsid()
                    if os.fork() == 0: os.execv(sys.executable, [sys.executable, "-c", "import time; time.sleep(600)", {marker!r}])
                    os._exit(0)
            except OSError: pass
            """)))
        until = time.monotonic() + 10  # the kernel ends a namespace in its own time
        while True:
            found = [name for name in os.listdir("/proc") if name.isdigit() and marker.encode() in _read(f"/proc/{name}/cmdline").split(b"\0")]
            if not found or time.monotonic() > until:
                break
        self.assertEqual(found, [])


def _read(path):
    try:
        return Path(path).read_bytes()
    except OSError:
        return b""


def ended(pid):
    """Whether a process has ended, or only waits to be reaped."""
    stat = _read(f"/proc/{pid}/stat")
    return not stat or stat[stat.rindex(b")") + 2 :].split()[0] in (b"Z", b"X")


if __name__ == "__main__":
    unittest.main()
