# SPDX-License-Identifier: Apache-2.0
"""The environment of Gymnasium over `millrace sim`. Takes MILLRACE_BIN, the program or its directory."""

import contextlib
import gc
import os
import select
import signal
import subprocess
import sys
import tempfile
import textwrap
import unittest
import warnings
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "client" / "python" / "examples" / "policies"
sys.path.insert(0, str(ROOT / "client" / "python" / "src"))

import millrace  # noqa: E402
from millrace import apart  # noqa: E402

try:
    import numpy
    from gymnasium.utils.env_checker import check_env
    from millrace.gym import FEATURES, SlotEnv
except ImportError as error:
    MISSING = str(error)
else:
    MISSING = "" if os.environ.get("MILLRACE_BIN") else "MILLRACE_BIN names no program"

TOY = EXAMPLES / "toy.toml"


def column(observation, name):
    return observation[:, FEATURES.index(name)]


def first(observation, mask):
    """The job that was submitted first of those that may take the slot: fifo."""
    return int(mask.argmax())


def smallest(observation, mask):
    return int(numpy.where(mask == 1, column(observation, "maps_pending"), 9).argmin())


def play(env, seed, agent=first):
    """The rewards of an episode, the infos, and the last five of step()."""
    observation, info = env.reset(seed=seed)
    rewards, infos = [], [info]
    while True:
        last = env.step(agent(observation, env.action_masks()))
        observation = last[0]
        rewards.append(last[1])
        infos.append(last[4])
        if last[2] or last[3]:
            return rewards, infos, last


