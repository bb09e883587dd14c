# SPDX-License-Identifier: Apache-2.0
"""Every scheduler on real tasks: the same batch, the same outputs, switched while the cluster lives."""

import json
import os
import subprocess
import unittest

from cluster import LIMIT_SECONDS, Cluster, await_line, shell, words

FAST = ["master.heartbeat=200ms", "master.lost_after=2s", "master.disconnect_grace=500ms", "master.startup_grace=1s"]
COMBINED = ["fifo+ccs", "fair+delay", "fair+ccs", "fair+delay+ccs+preempt"]
SETTINGS = """
[pools.ads]
weight = 2
min_maps = 1
[pools.spam]
max_maps = 3
[fair]
min_share_timeout = "200ms"
fair_share_timeout = "500ms"
[delay]
rack_wait = "50ms"
datacenter_wait = "50ms"
off_wait = "50ms"
[queues.ads]
capacity = 60
max_capacity = 90
[queues.spam]
capacity = 40
[fresh]
k = 4
[cp]
budget = "20ms"
"""

# Twenty jobs: what to run, and what schedulers are told of it.
BATCH = (
    [("wordcount", "/in/text", ["--pool", "ads", "--priority", "HIGH", "--map-time", "200ms"])] * 4
    + [("wordcount", "/in/web", ["--pool", "spam", "--deadline", "30s", "-D", "scheduler.locality_wait=0s"])] * 3
    + [("grep", "/in/text", ["-D", "grep.pattern=[a-c]+x?", "--user", "alice", "--pool", "ads"])] * 4
    + [("grep", "/in/web", ["-D", "grep.pattern=<[a-z]+>", "--user", "bob", "--priority", "LOW", "--pool", "spam"])] * 3
    + [("invertedindex", "/in/text", ["--deadline", "10s", "--map-time", "300ms", "--reduce-time", "300ms", "--pool", "ads"])] * 3
    + [("invertedindex", "/in/web", ["--priority", "VERY_HIGH", "--locality-wait", "10ms,20ms", "--pool", "spam"])] * 3
)


class SchedulersTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # Two datacenters, for joss.
        cls.cluster = Cluster(workers=4, racks=2, datacenters=2, map_slots=2, reduce_slots=1, settings=FAST)
        cls.file = cls.cluster.path("scheduler.toml")
        cls.write_settings(SETTINGS)
        cls.cluster.settings.append(f"master.scheduler_file={cls.file}")
        cls.cluster.__enter__()
        os.makedirs(cls.cluster.path("in", "text"))
        os.makedirs(cls.cluster.path("in", "web"))
        for i in range(3):
            with open(cls.cluster.path("in", "text", f"t{i}"), "wb") as f:
                f.write(words(i, 2000))
            with open(cls.cluster.path("in", "web", f"w{i}"), "wb") as f:
                f.write(b"".join(b"<p><b>" + line + b"</b></p>\n" for line in words(10 + i, 1000).splitlines()))
        cls.cluster.run("fs", "put", "--replication", "2", cls.cluster.path("in"), "/in")
        cls.expected = cls.results(cls.run_batch("reference"))

    @classmethod
    def tearDownClass(cls):
        cls.cluster.__exit__(None, None, None)

    @classmethod
    def write_settings(cls, text):
        with open(cls.file + ".new", "w") as f:
            f.write(text)
        os.replace(cls.file + ".new", cls.file)

    def ask(self, *args, status=0):
        return self.cluster.run(*args, status=status)[0]

    @classmethod
    def start_batch(cls, name):
        """All jobs at once, each with its output in /out/NAME."""
        runs = []
        for i, (job, text, options) in enumerate(BATCH):
            runs.append(cls.cluster.start("run", job, text, "-o", f"/out/{name}/{i:02}", "--reducers", str(1 + i % 2), "--name", f"{name}.{i}", *options))
        return runs

    @classmethod
    def finish_batch(cls, name, runs):
        for run in runs:
            out, error = run.communicate(timeout=LIMIT_SECONDS)
            assert run.returncode == 0, (name, out, error)
        return name

    @classmethod
    def run_batch(cls, name):
        return cls.finish_batch(name, cls.start_batch(name))

    @classmethod
    def results(cls, name):
        """Every output file of the batch, by its name."""
        target = cls.cluster.path("got-" + name)
        cls.cluster.run("fs", "get", f"/out/{name}", target)
        files = {}
        for directory, _, names in os.walk(target):
            for file in names:
                with open(os.path.join(directory, file), "rb") as f:
                    files[os.path.relpath(os.path.join(directory, file), target)] = f.read()
        return files

    def jobs(self, name):
        return [job for job in json.loads(self.ask("job", "list", "--json")) if job["name"].startswith(name + ".")]

    def check(self, name):
        self.assertEqual(self.results(name), self.expected, name)
        for job in self.jobs(name):
            self.assertEqual((job["state"], job["failed_attempts"]), ("succeeded", 0), job)

    def active(self):
        return json.loads(self.ask("scheduler", "show", "--json"))["name"]

    def expressions(self):
        listed = json.loads(self.ask("scheduler", "list", "--json"))
        known = {entry["name"]: set(entry["parts"]) for entry in listed}
        combined = [e for e in COMBINED if e.split("+")[0] in known and set(e.split("+")[1:]) <= known[e.split("+")[0]]]
        return sorted(known.keys() - {"external"}) + combined  # that one asks a program: test_external.py

    def test_the_reference_is_right(self):
        counts = b"".join(self.expected[f"00/part-r-{r:05}"] for r in range(1))
        text = self.cluster.path("in", "text")
        self.assertEqual(counts, shell("cat * | tr -s ' \\n' '\\n\\n' | grep . | sort | uniq -c | awk '{print $2 \"\\t\" $1}'", cwd=text))
        self.assertEqual(len([f for f in self.expected if f.endswith("_SUCCESS")]), len(BATCH))

    def test_every_scheduler_gives_the_same_outputs(self):
        for expression in self.expressions():
            with self.subTest(scheduler=expression):
                self.ask("scheduler", "set", expression)
                self.assertEqual(self.active(), expression)
                self.check(self.run_batch(expression))
                self.assertEqual(json.loads(self.ask("scheduler", "show", "--json"))["waiting"], [])

    def test_a_switch_while_jobs_run_loses_nothing(self):
        expressions = self.expressions()
        runs = self.start_batch("switched")
        for expression in expressions:
            self.ask("scheduler", "set", expression)
        self.finish_batch("switched", runs)
        self.check("switched")
        for job in self.jobs("switched"):
            self.assertEqual(job["killed_attempts"], 0, job)
        history = self.ask("job", "history").decode()
        for expression in expressions:
            self.assertIn(f" SchedulerSet name={expression} ", history)

    def test_what_cannot_be_is_refused(self):
        before = self.active()
        for expression in ("nonsense", "fifo+nonsense", "cp+preempt", "fifo+ccs+ccs", "fair+", ""):
            _, error = self.cluster.run("scheduler", "set", expression, status=2)
            self.assertEqual(error.count(b"\n"), 1, error)
        self.assertEqual(self.active(), before)

    def test_the_settings_file_is_followed(self):
        log = self.cluster.path("master.log")
        seen = os.path.getsize(log)
        self.write_settings(SETTINGS + "[pools.bad]\nweight = -1\n")
        await_line(log, b"pools.bad.weight: -1 is not above 0", seen)
        line = SETTINGS.count("\n") + 2
        problem = f"{self.file}:{line}: pools.bad.weight: -1 is not above 0"
        self.assertEqual(json.loads(self.ask("scheduler", "show", "--json"))["file_problem"], problem)
        self.assertIn(problem.encode(), self.ask("scheduler", "show"))
        seen = os.path.getsize(log)
        self.write_settings(SETTINGS + "[pools.good]\nweight = 7\n")
        await_line(log, b"is in force", seen)
        self.assertIsNone(json.loads(self.ask("scheduler", "show", "--json"))["file_problem"])
        self.assertIn(b"pools.good%5D%0Aweight%20%3D%207%0A", self.ask("job", "history").splitlines()[-1])

    def test_after_a_restart_what_was_set_holds_and_programs_are_known(self):
        self.ask("scheduler", "set", "fair+delay")
        self.cluster.kill_master()
        self.cluster.start_master()
        self.assertEqual(self.active(), "fair+delay")
        self.cluster.kill_master()
        self.cluster.settings.append("master.scheduler=edf")
        self.cluster.start_master()
        self.cluster.settings.remove("master.scheduler=edf")
        self.assertEqual(self.active(), "fair+delay")
        self.assertIn("changed from fifo to edf, but fair+delay was set by `millrace scheduler set` and takes precedence", self.cluster.log("master"))
        self.ask("scheduler", "set", "fifo")
        self.cluster.kill_master()
        self.cluster.start_master()
        self.assertEqual(self.active(), "fifo")
        self.ask("run", "wordcount", "/in/web", "-o", "/out/known", "--name", "known")
        (job,) = (job["job"] for job in json.loads(self.ask("job", "list", "--json")) if job["name"] == "known")
        submitted = self.ask("job", "history", str(job)).decode().splitlines()[0]
        self.assertIn(" JobSubmitted ", submitted)
        self.assertIn(" input_type=web ", submitted)
        self.assertRegex(submitted, " profile_runs=[0-9]+ profile_map_time=[1-9][0-9]* profile_reduce_time=[1-9][0-9]* profile_ratio=")

    def test_a_waiting_job_says_why(self):
        nodes = [str(node["node"]) for node in json.loads(self.ask("node", "list", "--json"))]
        self.ask("node", "decommission", "--force", "--no-wait", *nodes)  # nobody is left who could take their blocks
        run = self.cluster.start("run", "wordcount", "/in/text", "-o", "/out/waits", "--name", "waits")
        self.assertIn(b"submitted", run.stderr.readline())
        shown = json.loads(self.ask("scheduler", "show", "--json"))
        maps, reduces = shown["waiting"]
        self.assertEqual((maps["name"], maps["kind"], maps["pending"], maps["cause"]), ("waits", "map", 3, "no-slots"))
        self.assertEqual((reduces["kind"], reduces["cause"], reduces["used"]), ("reduce", "maps-first", 0))
        self.assertIn("no node that takes tasks has a map slot", self.ask("job", "list", "--live").decode())
        self.ask("node", "recommission", *nodes)
        _, error = run.communicate(timeout=LIMIT_SECONDS)
        self.assertEqual(run.returncode, 0, error)

    def test_a_user_runs_as_many_jobs_in_a_pool_as_it_lets_him(self):
        log = self.cluster.path("master.log")

        def limit(jobs):
            seen = os.path.getsize(log)
            self.write_settings(SETTINGS + f"[pools.etl]\nmax_running_jobs_of_user = {jobs}\n")
            await_line(log, b"is in force", seen)

        def submit(user, name):
            words = ["-o", f"/out/{name}", "--name", name, "--user", user, "--pool", "etl", "-D", "input.maps=1", "-D", "sleep.map_time=1h", "--reducers", "0"]
            job = self.ask("run", "sleep", *words, "--detach").split()[-1].decode()
            self.addCleanup(self.ask, "job", "kill", job)
            return int(job.removeprefix("job"))

        def causes():
            return {wait["job"]: (wait["cause"], wait["reason"]) for wait in json.loads(self.ask("scheduler", "show", "--json"))["waiting"]}

        self.ask("scheduler", "set", "fair+delay")
        self.addCleanup(self.write_settings, SETTINGS)
        limit(1)
        submit("alice", "first")
        second = submit("alice", "second")
        submit("bob", "other")
        self.assertEqual([job for job, (cause, _) in causes().items() if cause == "user-jobs"], [second])
        cause, reason = causes()[second]
        self.assertEqual(cause, "user-jobs")
        self.assertRegex(reason, "^user alice has 1 (running job|job that runs or will run next), the most that pool etl lets one user have$")
        self.assertIn("user alice has 1 ", self.ask("job", "list", "--live", "--wide").decode())
        self.cluster.kill_master()  # what has begun counts first again
        self.cluster.start_master()
        self.assertEqual(causes()[second][0], "user-jobs")
        self.ask("scheduler", "set", "fifo")
        self.assertEqual(causes()[second][0], "user-jobs")
        limit(2)
        self.assertNotEqual(causes().get(second, ("",))[0], "user-jobs")


if __name__ == "__main__":
    unittest.main()
