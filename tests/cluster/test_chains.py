# SPDX-License-Identifier: Apache-2.0
"""Jobs after jobs, and jobs that are held, on real daemons: over kills of clients and of the master, a backup, and changes of the cluster."""

import collections
import csv
import io
import json
import os
import shutil
import subprocess
import tempfile
import unittest

from cluster import LIMIT_SECONDS, MILLRACE, Cluster, words
from secure_cluster import SecureCluster

FAST = ["master.heartbeat=100ms", "master.lost_after=2s", "master.disconnect_grace=500ms", "master.startup_grace=2s"]


class Chains(unittest.TestCase):
    def job(self, cluster, *args, **options):
        return int(cluster.run("run", *args, "--detach", **options)[0].split()[-1])

    def gated(self, cluster, output, *more):
        """A job of one map that runs until it is killed, or for an hour."""
        return self.job(cluster, "sleep", "-o", output, "-D", "input.maps=1", "-D", "sleep.map_time=1h", *more)

    def status(self, cluster, job):
        return json.loads(cluster.run("job", "status", str(job), "--json")[0])

    def until(self, cluster, job, said):
        """Asks until `said` holds of the job's status."""
        while True:
            status = self.status(cluster, job)
            if said(status):
                return status

    def counts(self, cluster, directory):
        return dict(line.split(b"\t") for part in cluster.output(directory).values() for line in part.splitlines())