@unittest.skipIf(MISSING, MISSING)
class SlotEnvTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = Path(directory.name)

    def env(self, workload=TOY, **how):
        env = SlotEnv(workload, **how)
        self.addCleanup(env.close)
        return env

    def write(self, text):
        path = self.directory / "w.toml"
        path.write_text(textwrap.dedent(text))
        return path

    def test_gymnasium_is_content(self):
        for jobs in (1, 3, 16):
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                check_env(self.env(jobs=jobs), skip_render_check=True)

    def test_the_first_job_is_fifo_and_the_return_is_minus_the_turnarounds(self):
        """However many of the jobs are in view."""
        for seed, jobs, tick in ((1, 16, 1.0), (2, 16, 0.1), (3, 2, 5.0), (4, 1, 1000.0)):
            with self.subTest(seed=seed, jobs=jobs):
                rewards, infos, last = play(self.env(jobs=jobs, tick=tick), seed)
                theirs = [job["turnaround"] for job in millrace.simulate("fifo", TOY, seed=seed).jobs]
                self.assertEqual(infos[-1]["turnarounds"], theirs)
                self.assertAlmostEqual(sum(rewards), -sum(theirs), places=3)
                self.assertEqual(last[2:4], (True, False))
                self.assertFalse(any(info.get("replaced") for info in infos))

    def test_rewards_are_the_jobs_in_the_system_over_time(self):
        """Against the times of the simulator: a step's reward differs from the integral by no more than a tick for each job that ends."""
        rewards, infos, _ = play(self.env(tick=0.05), 5)
        jobs = millrace.simulate("fifo", TOY, seed=5).jobs
        times = [0.0, *(info["now"] for info in infos[1:])]
        for reward, begin, end in zip(rewards, times, times[1:]):
            expected = sum(max(0.0, min(end, job["end"]) - max(begin, job["submit"])) for job in jobs)
            ended = sum(begin - 0.05 <= job["end"] <= end for job in jobs)
            self.assertLessEqual(abs(reward + expected), 0.05 * ended + (0.05 * len(jobs) if reward is rewards[-1] else 1e-6), (begin, end))

    def test_another_agent_is_another_scheduler(self):
        env = self.env()
        self.assertGreater(sum(play(env, 1, smallest)[0]), sum(play(env, 1)[0]))

    def test_what_is_seen(self):
        env = self.env(self.write("""\
            [cluster]
            nodes = 1
            map_slots = 2
            reduce_slots = 1
            [[jobs]]
            name = "a"
            maps = 3
            map_time = 10
            reduces = 1
            reduce_time = 5
            [[jobs]]
            name = "b"
            maps = 1
            map_time = 10
            reduces = 0
            """), jobs=3)
        observation, info = env.reset(seed=9)
        self.assertEqual((info["seed"], list(env.action_masks())), (9, [1, 1, 0]))
        self.assertEqual(list(column(observation, "there")), [1, 1, 0])
        self.assertEqual(list(column(observation, "map")), [1, 1, 0])
        numpy.testing.assert_allclose(column(observation, "maps_pending"), numpy.log1p([3, 1, 0]) / 10, rtol=1e-6)
        numpy.testing.assert_allclose(column(observation, "work"), numpy.log1p([4, 1, 0]) / 15, rtol=1e-6)
        observation, reward, terminated, truncated, info = env.step(1)
        self.assertEqual((reward, terminated, truncated, info["replaced"]), (0, False, False, False))
        self.assertEqual(list(env.action_masks()), [1, 0, 0])
        numpy.testing.assert_allclose(column(observation, "share"), [0, 0.5, 0])
        _, _, _, _, info = env.step(2)
        self.assertTrue(info["replaced"])
        kinds, done = [], False
        while not done:
            observation, _, terminated, truncated, info = env.step(0)
            done = terminated or truncated
            kinds.append(list(column(observation, "map")))
        self.assertEqual(kinds, [[1, 0, 0], [0, 0, 0], [0, 0, 0]])  # the third map, then the reduce, then the end
        self.assertEqual(list(env.action_masks()), [0, 0, 0])
        self.assertFalse(observation.any())
        with self.assertRaisesRegex(millrace.UsageError, "the episode is over"):
            env.step(0)

    def test_seeds(self):
        env = self.env()
        self.assertEqual(play(env, 3)[0], play(env, 3)[0])
        drawn = []
        for _ in range(2):
            env.reset(seed=3)
            drawn.append([env.reset()[1]["seed"] for _ in range(3)])
        self.assertEqual(drawn[0], drawn[1])
        self.assertEqual(len(set(drawn[0])), 3)

    def test_a_workload_that_stops_is_truncated(self):
        path = self.write(TOY.read_text().replace('name = "toy"', "stop_at = 40", 1))
        rewards, infos, last = play(self.env(path, tick=0.1), 1)
        self.assertEqual(last[2:4], (False, True))
        jobs = millrace.simulate("fifo", path, seed=1).jobs
        spent = sum((job["end"] if job["end"] != "" else 40) - job["submit"] for job in jobs if job["submit"] != "" and job["submit"] < 40)
        self.assertAlmostEqual(-sum(rewards), spent, delta=0.1 * len(jobs))
        self.assertLess(len(infos[-1]["turnarounds"]), len(jobs))

    def test_what_is_wrong_is_said_and_leaves_nobody(self):
        with self.assertRaisesRegex(millrace.UsageError, "there is no workload"):
            SlotEnv("nowhere.toml")
        with self.assertRaisesRegex(millrace.UsageError, "a job at least"):
            SlotEnv(TOY, jobs=0)
        env = self.env(self.write("[cluster]\nnoodles = 3\n"))
        with self.assertRaisesRegex(millrace.CommandFailed, "noodles"):
            env.reset(seed=1)
        env = self.env()
        with self.assertRaisesRegex(millrace.UsageError, "reset"):
            env.step(0)
        env.reset(seed=1)
        with self.assertRaisesRegex(millrace.UsageError, "is no action"):
            env.step(99)
        env.close()
        self.assertEqual(apart.descendants(os.getpid()), [])

    def test_a_simulation_that_is_killed(self):
        env = self.env()
        env.reset(seed=1)
        with self.assertRaises(millrace.CommandFailed):
            for number in range(1000):
                if number == 3:
                    for pid in apart.descendants(os.getpid()):
                        with contextlib.suppress(ProcessLookupError):  # it ends with another of them
                            os.kill(pid, signal.SIGKILL)
                env.step(0)
        self.assertEqual(apart.descendants(os.getpid()), [])

    def test_nothing_is_left(self):
        patched = mock.patch.object(tempfile, "tempdir", str(self.directory))
        patched.start()
        self.addCleanup(patched.stop)
        for end in ("close", "collect", "reset"):
            with self.subTest(end=end):
                env = SlotEnv(TOY)
                env.reset(seed=1)
                env.step(0)
                processes = apart.descendants(os.getpid())
                self.assertGreaterEqual(len(processes), 3)
                if end == "reset":
                    env.reset(seed=2)
                    self.assertFalse(set(processes) & set(apart.descendants(os.getpid())))
                    env.close()
                elif end == "close":
                    env.close()
                    env.close()
                del env
                gc.collect()
                self.assertEqual(apart.descendants(os.getpid()), [])
        self.assertEqual(os.listdir(self.directory), [])

    def test_nobody_is_left_by_a_process_that_ends(self):
        script = textwrap.dedent("""\
            import os, sys, time
            from millrace import apart
            from millrace.gym import SlotEnv
            env = SlotEnv(sys.argv[1])
            env.reset(seed=1)
            print(*apart.descendants(os.getpid()), flush=True)
            if sys.argv[2] == "exit": sys.exit()
            if sys.argv[2] == "raise": raise KeyError(1)
            while True:
                if env.step(0)[2]: env.reset(seed=1)
            """)
        for how in ("exit", "raise", "SIGINT", "SIGKILL"):
            with self.subTest(how=how), subprocess.Popen(
                [sys.executable, "-c", script, str(TOY), how], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                env={**os.environ, "PYTHONPATH": str(ROOT / "client/python/src")}) as started:
                pids = [int(pid) for pid in started.stdout.readline().split()]
                self.assertGreaterEqual(len(pids), 3)
                fds = [os.pidfd_open(pid) for pid in pids if Path(f"/proc/{pid}").exists()]
                if how.startswith("SIG"):
                    started.send_signal(getattr(signal, how))
                started.wait(60)
                for fd in fds:
                    ready = select.select([fd], [], [], 60)[0]
                    os.close(fd)
                    self.assertTrue(ready, how)

    def test_the_example_learns(self):
        """Seconds of learning are enough to be better than fifo over seeds that it has not seen."""
        sys.path.insert(0, str(EXAMPLES))
        self.addCleanup(sys.path.remove, str(EXAMPLES))
        import learn

        env = self.env(jobs=16)
        weights = learn.learn(env, rounds=4, population=12, episodes=2, chance=numpy.random.default_rng(1), say=lambda text: None)
        mine = sum(learn.play(env, weights, seed) for seed in range(100, 105))
        theirs = sum(millrace.simulate("fifo", TOY, seed=seed).summary["mean_turnaround"] for seed in range(100, 105))
        self.assertLess(mine, theirs)


if __name__ == "__main__":
    unittest.main()
