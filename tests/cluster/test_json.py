# SPDX-License-Identifier: Apache-2.0
"""What every command prints with --json is what docs/use/json.md says, field by field, and every field of the page is printed by something."""

import json
import os
import subprocess
import sys
import tempfile
import time
import unittest

from cluster import LIMIT_SECONDS, MILLRACE, Cluster, await_line, words
from secure_cluster import SecureCluster, ca
from test_spot import MetadataService
from ui_page import Ui

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.append(os.path.join(SOURCE, "tests", "docs"))
from json_page import Checker  # noqa: E402

JOBS = os.environ["MILLRACE_TEST_JOBS"]
FAST = ["master.heartbeat=200ms", "master.lost_after=2s", "master.disconnect_grace=500ms", "master.startup_grace=1h"]
WORKLOAD = """[cluster]
nodes = 4
map_slots = 2
reduce_slots = 1
[[jobs]]
name = "long"
user = "a"
count = 6
maps = 60
map_time = 10
reduces = 2
reduce_time = 3
deadline = 300
arrival = { kind = "interval", every = 100 }
[[jobs]]
name = "short"
user = "b"
count = 24
maps = 2
map_time = 4
arrival = { kind = "interval", every = 25 }
"""
# What no cluster of this test prints: (command, path, "value" or "null"), and who else checks it.
ELSEWHERE = {
    # A full disk of the master takes a file system of its own: tests/dfs/tools/list_test.cc, tests/cluster/test_full_disk.py.
    ("`millrace fs fsck`", "read_only_reason", "value"),
    ("`millrace fs safemode get`, `millrace fs safemode wait`", "read_only_reason", "value"),
    # A slow disk takes a shim: tests/cluster/test_ailing.py.
    ("`millrace node list`", "ailing", "value"),
    # The kind "unknown" is what a newer master writes: tests/client/cli/history_json_test.cc.
    ("`millrace job history`", "at", "null"),
    # A job is lost by a restore: tests/cluster/test_backups.py.
    ("A job", "submitted_at", "null"),
    # A master that remembers few jobs: tests/cluster/test_chains.py.
    ("`millrace usage`", "forgotten", "value"),
    # Intervals follow from twenty statements that have come true or not: tests/cluster/test_forecasts.py.
    *(("A statement", f"{of}.intervals[].{field}", "value") for of in ("start", "end") for field in ("percent", "from_at", "to_at")),
    # A change that was not reached in time: tests/client/cli/job_why_test.cc.
    ("`millrace job why`", "tried[].untried", "value"),
    # Comparisons of live runs that were simulated as well: tests/cluster/test_simulated_beside.py.
    ("`millrace compare WORKLOAD`", "simulated", "value"),
    # A check by live runs takes minutes: tests/lab/tune/tune_test.cc.
    *(("`millrace tune`", field, "value") for field in ("live", "live.where", "live.findings")),
}


def null_of(command, *paths):
    return {(command, path, "null") for path in paths}


# Figures of simulations that are null where nothing ended or nothing was measured: tests/lab/measure/measures_test.cc.
ELSEWHERE |= null_of("`millrace sim`", "makespan", "mean_turnaround", "turnaround_p50", "turnaround_p95", "turnaround_p99", "mean_wait", "maps_at.node", "maps_at.rack",
                     "maps_at.datacenter", "maps_at.off", "fairness", "fairness_distance", "map_utilisation", "reduce_utilisation", "utilisation")
# A node with reduces alone: tests/client/ui/timeline_test.cc.
ELSEWHERE |= null_of("Figures of a job", "nodes[].map_median_s")
# Bounds that are no numbers, as of too few runs: tests/lab/report/document_test.cc.
ELSEWHERE |= null_of("An estimate", "low", "high")
# A comparison of one observation, and what is worse by a metric that was 0: tests/lab/report/document_test.cc.
ELSEWHERE |= null_of("A comparison", "shift") | null_of("`millrace advise`", "worse[].ratio")


