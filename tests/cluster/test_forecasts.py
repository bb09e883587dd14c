# SPDX-License-Identifier: Apache-2.0
"""When jobs start and end: what is said before anything is known, after equal jobs have ended, of jobs that wait for somebody or something,
and after the scheduler, a worker and the master have changed."""

import json
import re
import time
import unittest

from cluster import LIMIT_SECONDS, Cluster
from test_terminal import Terminal

JOBS = 26
EARLIER = 24


class ForecastsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(workers=2, map_slots=1, reduce_slots=1, settings=["master.heartbeat=100ms", "master.lost_after=2s", "master.disconnect_grace=500ms", "master.scheduler=fifo"])
        cls.cluster.__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.cluster.__exit__(None, None, None)

    def sleep(self, name, maps, millis, *more):
        out = self.run_text("run", "sleep", "-o", f"/out/{name}", "--detach", "-D", f"input.maps={maps}", "-D", f"sleep.map_time={millis}ms", "--reducers", "0", *more)
        return re.search(r"\d+", out).group()

    def run_text(self, *args):
        return self.cluster.run(*args)[0].decode()

    def status(self, job):
        return json.loads(self.run_text("job", "status", job, "--json"))

    def told(self, job):
        """Returns what is said of the job once anything is, since a play is made at most once a second."""
        until = time.monotonic() + LIMIT_SECONDS
        while time.monotonic() < until:
            status = self.status(job)
            if status["foretold"] or status["ended_at"]:
                return status
            time.sleep(0.05)
        self.fail("nothing is said of the job")

    def test_a_cluster_that_learns(self):
        first = self.sleep("first", 2, 4000)
        told = self.told(first)["foretold"]
        self.assertIsNone(told["end"]["at"])
        self.assertEqual(told["end"]["why"], "no task has ended yet that would show how long tasks take")
        self.assertIn("when it is done is unknown: no task has ended yet", self.run_text("job", "status", first))
        self.cluster.run("job", "wait", first)

        # The program is known now, though not yet how sure that is.
        second = self.sleep("second", 2, 4000)
        told = self.told(second)["foretold"]
        self.assertIsNotNone(told["end"]["at"])
        self.assertEqual(told["end"]["intervals"], [])
        self.assertIn("is not known yet", self.run_text("job", "status", second))
        self.cluster.run("job", "wait", second)

        jobs = [self.sleep(f"j{i}", 2, 1200) for i in range(JOBS)]
        for job in jobs[:EARLIER]:
            self.cluster.run("job", "list", "--start", "--json")
            self.cluster.run("job", "wait", job)
        late = self.sleep("late", 2, 1200)
        after = self.sleep("after", 2, 1200)
        status = self.told(after)
        said = status["foretold"]
        self.assertIsNotNone(said["start"]["at"])
        self.assertGreaterEqual(said["start"]["at"], said["made_at"])
        self.assertGreaterEqual(said["end"]["at"], said["start"]["at"])
        self.assertGreaterEqual(said["end"]["records"], 20)
        self.assertEqual([i["percent"] for i in said["end"]["intervals"]], [50, 80, 90])
        for interval in said["end"]["intervals"]:
            self.assertLessEqual(interval["from_at"], interval["to_at"])
        self.assertRegex(self.run_text("job", "status", after), r"likely (starts|done) \d\d:\d\d")
        self.assertIn("DONE (UTC)", self.run_text("job", "list", "--start", "--live"))
        self.cluster.run("job", "wait", late, after)
        self.assertIsNone(self.status(after)["foretold"])
        self.waits_for_a_job_that_is_released()

        # What was learnt of statements survives the master.
        self.cluster.stop_master()
        self.cluster.start_master()
        again = self.sleep("again", 4, 3000)
        said = self.told(again)["foretold"]
        self.assertGreaterEqual(said["end"]["records"], 20)
        self.cluster.run("job", "wait", again)

    def waits_for_a_job_that_is_released(self):
        """Who waits for a job is told when it will start once it is released, in a pipe and on one line of a terminal."""
        busy = self.sleep("busy", 8, 2000)
        held = self.sleep("let-go", 2, 1200)
        self.cluster.run("job", "hold", held)
        waiter = self.cluster.start("job", "wait", held)
        self.assertIn(b"is held", waiter.stderr.readline())
        terminal = Terminal(self.cluster.environment(), 80, "job", "wait", held)
        terminal.until(b"is held")
        self.cluster.run("job", "release", held)
        self.assertTrue(any(re.search(rf"^job{held}: likely starts .*; likely done .* \(UTC\)\n$", line.decode()) for line in waiter.stderr))
        terminal.until(b"likely starts ")
        terminal.until(b"\x1b[K")
        said = re.search(r"\r([^\r\x1b]*likely starts [^\r\x1b]*)\x1b", terminal.text.decode())
        self.assertRegex(said.group(1), r"likely starts [\d:]+, done [\d:]+ \(UTC\)$")
        self.assertLess(len(said.group(1)), 80)
        self.cluster.run("job", "wait", busy)
        self.assertEqual(terminal.end()[0], 0)
        waiter.communicate(timeout=LIMIT_SECONDS)
        self.assertEqual(waiter.returncode, 0)

    def until_told(self, job, said):
        """Returns the first statement of the job for which `said` holds."""
        until = time.monotonic() + LIMIT_SECONDS
        told = None
        while time.monotonic() < until:
            told = self.status(job)["foretold"]
            if told and said(told):
                return told
            time.sleep(0.05)
        self.fail(f"at last this was said of job{job}: {told}")

    def knows(self, told):
        return told["start"] is not None and told["start"]["at"] is not None and told["end"]["at"] is not None

    def test_jobs_that_wait_for_somebody_or_something(self):
        known = self.sleep("known", 2, 100)
        self.cluster.run("job", "wait", known)
        blocker = self.sleep("blocker", 2, 3_600_000)
        held = self.sleep("held", 1, 100)
        self.until_told(held, self.knows)
        self.cluster.run("job", "hold", held)
        after = self.sleep("chained", 1, 100, "--after", blocker)
        for job, why in ((held, f"it is held, until `millrace job release {held}`"), (after, f"it waits for job{blocker} to succeed")):
            told = self.status(job)["foretold"]
            for time_of in ("start", "end"):
                self.assertIsNone(told[time_of]["at"])
                self.assertEqual(told[time_of]["why"], why)
                self.assertEqual(told[time_of]["intervals"], [])
            shown = self.run_text("job", "status", job)
            self.assertIn("\n  when it starts and is done is unknown\n", shown)
            self.assertEqual(shown.count(why.removeprefix("it ")), 1, "the reason is told once")
            listed = [j for j in json.loads(self.run_text("job", "list", "--start", "--live", "--json")) if j["job"] == int(job)]
            self.assertEqual(listed[0]["foretold"]["start"]["why"], why)
        self.cluster.run("job", "release", held)
        told = self.until_told(held, self.knows)
        self.assertGreaterEqual(told["start"]["at"], told["made_at"])
        self.assertLessEqual(told["start"]["at"], told["end"]["at"])
        self.cluster.run("job", "kill", blocker)
        self.cluster.run("job", "wait", held)
        # The job that was to follow the killed one fails, and nothing is said of it any more.
        self.assertIsNone(self.until(after, lambda status: status["ended_at"])["foretold"])

    def until(self, job, said):
        deadline = time.monotonic() + LIMIT_SECONDS
        while not said(status := self.status(job)):
            self.assertLess(time.monotonic(), deadline, status)
        return status

    def test_what_would_help(self):
        """One slot of the two is busy for an hour, the other one for two hours, and a long job waits before a short one."""
        busy = [self.sleep(f"busy{i}", 1, 3_600_000, "--map-time", f"{i}h", "--priority", "VERY_HIGH") for i in (1, 2)]
        for job in busy:
            self.until(job, lambda status: status["maps"]["running"] == 1)
        long = self.sleep("long", 2, 3_600_000, "--map-time", "2h", "--pool", "web")
        short = self.sleep("short", 1, 100, "--map-time", "60s", "--pool", "ads")
        why = json.loads(self.run_text("job", "why", short, "--json", "--under", "fair"))
        self.assertIsNone(why["problem"])
        self.assertEqual([ahead["job"] for ahead in why["ahead"]], [int(job) for job in (*busy, long)])
        tried = {(change["kind"], change["name"]): change for change in why["tried"]}
        self.assertEqual(set(tried), {("priority", "HIGH"), ("priority", "VERY_HIGH"), ("pool", "web"), ("pool", self.pool_of(busy[0])), ("node", None),
                                      ("scheduler", "fair")})
        # As things stand the short one comes after both maps of the long one, when the first of them ends: at 3 h. With a priority above
        # that of the long one it is first, at 1 h, and the long one's first map begins a minute later.
        begun = why["made_at"]
        self.assertAlmostEqual(why["start_at"] - begun, 3 * 3600, delta=60)
        for priority in ("HIGH", "VERY_HIGH"):
            high = tried["priority", priority]
            self.assertTrue(high["helps"])
            self.assertAlmostEqual(high["start_at"] - begun, 3600, delta=60)
            self.assertAlmostEqual(high["ends_earlier_s"], 2 * 3600, delta=60)
        # The long one's second map, which is its last, begins when the two hours are over, with or without that minute.
        self.assertEqual(high["later"], [])
        node = tried["node", None]
        self.assertTrue(node["helps"])
        self.assertEqual((node["map_slots"], node["reduce_slots"]), (1, 1))
        # The new slot takes the long one's first map at once, that of an hour its second, and that of two hours the short one.
        self.assertAlmostEqual(node["start_at"] - begun, 2 * 3600, delta=60)
        self.assertEqual(node["later"], [])
        self.assertFalse(tried["pool", "web"]["helps"], "fifo knows no pools")
        self.assertTrue(tried["scheduler", "fair"]["helps"])
        text = self.run_text("job", "why", short)
        self.assertRegex(text, r"ahead of it: job\d+ \(done .*\), job\d+ \(done .*\), job\d+ \(done ")
        self.assertRegex(text, r"  what would help:\n    priority HIGH \(no more with VERY_HIGH\): starts (2 h|1 h 59 min).* earlier, is done (2 h|1 h 59 min).* earlier; no other job ends later")
        self.assertNotIn("    priority VERY_HIGH", text)
        self.assertRegex(text, r"one node more \(1 map slot, 1 reduce slot\): starts ")
        self.assertRegex(text, r"would not end it earlier: .*--pool web")
        self.assertIn("(UTC); `millrace job status` corrects such times by how far off earlier ones were\n", text)
        self.refuses_nonsense(short)
        self.cluster.run("job", "hold", short)
        self.refuses_nonsense(short)
        self.assertIn(f"what would help cannot be tried: it is held, until `millrace job release {short}`", self.run_text("job", "why", short))
        ran = self.run_text("job", "why", busy[0])
        self.assertNotIn("ahead of it", ran)
        for job in (short, long, *busy):
            self.cluster.run("job", "kill", job)
        self.assertIn("it has ended", self.run_text("job", "why", short))
        self.refuses_nonsense(short)

    def refuses_nonsense(self, job):
        _, said = self.cluster.run("job", "why", job, "--under", "fair", "--under", "NONSENSE", status=2)
        self.assertIn(b'millrace: job why: no scheduler is called "NONSENSE"; there is: fifo, capacity, ', said)

    def pool_of(self, job):
        return json.loads(self.run_text("job", "status", job, "--json"))["pool"]

    def test_z_what_changes_in_between(self):
        known = self.sleep("before", 2, 100)
        self.cluster.run("job", "wait", known)
        blockers = [self.sleep(f"block{i}", 1, 3_600_000) for i in range(2)]
        waiting = self.sleep("waits", 1, 100)
        made = self.until_told(waiting, self.knows)["made_at"]
        other = self.sleep("other", 1, 100)
        for _ in range(3):
            for change in (("job", "priority", waiting, "HIGH"), ("job", "hold", other), ("job", "release", other), ("job", "priority", waiting, "NORMAL")):
                before = time.time()
                self.cluster.run(*change)
                told = self.status(waiting)["foretold"]
                self.assertTrue(self.knows(told))
                self.assertGreater(told["made_at"], before, change)
        self.cluster.run("job", "kill", other)
        for change in (self.set_scheduler, self.lose_worker, self.lose_master):
            change()
            made = self.until_told(waiting, lambda told: self.knows(told) and told["made_at"] > made)["made_at"]
        for job in blockers:
            self.cluster.run("job", "kill", job)
        self.cluster.run("job", "wait", waiting)
        # With a job on its way, and a question perhaps on its way to the other thread, the master stops as it should.
        self.sleep("last", 4, 1000)
        self.assertEqual(self.cluster.stop_master(), 0)
        self.cluster.start_master()

    def set_scheduler(self):
        self.cluster.run("scheduler", "set", "fair")

    def lose_worker(self):
        self.cluster.kill_worker(1)
        while len([n for n in json.loads(self.run_text("node", "list", "--json")) if n["state"] == "alive"]) > 1:
            time.sleep(0.05)

    def lose_master(self):
        self.cluster.kill_master()
        self.cluster.start_master()


if __name__ == "__main__":
    unittest.main()
