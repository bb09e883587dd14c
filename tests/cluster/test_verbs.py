# SPDX-License-Identifier: Apache-2.0
"""What one can ask of jobs, nodes and schedulers."""

import json
import os
import signal
import subprocess
import unittest

from cluster import MILLRACE, Cluster, words

FAST = ["master.heartbeat=200ms", "master.lost_after=2s", "master.disconnect_grace=500ms", "master.startup_grace=1s"]


class VerbsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(workers=3, racks=3, settings=FAST)
        cls.cluster.__enter__()
        with open(cls.cluster.path("text"), "wb") as f:
            f.write(words(1, 400_000))
        cls.cluster.run("fs", "put", "--block-size", "1M", "--replication", "2", cls.cluster.path("text"), "/text")
        cls.cluster.run("run", "wordcount", "/text", "-o", "/done", "--name", "first")

    @classmethod
    def tearDownClass(cls):
        cls.cluster.__exit__(None, None, None)

    def ask(self, *args, status=0):
        return self.cluster.run(*args, status=status)[0]

    def jobs(self):
        return {job["job"]: job for job in json.loads(self.ask("job", "list", "--json"))}

    def start_job(self, out, *more):
        return int(self.ask("run", "wordcount", "/text", "-o", out, "--detach", *more).split()[-1])

    def test_the_bundled_jobs_are_listed(self):
        listed = dict(line.split(None, 1) if " " in line.strip() else (line.strip(), "") for line in self.ask("run", "--list").decode().splitlines())
        self.assertIn("grep.pattern, grep.lines", listed["grep"])
        self.assertLessEqual({"wordcount", "terasort", "sleep"}, set(listed))
        self.assertFalse([name for name in listed if name.startswith("millrace")])
        _, error = self.cluster.run("run", status=2)
        self.assertIn(b"run --list", error)
        _, error = self.cluster.run("run", "wordcount", "/text", "-o", "/o", "--reducers", "two", status=2)
        self.assertIn(b'--reducers: "two" is not a whole number from 0 to 1000', error)

    def test_a_wait_has_an_end(self):
        job = str(int(self.ask("run", "sleep", "-o", "/waited", "--detach", "-D", "input.maps=1", "-D", "sleep.map_time=1h").split()[-1]))
        _, error = self.cluster.run("job", "wait", "--timeout", "200ms", job, status=1)
        self.assertIn(b"has not ended yet, and continues", error)
        self.assertEqual(self.jobs()[int(job)]["state"], "running")
        self.ask("job", "kill", job)
        self.cluster.run("job", "wait", "--timeout", "1h", job, status=1)
        self.ask("job", "wait", "--timeout", "0s", "1")
        _, error = self.cluster.run("job", "wait", "--timeout", "soon", "1", status=2)
        self.assertIn(b"--timeout", error)

    def test_logs_are_followed_and_cut(self):
        crash = os.path.join(os.environ["MILLRACE_TEST_JOBS"], "crash")
        job = self.ask("run", crash, "/text", "-o", "/followed", "-D", "crash.how=hang", "--detach").split()[-1].decode()
        while not json.loads(self.ask("job", "tasks", job, "--json")):
            pass  # it is launched in no time
        reader = subprocess.Popen([MILLRACE, "job", "logs", job, "m.0.0", "-f", "--stderr"], env=self.cluster.environment(), stdout=subprocess.PIPE)
        first = reader.stdout.readline()
        self.assertIn(b"about to end by hang", first, "while the attempt runs")
        self.ask("job", "kill", job)
        rest = reader.communicate()[0]
        self.assertEqual(reader.returncode, 0)
        self.assertEqual(self.ask("job", "logs", job, "m.0.0", "--stderr"), first + rest)
        self.assertEqual(self.ask("job", "logs", job, "m.0.0", "--stderr", "--tail", "1"), (first + rest).splitlines(keepends=True)[-1])
        self.cluster.run("job", "logs", job, "--follow", status=2)
        _, error = self.cluster.run("job", "logs", job, "m.999.0", "-f", status=1)
        self.assertIn(b"no such attempt", error)

    def test_logs_are_searched(self):
        crash = os.path.join(os.environ["MILLRACE_TEST_JOBS"], "crash")
        job = self.cluster.run("run", crash, "/text", "-o", "/searched", "-D", "crash.how=exit", "-D", "job.max_attempts=2", "-D", "job.speculation=false", "--detach")[0].split()[-1].decode()
        self.cluster.run("job", "wait", job, status=1)
        attempts = [attempt["attempt"] for attempt in json.loads(self.ask("job", "tasks", job, "--json")) if attempt["state"] == "failed"]
        found = self.ask("job", "logs", job, "--failed", "--grep", "about to end by e.it$").decode().splitlines()
        self.assertEqual(sorted(line.split(": ")[0] for line in found), sorted(attempts))
        self.assertTrue(all(line.split(": ", 1)[1].endswith("about to end by exit") for line in found), found)
        one = attempts[0].split(".", 1)[1]
        self.assertEqual(self.ask("job", "logs", job, one, "--grep", "about to end").decode().splitlines(), [line for line in found if line.startswith(attempts[0] + ":")])
        self.assertEqual(self.cluster.run("job", "logs", job, "--failed", "--grep", "is never said", status=1), (b"", b""))
        self.assertEqual(self.cluster.run("job", "logs", job, one, "--grep", "is never said", status=1), (b"", b""))
        _, error = self.cluster.run("job", "logs", job, "--grep", "a(", status=2)
        self.assertIn(b"--grep", error)
        self.cluster.run("job", "logs", job, one, "--grep", "a", "-f", status=2)

    def test_a_scheduler_file_is_checked(self):
        for text, status in ((b"[pools.ads]\nweight = 2\n", 0), (b"[pools.ads]\nweight = 0\n", 1)):
            with open(self.cluster.path("scheduler.toml"), "wb") as f:
                f.write(text)
            _, error = self.cluster.run("scheduler", "check", self.cluster.path("scheduler.toml"), status=status)
            self.assertIn(b"scheduler.toml:2: pools.ads.weight" if status else b"", error)
        self.assertEqual(self.ask("scheduler", "set", "fair"), b"the scheduler is fair from now on\n")
        self.ask("scheduler", "set", "fifo")

    def test_a_file_that_exists_is_not_replaced_unawares(self):
        _, error = self.cluster.run("fs", "put", self.cluster.path("text"), "/text", status=1)
        self.assertIn(b"-f of put and cp", error)

    def test_list_status_counters_history(self):
        first = self.jobs()[1]
        self.assertEqual((first["name"], first["state"], first["output"]), ("first", "succeeded", "/done"))
        self.assertEqual(json.loads(self.ask("job", "status", "1", "--json"))["job"], 1)
        self.assertTrue(self.ask("job", "status", "job1").startswith(b"job1 "), "both spellings name the job")
        counters = json.loads(self.ask("job", "counters", "1", "--json"))
        text = json.dumps(counters)
        with open(self.cluster.path("text"), "rb") as f:
            data = f.read()
        self.assertIn(str(len(data.split())), text, "words emitted")
        self.assertIn(str(data.count(b"\n")), text, "lines read")
        self.assertIn(str(len(data)), text, "bytes read")
        history = self.ask("job", "history", "1").decode()
        self.assertIn("JobSubmitted", history)
        self.assertEqual(history.count("AttemptSucceeded"), history.count("AttemptLaunched"))
        self.cluster.run("job", "status", "999", status=1)

    def test_several_jobs_are_waited_for(self):
        jobs = [self.start_job("/several1"), self.start_job("/several2")]
        said = [json.loads(line) for line in self.ask("job", "wait", "--json", str(jobs[1]), f"job{jobs[0]}").splitlines()]
        self.assertEqual([(one["job"], one["state"]) for one in said], [(jobs[1], "succeeded"), (jobs[0], "succeeded")])
        killed = int(self.ask("run", "sleep", "-o", "/several3", "--detach", "-D", "sleep.map_time=1h").split()[-1])
        self.ask("job", "kill", str(killed))
        text = self.ask("job", "wait", str(killed), str(jobs[0]), status=1)
        self.assertIn(b"job%d succeeded" % jobs[0], text, "one that did not succeed does not hide the others")

    def test_logs_of_attempts_hold_what_user_code_wrote(self):
        job = os.path.join(os.environ["MILLRACE_TEST_JOBS"], "crash")
        _, error = self.cluster.run("run", job, "/text", "-o", "/crash", "-D", "crash.how=exit", "--name", "crashing", status=1)
        self.assertIn(b"about to end by exit", error, "the last lines of standard error are part of the reason")
        number = max(n for n, j in self.jobs().items() if j["name"] == "crashing")
        self.assertIn(b"about to end by exit", self.ask("job", "logs", str(number), f"job{number}.m.0.0", "--stderr"))
        history = self.ask("job", "history", str(number)).decode()
        self.assertEqual(max(history.count(f"AttemptFailed attempt=job{number}.m.{task}.") for task in range(3)), 4, "four attempts, then the job fails")

    def test_kill_and_priority(self):
        slow = os.path.join(os.environ["MILLRACE_TEST_JOBS"], "crash")
        job = int(self.ask("run", slow, "/text", "-o", "/never", "-D", "crash.how=hang", "--detach").split()[-1])
        self.ask("job", "priority", str(job), "HIGH")
        self.assertEqual(self.jobs()[job]["priority"], "HIGH")
        self.ask("job", "kill", str(job))
        _, error = self.cluster.run("job", "wait", str(job), status=1)
        self.assertIn(b"killed", error)
        self.cluster.run("fs", "stat", "/never", status=1)
        again = self.start_job("/after-kill")
        self.ask("job", "wait", str(again))  # the slots are free again
        several = [self.ask("run", "sleep", "-o", f"/many{n}", "--detach", "-D", "sleep.map_time=1h").split()[-1].decode() for n in range(2)]
        _, error = self.cluster.run("job", "kill", several[0], "999", several[1], "--reason", "not now", status=1)
        self.assertIn(b"999", error)
        self.assertEqual({self.jobs()[int(number)]["state"] for number in several}, {"killed"}, "one that is not there does not save the others")

    def test_interrupted_client_in_a_pipe_kills_its_job(self):
        slow = os.path.join(os.environ["MILLRACE_TEST_JOBS"], "crash")
        client = self.cluster.start("run", slow, "/text", "-o", "/interrupted", "-D", "crash.how=hang", "--name", "interrupted")
        line = client.stderr.readline()
        self.assertIn(b"submitted", line)
        client.send_signal(signal.SIGINT)
        client.communicate(timeout=60)
        self.assertEqual(client.returncode, 130)
        self.assertEqual([j["state"] for j in self.jobs().values() if j["name"] == "interrupted"], ["killed"])

    def test_the_last_nodes_are_decommissioned_by_force_only(self):
        numbers = [str(node["node"]) for node in json.loads(self.ask("node", "list", "--json"))]
        _, error = self.cluster.run("node", "decommission", *numbers, status=1)
        self.assertIn(b"--force", error)
        states = {node["state"] for node in json.loads(self.ask("node", "list", "--json"))}
        self.assertEqual(states, {"alive"}, "all or none")

    def test_decommissioned_node_is_drained_and_comes_back(self):
        nodes = json.loads(self.ask("node", "list", "--json"))
        number = str(nodes[0]["node"])
        _, error = self.cluster.run("node", "decommission", number, status=1)
        self.assertIn(b"3 replicas", error, "the job's executable has three, on three nodes")
        self.ask("node", "decommission", "--force", f"{nodes[0]['host']}:{nodes[0]['port']}")
        node = [n for n in json.loads(self.ask("node", "list", "--json")) if str(n["node"]) == number][0]
        self.assertEqual((node["state"], node["blocks_left"]), ("decommissioned", 0), "the command waits until everything has its replicas elsewhere")
        self.ask("fs", "fsck")
        self.ask("run", "wordcount", "/text", "-o", "/while-drained")
        history = self.ask("job", "history", str(max(self.jobs()))).decode()
        self.assertNotIn(f"node=n{number}\n", history)
        self.ask("node", "recommission", number)

    def test_an_input_of_this_machine_gets_a_hint(self):
        _, error = self.cluster.run("run", "wordcount", self.cluster.path("text"), "-o", "/hinted", status=1)
        self.assertIn(b"no such file or directory; the inputs are paths of the cluster: `millrace fs put` stores", error)
        _, error = self.cluster.run("run", "wordcount", "/nowhere/at/all", "-o", "/hinted", status=1)
        self.assertNotIn(b"fs put", error)

    def test_schedulers(self):
        self.assertIn(b"fifo", self.ask("scheduler", "list"))
        self.assertIn(b"fifo", self.ask("scheduler", "show"))
        self.ask("scheduler", "set", "fifo")
        _, error = self.cluster.run("scheduler", "set", "nonsense", status=2)
        self.assertIn(b"fifo", error)
        _, error = self.cluster.run("scheduler", "set", "fairr+delay", status=2)
        self.assertTrue(error.startswith(b'millrace: scheduler set: no scheduler is called "fairr"; ') and error.endswith(b"; did you mean fair?\n"), error)


class Memory(unittest.TestCase):
    def test_masters_and_simulations_ask_for_huge_pages(self):
        for verb, pages in (("master", "always"), ("sim", "always"), ("worker", "default"), ("fs", "default")):
            done = subprocess.run([MILLRACE, verb, "--help"], env={**os.environ, "MALLOC_CONF": "stats_print:true"}, capture_output=True, text=True)
            self.assertIn(f'opt.thp: "{pages}"', done.stderr, verb)


if __name__ == "__main__":
    unittest.main()
