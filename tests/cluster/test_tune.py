# SPDX-License-Identifier: Apache-2.0
"""`millrace tune` over what a real cluster has done: applied, and undone."""

import json
import os
import stat
import unittest

from cluster import Cluster, await_line

BEFORE = "# What we agreed on in May.\n[mlq]\nsmall_job_maps = 1\n"


class Tune(unittest.TestCase):
    def start(self, text=None):
        """A cluster under mlq; with a text, it has a scheduler file."""
        cluster = Cluster(workers=2, map_slots=2, settings=["master.scheduler=mlq"])
        self.file = cluster.path("scheduler.toml")
        if text is not None:
            with open(self.file, "w", encoding="utf-8") as f:
                f.write(text)
            os.chmod(self.file, 0o640)
            cluster.settings.append(f"master.scheduler_file={self.file}")
        cluster.__enter__()
        self.addCleanup(cluster.__exit__, None, None, None)
        return cluster

    def work(self, cluster):
        """Under mlq jobs of 4 maps share the large queue with those of 24, and so wait for them."""
        submitted = []
        for _ in range(6):
            for user, maps, time in (("big", 24, "300ms"), *[("small", 4, "50ms")] * 4):
                words = ("-o", f"/out{len(submitted)}", "--user", user, "--detach", "-D", f"input.maps={maps}", "-D", f"sleep.map_time={time}")
                submitted.append(cluster.run("run", "sleep", *words, "--reducers", "0")[0].decode().split()[-1])
        for job in submitted:
            cluster.run("job", "wait", job)

    def scheduler(self, cluster):
        return json.loads(cluster.run("scheduler", "show", "--json")[0])["name"]

    def test_settings_are_applied_and_put_back(self):
        cluster = self.start(BEFORE)
        file, log = self.file, cluster.path("master.log")
        self.work(cluster)
        self.assertIn(b"fewer than 20", cluster.run("tune", "--since", "1ms")[0])
        at = cluster.path("tuned")
        words = ("--scheduler", "mlq", "--goal", "turnaround", "--tries", "16", "--repeat", "8")
        seen = os.path.getsize(log)
        tuned = json.loads(cluster.run("tune", *words, "-o", at, "--apply", "--json")[0])
        self.assertEqual((tuned["tuning"], tuned["applied"], tuned["in_force"], tuned["jobs"]), ("change", True, "mlq", 30))
        self.assertIsNotNone(tuned["model"])
        with open(file, encoding="utf-8") as f:
            self.assertIn(dict(one.split("=") for one in next(row for row in tuned["front"] if row["label"] == tuned["chosen"])["set"])["mlq.small_job_maps"],
                          next(line for line in f if line.startswith("small_job_maps")))
        self.assertEqual(stat.S_IMODE(os.stat(file).st_mode), 0o640)
        await_line(log, b"is in force", seen)  # the master has taken it up
        # What somebody has written since is not undone with it.
        with open(file, encoding="utf-8") as f:
            applied = f.read()
        with open(file, "w", encoding="utf-8") as f:
            f.write(applied + "\n[las]\nquantum = \"5s\"\n")
        self.assertIn(b"is not the one that was written, so it was changed since", cluster.run("tune", "--undo", at, status=2)[1])
        with open(file, "w", encoding="utf-8") as f:
            f.write(applied)
        said = cluster.run("tune", "--undo", at)[0].decode()
        self.assertEqual(said, f"Undone: mlq is in force again, with the scheduler file {file} as it was.\n")
        with open(file, encoding="utf-8") as f:
            self.assertEqual(f.read(), BEFORE)
        self.assertEqual(stat.S_IMODE(os.stat(file).st_mode), 0o640)
        self.assertIn(b"nothing was applied", cluster.run("tune", "--undo", at, status=1)[1])

    def test_a_scheduler_is_applied_and_put_back_unless_somebody_changed_it(self):
        cluster = self.start()
        self.work(cluster)
        at = cluster.path("tuned")
        words = ("--scheduler", "sjf", "--goal", "turnaround", "--repeat", "8", "-o", at)
        said = cluster.run("tune", *words, "--apply")[0].decode()
        self.assertIn(f"Applied: sjf. `millrace tune --undo {at}` goes back.", said)
        self.assertEqual(self.scheduler(cluster), "sjf")
        self.assertIn(b"was applied, and not undone", cluster.run("tune", *words, "--force", status=1)[1])
        cluster.run("scheduler", "set", "fair")
        self.assertIn(b"the scheduler is fair and not sjf", cluster.run("tune", "--undo", at, status=2)[1])
        self.assertEqual(self.scheduler(cluster), "fair")
        cluster.run("scheduler", "set", "sjf")
        self.assertEqual(cluster.run("tune", "--undo", at)[0], b"Undone: mlq is in force again.\n")
        self.assertEqual(self.scheduler(cluster), "mlq")
        # Settings of a master that has no file for them are for people to put in force.
        refused = cluster.run("tune", "--scheduler", "mlq", "--goal", "turnaround", "--tries", "16", "--repeat", "8", "-o", cluster.path("other"), "--apply", status=2)
        self.assertIn(b"the master has no scheduler file", refused[1])
        self.assertEqual(self.scheduler(cluster), "mlq")
        self.assertIn(b"needs -o DIR", cluster.run("tune", "--apply", status=2)[1])
        self.assertIn(b"goes with nothing else", cluster.run("tune", "--undo", at, "--json", status=2)[1])


if __name__ == "__main__":
    unittest.main()
