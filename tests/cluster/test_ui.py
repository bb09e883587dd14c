# SPDX-License-Identifier: Apache-2.0
"""`millrace ui` without a browser: who gets in, what it asks the master, and that its documents are those of the commands."""

import json
import os
import stat
import subprocess
import tempfile
import time
import unittest

from cluster import LIMIT_SECONDS, MILLRACE, Cluster, await_file, words
from secure_cluster import SecureCluster
from ui_page import Ui

NAVIGATION = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}


class StrangersTest(unittest.TestCase):
    """A stranger's tab, and another user of the machine, get nothing."""

    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(workers=1)
        cls.cluster.__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.cluster.__exit__(None, None, None)

    def setUp(self):
        self.ui = Ui(self.cluster)
        self.addCleanup(self.ui.end)
        self.id = self.cluster.id.encode()

    def assert_nothing(self, answer, *statuses):
        status, headers, body = answer
        self.assertIn(status, statuses)
        self.assertNotIn(self.id, body)
        self.assertNotIn("Set-Cookie", headers)
        self.assertLess(len(body), 400)
        self.assertNotIn("Access-Control-Allow-Origin", headers)

    def test_without_the_cookie(self):
        for path in ("/", "/page.js", "/api/v1/cluster", "/api/v1/events", "/api/v1/files?path=/", "/nothing"):
            self.assert_nothing(self.ui.ask(path), 401)
            self.assert_nothing(self.ui.ask(path, headers={"Cookie": f"millrace_ui_{self.ui.port}=" + "0" * 48}), 401)
        self.assertIn(self.id, self.ui.get("/api/v1/cluster"))

    def test_a_stolen_address(self):
        self.ui.enter()
        self.assert_nothing(self.ui.ask(f"/?token={self.ui.token}"), 403)
        self.assertIn(b"start it again", self.ui.ask(f"/?token={self.ui.token}")[2])
        self.assert_nothing(self.ui.ask("/?token=" + "0" * 48), 403)

    def test_dns_rebinding(self):
        cookie = self.ui.enter()
        for host in (f"evil.example:{self.ui.port}", "evil.example", "127.0.0.1", f"127.0.0.1:{self.ui.port + 1}", f"127.0.0.1.evil.example:{self.ui.port}"):
            self.assert_nothing(self.ui.ask("/api/v1/cluster", host=host, headers=cookie), 403)
        self.assertEqual(self.ui.ask("/api/v1/cluster", host=f"localhost:{self.ui.port}", headers=cookie)[0], 200)

    def test_other_pages(self):
        cookie = self.ui.enter()  # which browsers send along from other ports of 127.0.0.1, as these are the same site
        for headers in ({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}, {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors"}, NAVIGATION,
                        {"Origin": "http://evil.example"}, {"Origin": "null"}, {"Origin": f"http://127.0.0.1:{self.ui.port + 1}"}):
            self.assert_nothing(self.ui.ask("/api/v1/cluster", headers={**cookie, **headers}), 403)
        self.assert_nothing(self.ui.ask("/", headers=NAVIGATION), 200)  # it only opens the page once more
        self.assert_nothing(self.ui.ask("/", "POST", headers={**cookie, "Origin": f"http://127.0.0.1:{self.ui.port}"}), 405)
        self.assert_nothing(self.ui.ask("/api/v1/cluster", "OPTIONS", headers=cookie), 405)
        with self.assertRaises(ConnectionError):  # a form: requests with a body are not even read
            self.ui.ask("/", "POST", headers={**cookie, "Content-Type": "application/x-www-form-urlencoded"}, body=b"a=b")
        self.assertIn(self.id, self.ui.get("/api/v1/cluster"))

    def test_headers_of_all_answers(self):
        self.ui.enter()
        for target, cookie in (("/", True), ("/page.js", True), ("/api/v1/cluster", True), ("/nothing", True), ("/api/v1/nothing", True), ("/", False)):
            _, headers, _ = self.ui.ask(target, headers={"Cookie": self.ui.cookie} if cookie else {})
            self.assertIn("default-src 'self'", headers["Content-Security-Policy"], target)
            self.assertIn("frame-ancestors 'none'", headers["Content-Security-Policy"])
            self.assertNotIn("unsafe", headers["Content-Security-Policy"])
            self.assertEqual(headers["X-Content-Type-Options"], "nosniff")
            self.assertEqual(headers["Referrer-Policy"], "no-referrer")
            self.assertEqual(headers["Cache-Control"], "no-cache" if target in ("/", "/page.js") and cookie else "no-store", target)

    def test_behind_a_proxy(self):
        """The proxy, a page of strangers, and another program of the machine, with a token's page and without."""
        with tempfile.TemporaryDirectory() as directory:
            secret = os.path.join(directory, "secret")
            with open(secret, "w", encoding="utf-8") as file:
                os.fchmod(file.fileno(), 0o600)
                file.write("correct-horse-battery\n")
            with Ui(self.cluster, "--behind", "https://cluster.example", "--proxy-secret", secret) as ui:
                proxy, host = {"Millrace-Proxy": "correct-horse-battery"}, "cluster.example"
                for path, holds in (("/", b"<title>Millrace</title>"), ("/api/v1/cluster", self.id)):
                    status, headers, body = ui.ask(path, host=host, headers=proxy)
                    self.assertEqual(status, 200)
                    self.assertIn(holds, body)
                    self.assertNotIn("Set-Cookie", headers)
                    self.assertIn("frame-ancestors 'none'", headers["Content-Security-Policy"])
                    self.assert_nothing(ui.ask(path, host=host), 403)
                    self.assert_nothing(ui.ask(path, host=host, headers={"Millrace-Proxy": "correct-horse-batterY"}), 403)
                    self.assert_nothing(ui.ask(path, headers=proxy), 403)
                    self.assert_nothing(ui.ask(path, host=host, headers={**proxy, "Origin": "https://stranger.example"}), 403)
                    self.assert_nothing(ui.ask(path, host=host, headers={**proxy, "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}), 403)
                self.assertEqual(ui.ask("/", host=host, headers={**proxy, **NAVIGATION})[0], 200)
                self.assertEqual(ui.end(), (0, ""))
            for options, mode, reason in ((("--behind", "https://a.example"), 0o600, "--proxy-secret"), (("--proxy-secret", secret), 0o600, "--behind"),
                                          (("--behind", "https://a.example/ui", "--proxy-secret", secret), 0o600, "is not the address of a proxy"),
                                          (("--behind", "https://a.example", "--proxy-secret", secret), 0o640, "chmod"),
                                          (("--behind", "https://a.example", "--proxy-secret", secret + "s"), 0o600, "secrets")):
                os.chmod(secret, mode)
                done = subprocess.run([MILLRACE, "ui", *options], env=self.cluster.environment(), capture_output=True, text=True, timeout=LIMIT_SECONDS)
                self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1), done.stderr)
                self.assertIn(reason, done.stderr)

    def test_bounds(self):
        cookie = self.ui.enter()
        with self.assertRaises(ConnectionError):
            self.ui.ask("/" + "a" * 20000, headers=cookie)
        streams = []
        for _ in range(16):
            stream = self.ui.events()
            next(stream)
            streams.append(stream)
        # A stream counts once its first event was sent, which is when it has come.
        answer = self.ui.ask("/api/v1/events", headers=cookie)
        self.assertEqual(answer[0], 503)
        self.assertIn(b"tabs", answer[2])
        self.assertEqual(self.ui.ask("/api/v1/cluster", headers=cookie)[0], 200)
        for stream in streams:
            stream.close()


class CommandTest(unittest.TestCase):
    def test_the_browser_gets_the_address_by_a_file(self):
        with Cluster(workers=1) as cluster:
            tools = cluster.path("tools")
            os.mkdir(tools)
            with open(os.path.join(tools, "xdg-open"), "w", encoding="utf-8") as f:
                f.write(f'#!/bin/sh\necho "$@" >{cluster.path("words")}\ncp -p "$1" {cluster.path("copy")}\nmv {cluster.path("words")} {cluster.path("opened")}\n')
            os.chmod(os.path.join(tools, "xdg-open"), 0o755)
            place = cluster.path("runtime")
            os.mkdir(place, 0o700)
            environment = {**cluster.environment(), "XDG_RUNTIME_DIR": place}
            environment["PATH"] = tools + os.pathsep + environment["PATH"]
            with Ui(cluster, "--port", str(free_port()), environment=environment) as ui:
                await_file(cluster.path("opened"), ui.process)
                with open(cluster.path("opened"), encoding="utf-8") as f:
                    said = f.read()
                self.assertNotIn(ui.token, said, "everybody sees the words of a command")
                self.assertEqual(stat.S_IMODE(os.stat(said.strip()).st_mode), 0o600)
                with open(cluster.path("copy"), encoding="utf-8") as f:
                    self.assertIn(ui.address, f.read())
                self.assertEqual(ui.end(), (0, ""))
                self.assertEqual(os.listdir(place), [], "the file goes with the command")

    def test_enter_brings_another_address(self):
        ours, its = os.openpty()
        try:
            with Cluster(workers=1) as cluster, Ui(cluster, stdin=its) as ui:
                first = ui.token
                os.write(ours, b"\n")
                ui.read_address()
                self.assertNotEqual(ui.token, first)
                self.assertEqual(ui.ask(f"/?token={first}")[0], 403)
                self.assertEqual(ui.ask(f"/?token={ui.token}")[0], 303)
        finally:
            os.close(ours)
            os.close(its)

    def test_failures(self):
        with Cluster(workers=1) as cluster, Ui(cluster) as ui:
            err = cluster.run("ui", "--no-open", "--port", str(ui.port), status=1)[1]
            self.assertIn(b"in use", err)
            self.assertEqual(err.count(b"\n"), 1)
            cluster.run("ui", "--port", "0", status=2)
            cluster.run("ui", "--port", "70000", status=2)
            cluster.run("ui", "more", status=2)
            done = subprocess.run([MILLRACE, "--master", "127.0.0.1:1", "--wait", "0s", "ui", "--no-open"], env=cluster.environment(), capture_output=True,
                                  stdin=subprocess.DEVNULL, timeout=LIMIT_SECONDS, check=False)
            self.assertEqual(done.returncode, 3, done.stderr)


def free_port():
    import socket
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class DocumentsTest(unittest.TestCase):
    """The API gives what --json of the commands prints, by the same rights."""

    @classmethod
    def setUpClass(cls):
        cls.cluster = SecureCluster(workers=2, map_slots=2, users=["bob"])
        cls.cluster.__enter__()
        run = cls.cluster.run
        run("fs", "mkdir", "/in")
        run("fs", "put", "-", "/in/a", input=words(1, 30000))
        run("fs", "mkdir", "/own")
        run("fs", "put", "-", "/own/secret", input=b"x")
        run("fs", "chmod", "700", "/own")
        run("run", "wordcount", "/in", "-o", "/out", "--reducers", "2", "--name", "<b>counts</b>")
        run("run", "grep", "/in", "-o", "/found", "-D", "grep.pattern=a")

    @classmethod
    def tearDownClass(cls):
        cls.cluster.__exit__(None, None, None)

    def setUp(self):
        self.ui = Ui(self.cluster)
        self.addCleanup(self.ui.end)

    def said(self, *command):
        return json.loads(self.cluster.run(*command, "--json")[0])

    def test_same_as_the_commands(self):
        for path, command in (("jobs", "job list --start"), ("jobs?live", "job list --live --start"), ("jobs?name=counts", "job list --start --name counts"), ("jobs?last=1", "job list --start --last 1"),
                              ("jobs/1", "job status 1"), ("jobs/job1", "job status 1"), ("jobs/1/tasks", "job tasks 1"), ("jobs/1/tasks?state=failed", "job tasks 1 --state failed"),
                              ("jobs/1/counters", "job counters 1"), ("jobs/1/history", "job history 1"), ("files?path=/in", "fs ls /in"), ("files?path=/in/a", "fs ls /in/a"),
                              ("files", "fs ls /"), ("whoami", "whoami")):
            self.assertEqual(self.ui.json(path), self.said(*command.split()), path)
        self.assertEqual(self.ui.json("jobs/1/tasks?sort=took&limit=2"), self.said("job", "tasks", "1", "--slowest")[:2])
        # Of these, a part changes from one second to the next.
        for path, command, changes in (("cluster", "cluster status", {"up_s", "disks", "backup"}), ("scheduler", "scheduler show", {"cost"})):
            ours, theirs = self.ui.json(path), self.said(*command.split())
            self.assertEqual(list(ours), list(theirs))
            for key in set(ours) - changes:
                self.assertEqual(ours[key], theirs[key], (path, key))
        ours, theirs = self.ui.json("nodes"), self.said("node", "list")
        self.assertEqual([(node["node"], node["host"], node["state"], list(node)) for node in ours], [(node["node"], node["host"], node["state"], list(node)) for node in theirs])

    def test_pages_of_lists(self):
        self.assertEqual([job["job"] for job in self.ui.json("jobs?ended&last=1")], [2])
        self.assertEqual([job["job"] for job in self.ui.json("jobs?ended&last=1&before=2")], [1])
        tasks = self.said("job", "tasks", "1")
        status, headers, body = self.ui.ask("/api/v1/jobs/1/tasks?offset=1&limit=1", headers={"Cookie": self.ui.cookie})
        self.assertEqual((status, json.loads(body), headers["Millrace-Total"]), (200, tasks[1:2], str(len(tasks))))
        _, headers, body = self.ui.ask("/api/v1/files?path=/&offset=1&limit=1", headers={"Cookie": self.ui.cookie})
        self.assertEqual((json.loads(body), headers["Millrace-More"]), (self.said("fs", "ls", "/")[1:2], "yes"))
        history = self.ui.json("jobs/1/history")
        self.assertEqual(self.ui.json(f"jobs/1/history?after={history[3]['number']}&limit=2"), history[4:6])

    def test_logs(self):
        attempt = self.ui.json("jobs/1/tasks")[0]["attempt"]
        short = attempt.split(".", 1)[1]
        for stream in ("stdout", "stderr"):
            self.assertEqual(self.ui.get(f"/api/v1/jobs/1/logs/{attempt}?stream={stream}"), self.cluster.run("job", "logs", "1", short, f"--{stream}")[0])

    def test_figures_of_a_job(self):
        summary, tasks = self.ui.json("jobs/1/summary"), self.ui.json("jobs/1/tasks")
        for key, kind in (("maps", "m"), ("reduces", "r")):
            times = sorted(task["ended_at"] - task["launched_at"] for task in tasks if f".{kind}." in task["attempt"] and task["state"] == "succeeded")
            self.assertEqual(summary[key]["succeeded"], len(times))
            self.assertEqual(sum(summary[key]["took"]["buckets"]), len(times))
            self.assertAlmostEqual(summary[key]["took"]["mean_s"], sum(times) / len(times), delta=0.1)
            self.assertAlmostEqual(summary[key]["took"]["most_s"], times[-1], delta=0.1)
        time_of = summary["time"]
        self.assertAlmostEqual(time_of["slots_s"], sum(time_of[key] for key in ("map_s", "copy_s", "wait_s", "compute_s", "wasted_s")), places=5)
        self.assertEqual(sum(node["attempts"] for node in summary["nodes"]), len(tasks))
        stream = self.ui.json("stream?job=1")
        self.assertEqual(len(stream["attempts"]), len(tasks))
        columns = stream["columns"]
        rows = [dict(zip(columns, row)) for row in stream["attempts"]]
        self.assertEqual({f"job{row['job']}.{row['kind']}.{row['task']}.{row['number']}" for row in rows}, {task["attempt"] for task in tasks})
        for row in rows:
            self.assertLessEqual(row["launched_at"], row["ended_at"])
            if row["kind"] == "r" and row["state"] == "succeeded":
                self.assertTrue(row["launched_at"] <= row["copied_at"] <= row["computing_at"] <= row["ended_at"], row)
        self.assertEqual(self.ui.json(f"stream?job=1&since={stream['version']}")["attempts"], [])
        self.assertEqual(len(self.ui.json("stream")["attempts"]), len(tasks) + len(self.ui.json("jobs/2/tasks")))
        decisions = self.ui.json("decisions?launches&last=1000")
        self.assertEqual({event["attempt"] for event in decisions if event["event"] == "AttemptLaunched"},
                         {task["attempt"] for job in (1, 2) for task in self.ui.json(f"jobs/{job}/tasks")})
        self.assertIn("its input is on the node", {event["why"] for event in decisions})
        self.assertNotIn("AttemptLaunched", {event["event"] for event in self.ui.json("decisions")})

    def test_by_the_rights_of_the_user(self):
        self.assertEqual([file["path"] for file in self.ui.json("files?path=/own")], ["/own/secret"])
        self.cluster.tls, before = self.cluster.certificate_of("bob"), self.cluster.tls
        try:
            with Ui(self.cluster) as of_bob:
                self.assertEqual(of_bob.json("whoami")["user"], "bob")
                self.assertIn("bob", of_bob.json("files?path=/own", 403)["error"])
                attempt = of_bob.json("jobs/1/tasks")[0]["attempt"]
                self.assertEqual(self.cluster.run("job", "logs", "1", attempt.split(".", 1)[1], status=None)[1].count(b"may") > 0,
                                 of_bob.ask(f"/api/v1/jobs/1/logs/{attempt}?stream=stderr", headers={"Cookie": of_bob.cookie})[0] == 403)
        finally:
            self.cluster.tls = before

    def test_wrong_questions(self):
        for path, status in (("nothing", 404), ("jobs/999", 404), ("jobs/1/nothing", 404), ("jobs/x", 400), ("jobs?lvie", 400), ("jobs?state=odd", 400), ("jobs?last=x", 400),
                             ("jobs/1/tasks?sort=x", 400), ("jobs/1/tasks?limit=99999999", 400), ("jobs/1/logs/job2.m.0.0?stream=stderr", 400), ("jobs/1/logs/m?stream=stderr", 400),
                             ("jobs/1/logs/job1.m.0.0?stream=x", 400), ("files?path=a", 400), ("files?path=/none", 404), ("jobs/999/summary", 404), ("stream?job=", 400),
                             ("cluster?x", 400)):
            self.assertEqual(list(self.ui.json(path, status)), ["error"], path)

    def test_etag(self):
        cookie = self.ui.enter()
        _, headers, body = self.ui.ask("/api/v1/jobs", headers=cookie)
        tag = headers["ETag"]
        self.assertRegex(tag, r'^"[0-9a-f]{32}"$')
        status, headers, again = self.ui.ask("/api/v1/jobs", headers={**cookie, "If-None-Match": tag})
        self.assertEqual((status, headers["ETag"], again), (304, tag, b""))
        status, _, again = self.ui.ask("/api/v1/jobs", headers={**cookie, "If-None-Match": '"other"'})
        self.assertEqual((status, again), (200, body))
        status, headers, _ = self.ui.ask("/page.js", headers=cookie)
        self.assertEqual(self.ui.ask("/page.js", headers={**cookie, "If-None-Match": headers["ETag"]})[0], 304)


class EventsTest(unittest.TestCase):
    def test_changes_a_lost_master_and_its_return(self):
        with Cluster(workers=1) as cluster, Ui(cluster) as ui:
            events = ui.events()
            first = next(events)
            self.assertTrue(first["reachable"])
            self.assertAlmostEqual(first["now_at"], time.time(), delta=60)
            self.assertEqual(ui.ask("/api/v1/jobs?live", headers={"Cookie": ui.cookie})[1]["ETag"], first["tags"]["jobs?live"])
            cluster.run("fs", "put", "-", "/a", input=words(2, 3000))
            job = json.loads(cluster.run("run", "wordcount", "/a", "-o", "/b", "--detach", "--json")[0])["job"]
            cluster.run("job", "wait", str(job))
            while job not in [one["job"] for one in ui.json("jobs")]:  # which is a second old, at most
                next(events)
            cluster.kill_master()
            while next(events)["reachable"]:
                pass
            lost = next(events)
            self.assertFalse(lost["reachable"])
            self.assertRegex(lost["why"], "master|no answer")
            self.assertRegex(ui.json("cluster", 503)["error"], "master|no answer")
            self.assertIn(b"html", ui.get("/"))  # the page itself is there
            cluster.start_master()
            while not next(events)["reachable"]:
                pass
            self.assertEqual([one["job"] for one in ui.json("jobs")], [job])
            events.close()


class ChangesTest(unittest.TestCase):
    """What the page knows by what has changed is what the commands list."""

    def test_jobs_that_come_end_and_are_forgotten_over_a_restart(self):
        with Cluster(workers=2, map_slots=2, settings=["master.history_jobs=3"]) as cluster, Ui(cluster) as ui:
            def assert_same():
                """The page asks once a second at most, so what it says may be so old."""
                end = time.monotonic() + LIMIT_SECONDS
                while True:
                    jobs, nodes = (json.loads(cluster.run(*command, "--json")[0]) for command in (("job", "list"), ("node", "list")))
                    ours = [{key: value for key, value in job.items() if key not in ("waits", "foretold")} for job in ui.json("jobs")]
                    theirs = [{key: value for key, value in job.items() if key != "waits"} for job in jobs]
                    slots = [[(node["node"], node["state"], node["maps_running"]) for node in of] for of in (ui.json("nodes"), nodes)]
                    if ours == theirs and slots[0] == slots[1]:
                        return
                    self.assertLess(time.monotonic(), end, f"{ours}\n{theirs}\n{slots}")

            for number in range(1, 7):
                cluster.run("run", "sleep", "-o", f"/out{number}", "-D", "input.maps=2", "-D", "sleep.map_time=1ms", "--reducers", "0")
                if number in (1, 4, 6):
                    assert_same()
                if number == 4:
                    cluster.kill_master()
                    cluster.start_master()
            self.assertEqual(len(ui.json("jobs")), 3)
            cluster.run("run", "sleep", "-o", "/live", "--detach", "-D", "input.maps=3", "-D", "sleep.map_time=600s", "--reducers", "0")
            live = str(json.loads(cluster.run("job", "list", "--live", "--json")[0])[0]["job"])
            cluster.run("job", "priority", live, "HIGH")
            while json.loads(cluster.run("job", "status", live, "--json")[0])["maps"]["running"] < 3:
                pass
            assert_same()
            self.assertEqual(ui.json("jobs?live")[0]["priority"], "HIGH")
            cluster.run("job", "kill", live)
            assert_same()


class LiveJobsTest(unittest.TestCase):
    def test_what_is_foretold_and_what_holds_a_job(self):
        with Cluster(workers=1) as cluster, Ui(cluster) as ui:
            def sleep(name, *more):
                said = cluster.run("run", "sleep", "-o", f"/out/{name}", "--detach", "--json", "-D", "input.maps=2", "-D", "sleep.map_time=600s", "--reducers", "0", *more)[0]
                return json.loads(said)["job"]

            gate, held = sleep("gate"), sleep("held", "--hold")
            after = sleep("after", "--after", str(gate))
            events = ui.events()
            while any(job["foretold"] is None for job in ui.json("jobs?live") if job["job"] == gate) or len(ui.json("jobs?live")) < 3:
                next(events)
            said = json.loads(cluster.run("job", "status", str(gate), "--json")[0])["foretold"]
            jobs = {job["job"]: job for job in ui.json("jobs?live")}
            for ours in (jobs[gate]["foretold"], ui.json(f"jobs/{gate}")["foretold"]):
                self.assertEqual((list(ours), list(ours["end"])), (list(said), list(said["end"])))
                self.assertEqual(ours["end"]["why"], said["end"]["why"])
            self.assertIn("held", jobs[held]["reason"])
            self.assertEqual((jobs[held]["held"], jobs[held]["waits"]), (True, []))
            self.assertIn(f"job{gate}", jobs[after]["reason"])
            cluster.run("job", "kill", str(gate), str(held))  # and with the gate goes what would come after it
            while ui.json("jobs?live"):
                next(events)
            self.assertEqual([job["foretold"] for job in ui.json("jobs")], [None] * 3)
            events.close()


class JournalTest(unittest.TestCase):
    """`millrace ui --journal` shows what the master has shown."""

    UNKNOWN = ("waits", "output", "after", "waits_for", "even_if_failed", "queued_at", "left_out", "left_out_records", "bytes_shuffled", "bytes_written")

    def test_same_as_the_master_has_said(self):
        with Cluster(workers=2, map_slots=2) as cluster:
            run = cluster.run

            def said(*command):
                return json.loads(run(*command, "--json")[0])

            run("fs", "put", "-", "/in/a", input=words(1, 30000))
            run("run", "wordcount", "/in", "-o", "/out", "--reducers", "2", "--name", "<b>counts</b>", "--pool", "etl", "--priority", "HIGH")
            run("fs", "put", "-", "/damaged/a.gz", input=b"no gzip")
            run("run", "wordcount", "/damaged", "-o", "/failed", "-D", "job.max_attempts=2", status=1)
            sleeping = ["run", "sleep", "--detach", "-D", "input.maps=2", "-D", "sleep.map_time=600s", "--reducers", "0", "-o"]
            run(*sleeping, "/killed")
            run(*sleeping, "/held", "--hold")
            while said("job", "status", "3")["maps"]["running"] < 2:
                pass
            run("job", "kill", "3")
            run(*sleeping, "/live")
            while said("job", "status", "5")["maps"]["running"] < 2:
                pass
            # A master that has started again does not know any more why it killed attempts; the journal's engine does.
            tasks = {job: said("job", "tasks", str(job)) for job in (1, 2, 3, 5)}
            cluster.kill_master()
            cluster.start_master()
            while sum(node["state"] == "alive" for node in said("node", "list")) < 2:
                pass
            run("node", "decommission", "--force", "--no-wait", "2")
            jobs, nodes, scheduler = said("job", "list"), said("node", "list"), said("scheduler", "show")
            self.assertEqual(jobs.pop(3)["state"], "waiting")  # the master journals a job that is held when it is released
            with Ui(cluster) as ui:
                summaries = {job: ui.json(f"jobs/{job}/summary") for job in (1, 3)}
            journal = cluster.path("journal")
            with open(journal, "wb") as f:
                f.write(run("job", "history")[0])
            cluster.stop_master()
            with Ui(cluster, "--no-open", "--journal", journal) as ui:
                self.assertEqual(ui.json("source")["journal"]["refused_lines"], 0)
                ours = ui.json("jobs")
                self.assertEqual([job["job"] for job in ours], [job["job"] for job in jobs])
                for one, theirs in zip(ours, jobs):
                    self.assertEqual({key: one[key] for key in self.UNKNOWN}, dict.fromkeys(self.UNKNOWN))
                    # The fractions of what runs come with heartbeats, of which the journal has none. A failed job is told why in the words of the same engine.
                    for key in set(theirs) - set(self.UNKNOWN) - {"copy_fraction", "reason", "input_bytes", "bytes_read", "foretold"}:
                        mine, its = one[key], theirs[key]
                        if key in ("maps", "reduces"):
                            mine, its = ({name: number for name, number in phase.items() if name != "fraction"} for phase in (mine, its))
                        self.assertEqual(mine, its, (one["job"], key))
                    if one["ended_at"] is not None:
                        self.assertEqual((one["reason"], one["maps"], one["reduces"]), (theirs["reason"], theirs["maps"], theirs["reduces"]))
                self.assertEqual((ours[0]["input_bytes"], ours[0]["bytes_read"]), (jobs[0]["input_bytes"], jobs[0]["bytes_read"]))
                self.assertEqual([job["state"] for job in ours], ["succeeded", "failed", "killed", "running"])
                for job, theirs in tasks.items():
                    self.assertEqual(ui.json(f"jobs/{job}/tasks"), [{**task, "host": None} for task in theirs])
                for job, theirs in summaries.items():
                    self.assertEqual(ui.json(f"jobs/{job}/summary"), theirs)
                self.assertEqual([(node["node"], node["rack"], node["map_slots"], node["maps_running"]) for node in ui.json("nodes")],
                                 [(node["node"], node["rack"], node["map_slots"], node["maps_running"]) for node in nodes])
                self.assertEqual([node["state"] for node in ui.json("nodes")], ["alive", "drained"])
                self.assertEqual(ui.json("cluster")["scheduler"], scheduler["name"])
                for path in ("files?path=/in", "jobs/1/counters", f"jobs/1/logs/{tasks[1][0]['attempt']}?stream=stderr"):
                    self.assertIn("a journal has nothing of", ui.json(path, 404)["error"])
                event = next(ui.events())
                self.assertTrue(event["reachable"])
                self.assertEqual(event["now_at"], ui.json("source")["journal"]["to_at"])
                # Who may look is decided as for a live page.
                self.assertEqual(ui.ask("/api/v1/jobs")[0], 401)
                self.assertEqual(ui.ask(f"/?token={ui.token}")[0], 403)
            with open(journal, "ab") as f:
                f.write(b"17 AttemptLau")
            for damaged, why in ((journal, b'is not an event'), (cluster.path("none"), b"none"), ("", b"")):
                err = run("ui", "--no-open", "--journal", damaged, status=1)[1]
                self.assertIn(why, err)
                self.assertEqual(err.count(b"\n"), 1)


if __name__ == "__main__":
    unittest.main()