class JsonTest(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.checker = Checker()
        directory = tempfile.TemporaryDirectory(prefix="millrace-json-")
        self.addCleanup(directory.cleanup)
        self.directory = directory.name

    def at(self, name):
        return os.path.join(self.directory, name)

    def write(self, name, text):
        with open(self.at(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.at(name)

    def ask(self, command, *operands, of=None, status=0):
        """The objects that `millrace command operands --json` prints; `command` is as the page has it."""
        verb = [word for word in command.split() if not word.isupper()]
        if of is None:
            done = subprocess.run([MILLRACE, *verb, *operands, "--json"], capture_output=True, stdin=subprocess.DEVNULL, timeout=LIMIT_SECONDS, cwd=self.directory)
            self.assertEqual(done.returncode, status, done.stderr)
            out = done.stdout
        else:
            out = of.run(*verb, *operands, "--json", status=status)[0]
        return self.checker.check(command, out.decode())

    def test_what_is_printed_is_what_the_page_says(self):
        for scenario in (self.simulations, self.certificates, self.files, self.jobs, self.forecasts, self.schedulers, self.a_job_that_waits_for_its_data, self.nodes, self.a_fresh_master, self.the_page, self.advice_of_a_cluster):
            begin = time.monotonic()
            scenario()
            print(f"  {scenario.__name__}: {time.monotonic() - begin:.1f} s", file=sys.stderr)
        self.assertEqual(self.checker.wrong, [])
        self.assertEqual(sorted(set(self.checker.unseen()) - ELSEWHERE), [], "no command of this test has printed this")

    # Without a cluster.

    def simulations(self):
        workload = self.write("w.toml", WORKLOAD)
        plain = self.write("plain.toml", "[cluster]\nnodes = 1\nmap_slots = 1\nreduce_slots = 1\n[[jobs]]\ncount = 6\nmaps = 1\nmap_time = 1\narrival = { kind = \"interval\", every = 60 }\n")
        self.ask("sim", workload, "--scheduler", "fifo,fair", "--slowdown")
        self.ask("sim", plain, "--scheduler", "fifo")
        silent = self.write("silent", "#!/bin/sh\nread hello\necho 'hello 1 name=silent'\nwhile read line; do case $line in decide*) echo seen ${line#*=};; esac; done\n")
        os.chmod(silent, 0o755)
        self.ask("sim", plain, "--scheduler", f"external:{silent}")
        self.ask("sim", os.path.join(SOURCE, "lab/papers/hoarded-slots.toml"), "--scheduler", "fifo")
        self.ask("compare PAPER", os.path.join(SOURCE, "lab/papers/hoarded-slots.toml"), "--repeat", "2")
        self.ask("compare WORKLOAD", workload, "--scheduler", "fifo,fair,sjf", "--repeat", "6", "-o", self.at("c"))
        self.ask("compare WORKLOAD", plain, "--scheduler", "fifo,fair", "--repeat", "6", "-o", self.at("p"))
        self.ask("advise", "--workload", workload, "--scheduler", "fair", "--repeat", "8")
        self.ask("advise", "--workload", workload, "--in-force", "fair", "--scheduler", "fifo", "--repeat", "8")
        giant = self.write("giant.toml", WORKLOAD + '[[jobs]]\nname = "giant"\nuser = "a"\nmaps = 600\nmap_time = 10\narrival = { kind = "batch", at = 700 }\n')
        self.ask("advise", "--workload", giant, "--scheduler", "fair", "--repeat", "8")
        drawn = self.write("drawn.toml", WORKLOAD.replace("maps = 2\n", "maps = { uniform = [1, 3] }\n"))
        self.ask("advise", "--workload", drawn, "--scheduler", "fair", "--repeat", "8")
        late = self.write("late.toml", WORKLOAD.replace("map_time = 4\n", "map_time = 4\ndeadline = 40\n"))
        self.ask("advise", "--workload", late, "--goal", "deadlines", "--scheduler", "edf", "--repeat", "8")
        self.ask("tune", "--workload", workload, "--scheduler", "fair", "--goal", "turnaround,prediction", "--repeat", "6")
        alone = self.write("alone.toml", "[cluster]\nnodes = 1\nmap_slots = 1\n[[jobs]]\ncount = 48\nmaps = 1\nmap_time = 1\narrival = { kind = \"interval\", every = 60 }\n")
        self.ask("tune", "--workload", alone, "--scheduler", "fair,mlq", "--tries", "6", "--repeat", "6")
        self.ask("scheduler list")
        self.ask("run --list")

    def certificates(self):
        self.ask("ca init", self.at("ca"))
        self.ask("ca issue", self.at("ca"), "--days", "10", "worker:w1", "client:ann")
        self.ask("ca renew", self.at("ca"), "worker:w1")
        listed = self.ask("ca list", self.at("ca"))
        self.assertAlmostEqual(min(one["ends_at"] for one in listed), time.time() + 10 * 86400, delta=LIMIT_SECONDS)

    # On clusters.

    def files(self):
        with SecureCluster(workers=2, racks=2, settings=["access.file=" + self.write("access.toml", 'administrators = ["ann"]\n[groups]\nstaff = ["ann"]\n')]) as c:
            c.run("fs", "put", "--replication", "2", "-", "/dir/a", input=b"x" * 1000)
            c.run("fs", "put", "--replication", "1", "-", b"/dir/\xff", input=b"y")
            c.run("fs", "put", "--replication", "3", "-", "/three", input=b"z")
            for command, *operands in (("fs ls", "-R", "/"), ("fs stat", "/dir", "/dir/*"), ("fs find", "/"), ("fs du", "/dir"), ("fs count", "/"),
                                       ("fs checksum", "/dir/*"), ("fs df",), ("fs safemode get",), ("fs safemode wait",), ("fs balance --status",), ("whoami",)):
                self.ask(command, *operands, of=c)
            self.assertIn({"path": "/dir/%FF", "path_encoding": "percent", "type": "file"}, self.ask("fs find", "/dir", of=c))
            self.ask("fs fsck", of=c)
            c.run("fs", "quota", "set", "/dir", "--bytes", "1G")
            c.run("fs", "quota", "set", "--user", "ann", "--files", "1000")
            self.ask("fs quota show", of=c)
            c.run("fs", "rm", "--trash", "/dir/a")
            self.ask("fs trash", of=c)
            self.ask("fs trash", "--all", of=c)
            self.ask("fs undelete --list", "/dir", of=c)
            self.ask("cluster status", of=c, status=None)
            self.errors(c)
            c.stop_master()
            c.settings.append("dfs.trash_retention=0s")
            c.start_master()
            self.assertIsNone(self.ask("fs trash", of=c)[0]["expires_at"])
        with Cluster(workers=1) as c:
            self.ask("whoami", of=c)
            self.ask("scheduler show", of=c)

    def errors(self, c):
        """Standard output has JSON or nothing, standard error one line of text."""
        def failed(*args, status):
            out, error = c.run(*args, "--json", status=status)
            self.assertRegex(error.decode(), r"^millrace: [^\n]*\n$", args)
            return out

        for args in (("job", "status", "999"), ("job", "tasks", "999"), ("job", "counters", "999"), ("job", "wait", "999"), ("fs", "du", "/nowhere"), ("node", "unknown", "nowhere")):
            out = failed(*args, status=1)
            self.assertIn(out, (b"", b"[\n"), args)
        out = failed("fs", "ls", "/dir", "/nowhere", status=1)
        with self.assertRaises(json.JSONDecodeError):
            json.loads(out)
        self.assertTrue(out.startswith(b"["), out)
        self.assertEqual(failed("fs", "ls", "--no-such-option", status=2), b"")
        address, c.address = c.address, "127.0.0.1:1"
        try:
            self.assertEqual(failed("job", "list", status=3), b"")
        finally:
            c.address = address

    def jobs(self):
        with Cluster(workers=2, map_slots=2, reduce_slots=1, settings=FAST) as c:
            # A job that fails, one that leaves out maps, one that leaves out records, one with a deadline, and a pipeline.
            c.run("fs", "put", "-", "/in/a", input=words(1, 20_000))
            c.run("fs", "put", "-", "/in/b", input=b"good\nABORT\nbetter\n")
            crash = os.path.join(JOBS, "crash")
            failed = self.ask("run", crash, "/in/a", "-o", "/failed", of=c, status=1)[0]
            self.assertEqual(failed["state"], "failed")
            self.ask("run", crash, "/in", "-o", "/left", "-D", "job.pack=0", "-D", "crash.record=better", "--max-failed-maps", "60", "-r", "1", of=c)
            self.ask("run", os.path.join(JOBS, "bad_lines"), "/in/b", "-o", "/skipped", "--skip-bad-records", "2", of=c)
            job = self.ask("run", "wordcount", "/in/a", "-o", "/out", "--deadline", "1h", "--pool", "ads", of=c)[0]
            self.assertLess(job["submitted_at"], job["ended_at"])
            self.assertAlmostEqual(job["deadline_at"] - job["submitted_at"], 3600, delta=1)
            self.assertAlmostEqual(job["submitted_at"], time.time(), delta=LIMIT_SECONDS)
            self.ask("run PIPELINE", os.path.join(JOBS, "frequent"), "/in/a", "-o", "/ranked", of=c)
            live = self.ask("run --detach", "sleep", "-o", "/never", "-D", "input.maps=20", "-D", "sleep.map_time=1h", "-r", "2", of=c)[0]["job"]
            self.ask("run --detach", "sleep", "-o", "/waits", "-D", "input.maps=1", of=c)
            after = self.ask("run --detach", "sleep", "-o", "/after", "--after", str(live), of=c)[0]["job"]
            self.assertEqual(self.ask("job status", str(after), of=c)[0]["waits_for"], [live])
            while not self.ask("job tasks", str(live), of=c):
                pass
            self.ask("job list", of=c)
            for number in (failed["job"], live, live + 1):
                self.ask("job status", str(number), of=c)
            c.run("job", "kill", str(live))
            self.ask("job wait", str(live + 1), str(job["job"]), of=c)
            self.ask("job wait", str(failed["job"]), of=c, status=1)
            for number in (failed["job"], job["job"]):
                self.ask("job tasks", str(number), of=c)
            self.ask("job counters", str(job["job"]), of=c)
            c.run("job", "priority", str(live), "HIGH", status=None)
            events = self.ask("job history", of=c)
            self.assertLessEqual({"NodeJoined", "JobSubmitted", "AttemptLaunched", "AttemptSucceeded", "AttemptFailed", "JobKilled"}, {event["event"] for event in events})
            self.ask("job history", str(job["job"]), of=c)
            self.ask("usage", "--by", "day", of=c)

    def forecasts(self):
        with Cluster(workers=1, map_slots=1, settings=[*FAST, "master.scheduler=fifo"]) as c:
            def start(name, *more):
                return self.ask("run --detach", "sleep", "-o", f"/{name}", "-D", "input.maps=1", "-D", "sleep.map_time=1h", "-r", "0", *more, of=c)[0]["job"]

            holder, other, job = start("holder", "--map-time", "1h"), start("other", "--map-time", "1h", "--pool", "web"), start("job", "--map-time", "1s")
            while not any(entry["job"] == job and entry["foretold"] for entry in self.ask("job list", "--start", of=c)):
                pass
            for number in (holder, job):
                self.ask("job status", str(number), of=c)
                self.ask("job why", str(number), of=c)
            told = self.ask("job why", str(job), "--under", "sjf", of=c)[0]
            self.assertEqual([ahead["job"] for ahead in told["ahead"]], [holder, other])
            c.run("job", "hold", str(job))
            for command in ("job status", "job why"):
                self.ask(command, str(job), of=c)
            # No task has ended yet that would show how long those of this one take.
            self.assertIsNone(self.ask("job why", str(start("unknown")), of=c)[0]["end_at"])
            c.run("job", "kill", str(job))
            self.assertEqual(self.ask("job why", str(job), of=c)[0]["problem"], "it has ended")
            self.ask("job list", "--start", of=c)

    def schedulers(self):
        settings = self.write("scheduler.toml", "[pools.ads]\nweight = 2\nmax_maps = 2\nmax_reduces = 1\n[pools.other]\nmin_maps = 1\nmin_reduces = 1\n"
                              "[fair]\nmin_share_timeout = \"1h\"\nfair_share_timeout = \"1h\"\n")
        with Cluster(workers=1, map_slots=2, reduce_slots=1, settings=[*FAST, "master.scheduler=fair+preempt", f"master.scheduler_file={settings}"]) as c:
            self.ask("scheduler show", of=c)

            def start(name, pool, maps, map_time, *more):
                return c.run("run", "sleep", "-o", f"/{name}", "--pool", pool, "-D", f"input.maps={maps}", "-D", f"sleep.map_time={map_time}", *more, "--detach")[0].split()[-1].decode()

            def await_tasks(job, kind, state):
                while not any(f".{kind}." in task["attempt"] and task["state"] == state for task in json.loads(c.run("job", "tasks", job, "--json")[0])):
                    pass

            # The pool `ads` has all slots, and `other` lacks those that it is to have at least.
            await_tasks(start("a", "ads", 1, "1ms", "-r", "1", "-D", "sleep.reduce_time=1h"), "r", "running")
            await_tasks(start("b", "other", 1, "1ms", "-r", "1"), "m", "succeeded")
            await_tasks(start("c", "ads", 2, "1h"), "m", "running")
            start("d", "other", 1, "1h")
            [other] = [group for group in self.ask("scheduler show", of=c)[0]["groups"] if group["name"] == "other"]
            for kind in ("maps", "reduces"):
                self.assertAlmostEqual(other[kind]["preempts_at"], time.time() + 3600, delta=LIMIT_SECONDS)
            self.ask("job list", of=c)
            with open(settings, "a", encoding="utf-8") as file:
                file.write("[pools.bad]\nweight = 0\n")
            await_line(c.path("master.log"), b"pools.bad.weight")
            self.ask("scheduler show", of=c)
            self.ask("cluster status", of=c, status=None)
            c.run("scheduler", "set", "edf")
            c.run("run", "sleep", "-o", "/late", "--deadline", "1h", "--map-time", "10s", "-D", "input.maps=3", "-D", "sleep.map_time=1h", "--detach")
            self.ask("scheduler show", of=c)

    def a_job_that_waits_for_its_data(self):
        settings = self.write("delay.toml", "[delay]\nrack_wait = \"1h\"\n")
        with Cluster(workers=2, racks=2, map_slots=1, settings=[*FAST, "master.scheduler=fair+delay", f"master.scheduler_file={settings}"]) as c:
            holder = c.run("run", "sleep", "-o", "/a", "-D", "input.maps=1", "-D", "sleep.map_time=1h", "-r", "0", "--detach")[0].split()[-1].decode()
            busy = []
            while not busy:
                busy = [task["node"] for task in json.loads(c.run("job", "tasks", holder, "--json")[0])]
            place = None
            while place != busy:  # its one slot is taken, and the free one is in another rack
                c.run("fs", "put", "-f", "--replication", "1", "-", "/in", input=b"words\n")
                place = json.loads(c.run("fs", "stat", "--json", "/in")[0])[0]["blocks"][0]["nodes"]
            waiting = c.run("run", "wordcount", "/in", "-o", "/b", "--detach")[0].split()[-1].decode()
            waits = []
            while not waits:
                waits = [wait for wait in self.ask("job status", waiting, of=c)[0]["waits"] if wait["cause"] == "far-from-data"]
            self.assertAlmostEqual(waits[0]["until_at"] - waits[0]["since_at"], 3600, delta=1)

    def nodes(self):
        service = MetadataService()
        self.addCleanup(service.stop)
        with Cluster(workers=1, settings=FAST) as c:
            c.start_worker(1, settings=[service.setting])
            c.start_worker(2)
            c.run("fs", "put", "--replication", "2", "-", "/in", input=words(1, 1000))
            self.ask("node list", of=c)
            c.run("master", "backup", c.path("backup"))
            self.ask("cluster status", of=c)
            for copied, status in (("true", 0), ("false", 1)):
                c.run("master", "backup", "--copy", copied, c.path("backup"), status=status)
                self.ask("cluster status", of=c)
            for reason in ([], ["--reason", "new kernel"]):
                c.run("node", "maintenance", "3", "--for", "30m", *reason)
                self.ask("node list", of=c)
                self.ask("cluster status", of=c, status=None)
            c.run("node", "maintenance", "3", "--end")
            service.tell(120)
            await_line(c.path("master.log"), b"its machine will be taken away in ")
            self.ask("node list", of=c)
            self.ask("node unknown", "1", of=c)
            c.kill_worker(0)
            await_line(c.path("master.log"), b"is lost")
            self.ask("node list", of=c)
            self.ask("fs fsck", of=c, status=None)
            self.ask("cluster status", of=c, status=None)

    def the_page(self):
        """What only the API of `millrace ui` has; the rest is compared with the commands in test_ui.py."""
        with Cluster(workers=1) as c, Ui(c) as ui:
            c.run("fs", "put", "-", "/in/a", input=words(1, 3000))
            c.run("run", "wordcount", "/in", "-o", "/out", "--reducers", "2")
            c.run("run", "grep", "/in", "-o", "/lines", "-D", "grep.pattern=a", "-D", "grep.lines=true", "--reducers", "0")
            c.run("node", "decommission", "--force", "--no-wait", "1")
            c.run("run", "wordcount", "/in", "-o", "/late", "--detach")
            self.checker.check_shared("where-it-comes-from", ui.json("source"))
            journal = c.run("job", "history")[0].decode()
            for text in (journal, journal + "1 JobKilled job=job99\n"):
                with Ui(c, "--no-open", "--journal", self.write("journal", text)) as of_journal:
                    self.checker.check_shared("where-it-comes-from", of_journal.json("source"))
            for job in (1, 2, 3):
                self.checker.check_shared("figures-of-a-job", ui.json(f"jobs/{job}/summary"))
            self.checker.check_shared("the-task-stream", ui.json("stream"))
            self.checker.check_shared("the-task-stream", ui.json("stream?job=1&limit=1"))
            events = ui.events()
            self.checker.check_shared("an-event", next(events))
            c.kill_master()
            while (event := next(events))["reachable"]:
                pass
            self.checker.check_shared("an-event", event)
            events.close()

    def a_fresh_master(self):
        """One whose database is older than the blocks, and which awaits a worker."""
        with Cluster(workers=2, settings=FAST) as c:
            c.run("fs", "put", "--replication", "1", "-", "/old", input=b"old")
            holders = json.loads(c.run("fs", "stat", "--json", "/old")[0])[0]["blocks"][0]["nodes"]
            c.stop_master()
            subprocess.run(["cp", "-a", c.path("master"), c.path("older")], check=True)
            c.start_master()
            for n in range(20):
                c.run("fs", "put", "--replication", "2", "-", f"/new{n}", input=b"new")
            c.stop_master()
            os.rename(c.path("master"), c.path("newer"))
            os.rename(c.path("older"), c.path("master"))
            with open(c.path("ready0"), encoding="utf-8") as ready:
                first = int(ready.read())
            c.kill_worker(0 if first in holders else 1)
            c.start_master()
            await_line(c.path("master.log"), b"millrace node discard-unknown ")
            held = [node["node"] for node in self.ask("node list", of=c) if node["unknown_held"]]
            self.assertTrue(self.ask("node unknown", str(held[0]), of=c))
            self.assertTrue(self.ask("fs safemode get", of=c)[0]["safe_mode"])
            self.assertTrue(self.ask("fs fsck", of=c, status=None)[0]["unhealthy"])

    def advice_of_a_cluster(self):
        with Cluster(workers=2, map_slots=2, settings=["master.scheduler=fifo"]) as c:
            none = json.loads(c.run("advise", "--json")[0])
            self.assertEqual((none["advice"], set(none)), ("none", {"advice", "why"}))
            submitted = [c.run("run", "sleep", "-o", f"/out{n}", "--user", "ann" if n else "bob", "--detach", "-D", f"input.maps={24 if n == 0 else 1}", "-D",
                               f"sleep.map_time={'300ms' if n == 0 else '50ms'}", "-r", "0")[0].split()[-1].decode() for n in range(24)]
            c.run("job", "wait", *submitted)
            self.ask("advise", "--since", "1h", "--scheduler", "fair,sjf", "--repeat", "8", of=c)
            self.ask("tune", "--since", "1h", "--scheduler", "fair,sjf", "--repeat", "6", of=c)


if __name__ == "__main__":
    unittest.main()
