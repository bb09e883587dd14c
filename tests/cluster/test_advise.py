# SPDX-License-Identifier: Apache-2.0
"""`millrace advise` over what a real cluster has done."""

import json
import statistics
import tomllib
import unittest

from cluster import Cluster

JOBS = 24


class Advise(unittest.TestCase):
    def test_a_clusters_own_history(self):
        with Cluster(workers=2, map_slots=2, settings=["master.scheduler=fifo"]) as cluster:
            def advise(*words):
                return json.loads(cluster.run("advise", "--json", *words)[0])

            none = advise()
            self.assertEqual((none["advice"], "0 jobs" in none["why"]), ("none", True))
            # One job that fills the cluster, and small ones behind it, all at once.
            submitted = []

            def submit(user, maps, map_time):
                words = ("-o", f"/out{len(submitted)}", "--user", user, "--detach", "-D", f"input.maps={maps}", "-D", f"sleep.map_time={map_time}")
                submitted.append(cluster.run("run", "sleep", *words, "--reducers", "0")[0].decode().split()[-1])

            submit("big", 24, "300ms")
            for _ in range(3):
                submit("small", 1, "50ms")
            few = advise()
            self.assertEqual((few["advice"], "4 jobs" in few["why"]), ("none", True))
            for _ in range(JOBS - 4):
                submit("small", 1, "50ms")
            for job in submitted:
                cluster.run("job", "wait", job)
            jobs = json.loads(cluster.run("job", "list", "--json")[0])
            self.assertEqual(len(jobs), JOBS)
            advice = advise("--since", "1h", "--scheduler", "fair,sjf", "--repeat", "8")
            self.assertEqual((advice["in_force"], advice["jobs"], advice["runs"], advice["redrawn"]), ("fifo", JOBS, 8, True))
            self.assertEqual(advice["findings"]["schedulers"], ["fifo", "fair", "sjf"])
            self.assertFalse(advice["slots_cost_nothing"])
            # What the cluster really took is what the master says of its jobs.
            live = statistics.fmean(job["ended_at"] - job["submitted_at"] for job in jobs)
            self.assertAlmostEqual(advice["model"]["live"], live, places=3)
            # Fairness is a mean over samples, which are as close in what happened as in the simulation.
            self.assertGreater(advise("--goal", "fairness", "--scheduler", "fair", "--repeat", "8")["model"]["live"], 0)
            said = cluster.run("advise", "--scheduler", "fair,sjf", "--repeat", "8")[0].decode()
            self.assertIn(f"the last 24h: {JOBS} jobs of ", said)
            self.assertIn("The simulator gives ", said)
            # The settings in force are those of the master.
            cluster.run("scheduler", "set", "fair")
            kept = advise("--scheduler", "fifo", "--repeat", "8")
            self.assertEqual((kept["in_force"], kept["advice"]), ("fair", "keep"))
            self.assertEqual(advise("--since", "1ms")["advice"], "none")
            self.assertEqual(cluster.run("advise", "--goal", "deadlines", status=2)[1].count(b"\n"), 1)


    def test_a_history_knows_what_tasks_need_of_the_cores(self):
        # Sixteen maps at once on two workers of one machine. Each needs a core all the time, and waits for one where there are
        # fewer than sixteen: that is no part of what it needs.
        with Cluster(workers=2, map_slots=8) as cluster:
            with open(cluster.path("lines"), "w", encoding="ascii") as lines:
                lines.write(("x" * 99 + "\n") * 1000)
            for i in range(16):
                cluster.run("fs", "put", cluster.path("lines"), f"/lines/{i:02}")
            cluster.run("run", "loadgen", "/lines", "-o", "/out", "-D", "loadgen.map_work=100000", "--reducers", "1")
            cluster.run("run", "sleep", "-o", "/slept", "-D", "input.maps=4", "-D", "sleep.map_time=1s", "--reducers", "0")
            exported = tomllib.loads(cluster.run("history", "export")[0].decode())
            nodes, (busy, asleep) = exported["cluster"]["groups"], exported["jobs"]
            self.assertEqual(len(nodes), 2)
            self.assertGreater(nodes[0]["cores"], 0)
            for key in ("cores", "machine"):
                self.assertEqual(nodes[0].get(key), nodes[1].get(key))
            self.assertGreater(exported["cluster"]["process_start"], 0)
            self.assertGreater(busy["map_cores"], 0.5, exported)
            self.assertLess(busy["map_cores"], 1.5, exported)
            self.assertLess(asleep["map_cores"], 0.5, exported)
            self.assertGreaterEqual(asleep["map_time"], 1)
            attempts = [line for line in cluster.run("job", "history", "1")[0].decode().splitlines() if "AttemptSucceeded" in line]
            self.assertEqual(len(attempts), 17)
            self.assertTrue(all(" cpu=" in line for line in attempts), attempts)


if __name__ == "__main__":
    unittest.main()
