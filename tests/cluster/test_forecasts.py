# SPDX-License-Identifier: Apache-2.0
"""When jobs start and end: what is said before anything is known, after equal jobs have ended, and after a restart."""

import json
import re
import time
import unittest

from cluster import LIMIT_SECONDS, Cluster

JOBS = 26
EARLIER = 24


class ForecastsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(workers=2, map_slots=1, reduce_slots=1, settings=["master.heartbeat=100ms", "master.scheduler=fifo"])
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
        self.assertIn("its end is unknown: no task has ended yet", self.run_text("job", "status", first))
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
        self.assertGreater(said["start"]["at"], said["made_at"])
        self.assertGreater(said["end"]["at"], said["start"]["at"])
        self.assertGreaterEqual(said["end"]["records"], 20)
        self.assertEqual([i["percent"] for i in said["end"]["intervals"]], [50, 80, 90])
        for interval in said["end"]["intervals"]:
            self.assertLessEqual(interval["from_at"], interval["to_at"])
        self.assertRegex(self.run_text("job", "status", after), r"likely (starts|done) \d\d:\d\d")
        self.assertIn("DONE (UTC)", self.run_text("job", "list", "--start", "--live"))
        self.cluster.run("job", "wait", late, after)
        self.assertIsNone(self.status(after)["foretold"])

        # What was learnt of statements survives the master.
        self.cluster.stop_master()
        self.cluster.start_master()
        again = self.sleep("again", 4, 3000)
        said = self.told(again)["foretold"]
        self.assertGreaterEqual(said["end"]["records"], 20)
        self.cluster.run("job", "wait", again)


if __name__ == "__main__":
    unittest.main()