class ChainTest(Chains):
    def test_a_chain_of_three_over_kills_of_the_client_and_of_the_master(self):
        text = words(7, 3000)
        with Cluster(workers=2, settings=[*FAST, "dfs.replication=1"]) as c:
            c.run("fs", "put", "-", "/text", input=text)
            # The first waits in the queue behind a job that has the slots, so that the others are there before it has run.
            blocker = self.job(c, "sleep", "-o", "/blocked", "-D", "input.maps=2", "-D", "sleep.map_time=1h", "--priority", "VERY_HIGH")
            self.until(c, blocker, lambda status: status["maps"]["running"] == 2)
            first = self.job(c, "wordcount", "/text", "-o", "/one", "-r", "2")
            client = c.start("run", "wordcount", "/one", "-o", "/two", "--after", str(first))
            while len(json.loads(c.run("job", "list", "--json")[0])) < 3:
                pass
            second = first + 1
            third = self.job(c, "grep", "/two", "-o", "/three", "-D", "grep.pattern=.+", "-D", "grep.lines=true", "-r", "0", "--after", f"job{second},{first}")
            client.kill()  # kill -9
            client.communicate()
            told = self.status(c, third)
            self.assertEqual((told["state"], told["reason"]), ("waiting", f"waits for job{first} and job{second} to succeed"))
            self.assertEqual((told["after"], told["waits_for"], told["queued_at"]), ([second, first], [first, second], None))
            waiting = c.run("job", "list", "--state", "waiting", "--format", "job,why", "--wide")[0].decode()
            self.assertIn(f"waits for job{first} to succeed", waiting)
            c.kill_master()
            c.start_master()
            self.assertEqual(self.status(c, second)["state"], "waiting")
            c.run("job", "kill", str(blocker))
            self.until(c, first, lambda status: status["state"] == "succeeded")
            c.kill_master()  # perhaps between the end of one and the start of the next
            c.start_master()
            waiter = c.start("job", "wait", str(third))
            self.until(c, second, lambda status: status["state"] == "succeeded")
            c.kill_master()
            c.start_master()
            out, said = waiter.communicate(timeout=LIMIT_SECONDS)
            self.assertEqual(waiter.returncode, 0, said)
            expected = collections.Counter(word for word in text.split())
            self.assertEqual(self.counts(c, "/one"), {word: b"%d" % count for word, count in expected.items()})
            self.assertEqual(self.status(c, third)["maps"]["total"], 1)
            # The second counts the words of the first one's lines: each word, and each count.
            again = collections.Counter(w for word, count in expected.items() for w in (word, b"%d" % count))
            self.assertEqual(self.counts(c, "/two"), {word: b"%d" % count for word, count in again.items()})
            lines = sorted(b"%s\t%d" % item for item in again.items())
            self.assertEqual(sorted(line for part in c.output("/three").values() for line in part.splitlines()), lines)
            # A replay of the journal decides the same.
            journal = c.path("journal")
            with open(journal, "wb") as file:
                file.write(c.run("job", "history")[0])
            c.run("sim", "--replay", journal)

    def test_run_waits_through_and_fails_with_those_before(self):
        with Cluster(workers=1, settings=[*FAST, "dfs.replication=1"]) as c:
            c.run("fs", "put", "-", "/text", input=b"a b a\n")
            gate = self.gated(c, "/gate")
            waits = c.start("run", "wordcount", "/gate", "-o", "/out", "--after", str(gate))
            any_end = c.start("run", "wordcount", "/text", "-o", "/any", "--after", str(gate), "--even-if-failed")
            while len(json.loads(c.run("job", "list", "--live", "--json")[0])) < 3:
                pass
            self.until(c, gate, lambda status: status["maps"]["running"] == 1)
            c.run("job", "kill", str(gate), "--reason", "enough")
            _, said = waits.communicate(timeout=LIMIT_SECONDS)
            self.assertEqual(waits.returncode, 1)
            self.assertIn(f"job{gate}, after which it was to run, was killed".encode(), said)
            any_end.communicate(timeout=LIMIT_SECONDS)
            self.assertEqual(any_end.returncode, 0)
            self.assertEqual(self.counts(c, "/any"), {b"a": b"2", b"b": b"1"})
            said = c.run("run", "wordcount", "/text", "-o", "/x", "--after", str(gate), status=1)[1]
            self.assertIn(b"--even-if-failed", said)
            for wrong in (("--after", "x"), ("--even-if-failed",), ("--after", "")):
                c.run("run", "wordcount", "/text", "-o", "/x", *wrong, status=2)
            self.assertIn(b"no such job", c.run("run", "wordcount", "/text", "-o", "/x", "--after", "99", status=1)[1])
            gate = self.gated(c, "/gate2")
            self.assertIn(b"looks at its input", c.run("run", "terasort", "/gate2", "-o", "/x", "--after", str(gate), status=1)[1])
            killed = self.job(c, "wordcount", "/gate2", "-o", "/killed", "--after", str(gate))
            for words, now in ((("hold", str(killed)), "is held until `millrace job release` lets it start"), (("release", str(killed)), "is no longer held"),
                               (("priority", str(killed), "LOW"), "has the priority LOW"), (("kill", str(killed)), "is killed")):
                self.assertEqual(c.run("job", *words)[0].decode(), f"job{killed} {now}\n")
            self.assertEqual(self.status(c, killed)["state"], "killed")
            c.run("job", "kill", str(gate))

    def test_changes_of_the_cluster_between_the_jobs(self):
        with Cluster(workers=2, settings=[*FAST, "dfs.replication=2"]) as c:
            c.run("fs", "put", "-", "/text", input=b"a b a\n" * 100)
            gate = self.job(c, "wordcount", "/text", "-o", "/one", "--hold")
            second = self.job(c, "wordcount", "/one", "-o", "/two", "--after", str(gate))
            third = self.job(c, "wordcount", "/two", "-o", "/three", "--after", str(second))
            self.assertIn("is held, until", self.status(c, gate)["reason"])
            backups = c.path("backups")
            c.run("master", "backup", backups)
            c.run("scheduler", "set", "fair")
            c.run("node", "maintenance", "1", "--for", "15m", status=None)
            c.run("node", "maintenance", "1", "--end", status=None)
            c.run("node", "decommission", "1", "--force", status=None)
            c.run("job", "release", str(gate))
            for job in (gate, second, third):
                c.run("job", "wait", str(job))
            self.assertEqual(self.status(c, third)["state"], "succeeded")
            # The master goes back to a time when all of them waited.
            c.stop_master()
            shutil.rmtree(c.path("master"))
            done = subprocess.run([MILLRACE, "master", "restore", backups, "--set", f"master.directory={c.path('master')}", "--set", "master.bind=127.0.0.1:0"],
                                  capture_output=True, timeout=LIMIT_SECONDS, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            c.start_master()
            self.assertEqual([self.status(c, job)["state"] for job in (gate, second, third)], ["waiting"] * 3)
            c.run("job", "release", str(gate))
            c.run("job", "wait", str(gate), str(second), str(third))
            self.assertEqual(self.counts(c, "/one"), {b"a": b"200", b"b": b"100"})

    def test_a_held_job_starts_when_it_is_released(self):
        with Cluster(workers=1, settings=FAST) as c:
            runs = self.gated(c, "/runs")
            self.until(c, runs, lambda status: status["maps"]["running"] == 1)
            queued = self.job(c, "sleep", "-o", "/queued", "-D", "input.maps=1")
            self.assertIn(b"runs already", c.run("job", "hold", str(runs), status=1)[1])
            c.run("job", "hold", str(queued))
            status = self.status(c, queued)
            self.assertEqual((status["held"], {wait["cause"] for wait in status["waits"]}), (True, {"on-hold"}))
            c.run("job", "kill", str(runs))
            c.kill_master()
            c.start_master()
            self.assertTrue(self.status(c, queued)["held"])
            self.assertEqual([job["job"] for job in json.loads(c.run("job", "list", "--state", "held", "--json")[0])], [queued])
            self.assertRegex(c.run("job", "list", "--totals")[0].decode(), rf"(?m)^{queued} +held ")
            counts = json.loads(c.run("cluster", "status", "--json", status=None)[0])["jobs"]
            self.assertEqual((counts["held"], counts["after"]), (1, 0))
            self.assertIn(f"{counts['waiting']} waiting (1 held)", c.run("cluster", "status", status=None)[0].decode())
            c.run("job", "release", str(queued))
            c.run("job", "wait", str(queued))
            self.assertIn(b"ended already", c.run("job", "release", str(queued), status=1)[1])


    def test_a_held_job_holds_up_nobody_under_any_scheduler(self):
        directory = self.enterContext(tempfile.TemporaryDirectory())
        settings = os.path.join(directory, "scheduler.toml")
        with open(settings, "w", encoding="utf-8") as file:
            file.write("[pools.ads]\nmax_running_jobs_of_user = 1\nmax_running_jobs = 1\n")
        with Cluster(workers=1, settings=[*FAST, "dfs.replication=1", f"master.scheduler_file={settings}"]) as c:
            c.run("fs", "put", "-", "/text", input=b"a b a\n")
            runs = self.gated(c, "/runs", "--pool", "ads")
            self.until(c, runs, lambda status: status["maps"]["running"] == 1)
            # The first in the queue, and the first of its user and pool.
            held = self.job(c, "wordcount", "/text", "-o", "/held", "--pool", "ads", "--priority", "VERY_HIGH", "--deadline", "1h")
            c.run("job", "hold", str(held))
            c.run("job", "kill", str(runs))
            names = [scheduler["name"] for scheduler in json.loads(c.run("scheduler", "list", "--json")[0]) if scheduler["name"] != "external"]
            self.assertIn("fifo", names)
            for name in names:
                with self.subTest(name):
                    c.run("scheduler", "set", name)
                    c.run("run", "wordcount", "/text", "-o", f"/{name}", "--pool", "ads", "--deadline", "2h")
                    self.assertEqual(self.counts(c, f"/{name}"), {b"a": b"2", b"b": b"1"})
                    status = self.status(c, held)
                    self.assertEqual((status["state"], status["held"], status["queued_at"]), ("waiting", True, None))
            c.run("job", "release", str(held))
            c.run("job", "wait", str(held))
            status = self.status(c, held)
            self.assertGreater(status["queued_at"], status["submitted_at"])
            self.assertGreaterEqual(status["first_launched_at"], status["queued_at"])

    def test_a_master_that_remembers_no_jobs(self):
        with Cluster(workers=1, settings=[*FAST, "dfs.replication=1", "master.history_jobs=0"]) as c:
            c.run("fs", "put", "-", "/text", input=b"a b a\n")
            gate = self.job(c, "wordcount", "/text", "-o", "/gate", "--hold")
            first = self.job(c, "wordcount", "/text", "-o", "/one")
            last = self.job(c, "wordcount", "/one", "-o", "/last", "--after", f"{gate},{first}")
            while first in {job["job"] for job in json.loads(c.run("job", "list", "--live", "--json")[0])}:
                pass
            for verb in ("history", "logs", "tasks", "counters"):
                self.assertEqual(c.run("job", verb, str(gate))[1].decode(),
                                 f"millrace: job {verb}: nothing of job{gate} has run: it is held, until `millrace job release {gate}`\n")
            c.run("job", "priority", str(last), "HIGH")  # the next step forgets the first
            self.assertEqual([job["job"] for job in json.loads(c.run("job", "list", "--json")[0])], [gate, last])
            self.assertIn(b"no longer remembered", c.run("job", "status", str(first), status=1)[1])
            self.assertEqual(self.status(c, last)["waits_for"], [gate])
            self.assertIn(b"no longer remembered", c.run("run", "wordcount", "/text", "-o", "/x", "--after", str(first), status=1)[1])
            usage = json.loads(c.run("usage", "--json")[0])
            self.assertEqual((usage["forgotten"], usage["total"]["jobs"], usage["total"]["live"]), (first, 2, 2))
            self.assertIn(f"up to job{first}, are no longer remembered", c.run("usage")[0].decode())
            c.kill_master()
            c.start_master()
            c.run("job", "release", str(gate))
            while json.loads(c.run("job", "list", "--live", "--json")[0]):
                pass
            self.assertEqual(self.counts(c, "/last"), {b"a": b"1", b"2": b"1", b"b": b"1", b"1": b"1"})


class OperatorTest(Chains):
    def test_an_operators_hold_is_not_the_owners_to_end(self):
        with SecureCluster(workers=1, users=("bob", "admin"), settings=[*FAST, "dfs.replication=1"]) as c:
            def by(user, *args, status=0):
                return c.by(user, *args, status=status)

            def start(output, *more):
                return by("ann", "run", "sleep", "-o", output, "-D", "input.maps=1", "--detach", *more).split()[-1]

            own, other = start("/a", "--hold"), start("/b", "--hold")
            by("bob", "job", "hold", own, status=1)
            by("bob", "job", "release", own, status=1)
            by("ann", "job", "release", own)
            by("admin", "job", "hold", other)
            by("ann", "job", "hold", other)
            by("ann", "job", "release", other, status=1)
            by("admin", "job", "release", other)
            by("ann", "job", "wait", own, other)
            # Another's job may be waited for.
            after = by("bob", "run", "sleep", "-o", "/c", "-D", "input.maps=1", "--after", f"{own},{other}", "--detach").split()[-1]
            by("bob", "job", "wait", after)


class UsageTest(Chains):
    def test_the_sums_are_those_of_the_attempts(self):
        with Cluster(workers=2, map_slots=2, settings=[*FAST, "dfs.replication=1"]) as c:
            c.run("fs", "put", "--block-size", "1M", "-", "/text", input=words(3, 400_000))
            c.run("run", "wordcount", "/text", "-o", "/one", "-r", "2", "--name", "count", "--pool", "ads")
            c.run("run", "sleep", "-o", "/two", "-D", "input.maps=3", "-D", "sleep.map_time=20ms", "-r", "1", "--name", "nap")
            killed = self.gated(c, "/three", "--name", "nap")
            self.until(c, killed, lambda status: status["maps"]["running"] == 1)
            c.run("job", "kill", str(killed))
            lost = self.gated(c, "/four", "--name", "lost")
            node = self.until_running(c, lost)
            c.kill_worker(node)
            while not any(task["state"] == "lost" for task in json.loads(c.run("job", "tasks", str(lost), "--json")[0])):
                pass
            c.run("job", "kill", str(lost))
            never = self.job(c, "sleep", "-o", "/five", "--after", str(self.gated(c, "/six", "--name", "live")), "--name", "live")
            c.kill_master()
            c.start_master()
            jobs = json.loads(c.run("job", "list", "--json")[0])
            usage = json.loads(c.run("usage", "--by", "job-name", "--json")[0])
            sums = collections.defaultdict(collections.Counter)
            for job in jobs:
                row = sums[job["name"]]
                row["jobs"] += 1
                row["live" if job["state"] in ("waiting", "running") else job["state"]] += 1
                for key in ("bytes_read", "bytes_shuffled", "bytes_written"):
                    row[key] += job[key]
                if job["first_launched_at"] is not None:
                    row["waited_s"] += job["first_launched_at"] - job["queued_at"]
            names = {job["job"]: job["name"] for job in jobs}
            for attempt, use in self.uses(json.loads(c.run("job", "history", "--json")[0]), jobs).items():
                row = sums[names[int(attempt.split(".")[0].removeprefix("job"))]]
                if ".r." in attempt:
                    copied = use.get("computing", use["ended"])
                    row["copy_slots_s"] += copied - use["launched"]
                    row["compute_slots_s"] += use["ended"] - copied
                else:
                    row["map_slots_s"] += use["ended"] - use["launched"]
                if use["how"] != "succeeded":
                    row[f"wasted_{use['how']}_s"] += use["ended"] - use["launched"]
            self.assertEqual({row["key"] for row in usage["rows"]}, set(sums))
            self.assertGreater(sums["nap"]["wasted_killed_s"], 0)
            self.assertGreater(sums["lost"]["wasted_lost_s"], 0)
            for row in usage["rows"]:
                name = row["key"]
                for key, value in sums[name].items():
                    if name == "live" and key == "waited_s":
                        continue
                    self.assertAlmostEqual(row[key], value, places=4, msg=f"{name} {key}")
                if name != "live":
                    self.assertAlmostEqual(row["slots_s"], sum(sums[name][f"{kind}_slots_s"] for kind in ("map", "copy", "compute")), places=4)
            self.assertIsNone(usage["total"].pop("key"))
            for key in usage["total"]:
                self.assertAlmostEqual(usage["total"][key], sum(row[key] for row in usage["rows"]), places=4, msg=key)
            self.assertEqual((usage["forgotten"], usage["total"]["jobs"]), (None, len(jobs)))
            table = c.run("usage", "--by", "user")[0].decode()
            self.assertIn("the journal begins then", table)
            rows = list(csv.reader(io.StringIO(c.run("usage", "--by", "pool", "--csv")[0].decode())))
            self.assertEqual((rows[0][0], rows[-1][0]), ("pool", "total"))
            self.assertIn("ads", [row[0] for row in rows])
            for wrong in (("--by", "node"), ("--since", "soon"), ("--until", "2026-13-01"), ("--csv", "--json"),
                          ("--since", "1h", "--until", "2h"), ("--until", "all")):
                c.run("usage", *wrong, status=2)
            c.run("job", "kill", str(never - 1))

    def uses(self, history, jobs):
        """The attempts that have ended, each with its times and how it ended, from the events alone."""
        open_, closed = {}, {}

        def close(which, at, how):
            for attempt in [attempt for attempt in open_ if which(attempt)]:
                closed[attempt] = open_.pop(attempt) | {"ended": at, "how": how}

        for event in history:
            kind, at, attempt = event["event"], event["at"], event.get("attempt", "")
            if kind == "AttemptLaunched":
                open_[attempt] = {"launched": at, "node": event["node"]}
            elif kind in ("ReduceComputing", "ComputeGranted") and attempt in open_:
                open_[attempt].setdefault("computing", at)
            elif kind in ("AttemptFailed", "AttemptLost", "AttemptPreempted", "AttemptSucceeded"):
                close(lambda other, attempt=attempt: other == attempt, at, kind.removeprefix("Attempt").lower())
                if kind == "AttemptSucceeded":  # the others of its task
                    close(lambda other, task=attempt.rsplit(".", 1)[0]: other.rsplit(".", 1)[0] == task, at, "outrun")
            elif kind in ("NodeLost", "NodeJoined"):
                close(lambda other, node=event["node"]: open_[other]["node"] == node, at, "lost")
            elif kind in ("JobKilled", "JobGivenUp"):
                close(lambda other, job=event["job"]: other.startswith(f"job{job}."), at, "killed")
        self.assertTrue({job["job"] for job in jobs if job["ended_at"] is None} >= {int(attempt.split(".")[0].removeprefix("job")) for attempt in open_})
        return closed

    def until_running(self, cluster, job):
        while True:
            for task in json.loads(cluster.run("job", "tasks", str(job), "--json")[0]):
                if task["state"] == "running":
                    return task["node"] - 1  # they were started one after the other


if __name__ == "__main__":
    unittest.main()
