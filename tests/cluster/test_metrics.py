# SPDX-License-Identifier: Apache-2.0
"""/metrics of a master and a worker: the format, by a strict reader; each metric against docs/operate/metrics.md, both ways; the figures against
what the commands say; and peers that mean no good."""

import json
import math
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import unittest
import urllib.error
import urllib.request

from cluster import LIMIT_SECONDS, Cluster

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "docs"))
import metrics_page  # noqa: E402  (the path is set first)

FAST = ["master.heartbeat=200ms", "master.startup_grace=1s", "dfs.replication=2", "metrics.listen=0"]
NAME, LABEL = r"[a-zA-Z_:][a-zA-Z0-9_:]*", r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\[\\"n])*"'
SAMPLE = re.compile(rf"^({NAME})(?:\{{({LABEL}(?:,{LABEL})*)\}})? (NaN|[+-]Inf|[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?)$")


def read(text):
    """The families of the text, by name: (type, help, {(name, labels): value}). Fails where the text is not as the format says."""
    assert text.endswith("\n") and "\r" not in text
    families, now = {}, None
    for line in text[:-1].split("\n"):
        help_line = re.fullmatch(rf"# HELP ({NAME}) (\S.*)", line)
        type_line = re.fullmatch(rf"# TYPE ({NAME}) (gauge|counter|histogram)", line)
        if help_line:
            now = help_line[1]
            assert now not in families, f"{now} is there twice"
            families[now] = [None, help_line[2], {}]
        elif type_line:
            assert type_line[1] == now and families[now][0] is None and not families[now][2], line
            families[now][0] = type_line[2]
        else:
            sample = SAMPLE.fullmatch(line)
            assert sample, f"no sample: {line!r}"
            kind, _, samples = families[now]
            endings = ("_bucket", "_sum", "_count") if kind == "histogram" else ("",)
            assert sample[1] in [now + ending for ending in endings], f"{line!r} within {now}"
            labels = tuple(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', sample[2] or ""))
            assert len(set(label for label, _ in labels)) == len(labels), line
            assert (sample[1], labels) not in samples, f"{line!r} is there twice"
            samples[sample[1], labels] = float(sample[3])
    for name, (kind, _, samples) in families.items():
        assert kind and samples, name
        assert (kind == "counter") == name.endswith("_total"), f"{name} is a {kind}"
        if kind == "counter":
            assert min(samples.values()) >= 0, name
        if kind == "histogram":
            buckets = [(float(labels[0][1]), value) for (of, labels), value in samples.items() if of.endswith("_bucket")]
            assert buckets == sorted(buckets) and [value for _, value in buckets] == sorted(value for _, value in buckets), name
            assert buckets[-1] == (math.inf, samples[name + "_count", ()]), name
    return {name: tuple(family) for name, family in families.items()}


class MetricsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(workers=2, map_slots=2, settings=FAST)
        cls.cluster.__enter__()
        cls.cluster.run("fs", "put", "-", "/in", input=b"some words of a file\n" * 1000)
        cls.cluster.run("run", "wordcount", "/in", "-o", "/out", "--reducers", "2")

    @classmethod
    def tearDownClass(cls):
        cls.cluster.__exit__(None, None, None)

    def port(self, daemon):
        return int(re.search(r"metrics are at http://127\.0\.0\.1:(\d+)/metrics", self.cluster.log(daemon))[1])

    def page(self, daemon, target="/metrics"):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port(daemon)}{target}", timeout=LIMIT_SECONDS) as answer:
            return answer.read().decode()

    def until(self, daemon, holds):
        """The families, once the page shows what holds."""
        deadline = time.monotonic() + LIMIT_SECONDS
        while not holds(families := read(self.page(daemon))):
            self.assertLess(time.monotonic(), deadline, families)
            time.sleep(0.1)
        return families

    @staticmethod
    def value(families, name, **labels):
        return families[name][2][name, tuple(labels.items())]

    def test_the_page_has_what_the_daemons_have(self):
        for daemon in ("master", "worker"):
            families = read(self.page("master" if daemon == "master" else "worker0"))
            page = metrics_page.metrics(daemon)
            with self.subTest(daemon=daemon):
                self.assertEqual(list(families), list(page))
                for name, (kind, meaning, samples) in families.items():
                    self.assertEqual((kind, meaning), (page[name].type, page[name].help), name)
                    labels = {}
                    for _, pairs in samples:
                        for label, value in pairs:
                            if label != "le":
                                labels.setdefault(label, []).append(value)
                    self.assertEqual(set(labels), set(page[name].labels), name)
                    for label, listed in page[name].labels.items():
                        if listed is not None:
                            self.assertEqual(set(labels[label]), set(listed), name)

    def test_a_job_that_is_held_does_not_count_as_waiting(self):
        before = self.value(read(self.page("master")), "millrace_jobs_ended_total", result="killed")
        job = self.cluster.run("run", "wordcount", "/in", "-o", "/held", "--hold", "--detach")[0].split()[-1].decode()
        families = self.until("master", lambda now: self.value(now, "millrace_jobs", state="held") == 1)
        self.assertEqual(self.value(families, "millrace_jobs", state="waiting"), 0)
        self.cluster.run("job", "kill", job)
        self.until("master", lambda now: self.value(now, "millrace_jobs", state="held") == 0 and self.value(now, "millrace_jobs_ended_total", result="killed") == before + 1)

    def test_the_master_counts(self):
        families = self.until("master", lambda now: self.value(now, "millrace_nodes", state="live") == 2 and self.value(now, "millrace_jobs_ended_total", result="succeeded") >= 1)
        status = json.loads(self.cluster.run("cluster", "status", "--json")[0])
        self.assertEqual(self.value(families, "millrace_slots", kind="map", state="free") + self.value(families, "millrace_slots", kind="map", state="busy"), status["slots"]["maps"])
        self.assertEqual(self.value(families, "millrace_blocks"), status["blocks"]["blocks"])
        self.assertEqual(self.value(families, "millrace_file_bytes"), status["files"]["bytes"])
        job = json.loads(self.cluster.run("job", "status", "--json", "1")[0])
        ended = lambda kind: self.value(families, "millrace_attempts_ended_total", kind=kind, result="succeeded")  # noqa: E731
        self.assertGreaterEqual(ended("map"), job["maps"]["total"])
        self.assertGreaterEqual(ended("reduce"), 2)
        self.assertGreaterEqual(self.value(families, "millrace_task_bytes_total", kind="read"), job["bytes_read"])
        for name in ("millrace_decision_seconds", "millrace_commit_seconds", "millrace_job_wait_seconds"):
            self.assertGreater(families[name][2][name + "_count", ()], 0, name)
        self.assertTrue(math.isnan(self.value(families, "millrace_backup_age_seconds")))
        self.assertLess(self.value(families, "millrace_oldest_heartbeat_seconds"), LIMIT_SECONDS)
        codes = {dict(labels)["code"]: value for (_, labels), value in families["millrace_notices"][2].items()}
        held = [notice["code"] for notice in status["faults"] + status["warnings"]]
        self.assertEqual({code for code, value in codes.items() if value}, set(held))

    def test_a_job_that_runs_and_one_that_waits(self):
        killed = self.value(read(self.page("master")), "millrace_jobs_ended_total", result="killed")
        started = [self.cluster.run("run", "sleep", "-o", f"/s{i}", "--detach", "-D", "input.maps=4", "-D", "sleep.map_time=1h")[0].split()[-1].decode() for i in range(2)]
        self.addCleanup(self.cluster.run, "job", "kill", *started, status=None)
        self.until("master", lambda now: (self.value(now, "millrace_slots", kind="map", state="busy"), self.value(now, "millrace_jobs", state="running"), self.value(now, "millrace_jobs", state="waiting")) == (4, 1, 1))
        workers = [self.until(f"worker{i}", lambda now: self.value(now, "millrace_worker_attempts") == 2) for i in range(2)]
        self.assertEqual([self.value(now, "millrace_worker_registered") for now in workers], [1, 1])
        self.cluster.run("job", "kill", *started)
        families = self.until("master", lambda now: self.value(now, "millrace_jobs_ended_total", result="killed") == killed + 2)
        # Those of the second job, too, if they began between the two kills.
        self.assertIn(self.value(families, "millrace_attempts_ended_total", kind="map", result="killed"), range(4, 9))

    def test_no_name_of_a_job_a_user_or_a_file_is_there(self):
        self.cluster.run("run", "wordcount", "/in", "-o", "/named-output", "--name", "named-job", "--pool", "named-pool")
        for daemon in ("master", "worker0"):
            self.assertNotIn("named", self.page(daemon))
        self.assertLess(len(self.page("master").splitlines()), 300)

    def test_other_targets_and_methods(self):
        port = self.port("master")
        for target in ("/", "/metrics/x", "/../metrics", "/healthz"):
            with self.assertRaises(urllib.error.HTTPError) as refused:
                self.page("master", target)
            self.assertEqual(refused.exception.code, 404)
        with self.assertRaises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(urllib.request.Request(f"http://127.0.0.1:{port}/metrics", method="DELETE"), timeout=LIMIT_SECONDS)
        self.assertEqual(refused.exception.code, 405)

    def test_peers_that_say_nothing_or_too_much_keep_nobody_out(self):
        port = self.port("master")
        silent = [socket.create_connection(("127.0.0.1", port)) for _ in range(100)]
        try:
            for peer in silent[:30]:
                peer.sendall(b"GET /metrics HTTP/1.1\r\nHost: ")
            self.assertIn("millrace_slots", self.page("master"))
            with socket.create_connection(("127.0.0.1", port)) as loud:
                loud.settimeout(LIMIT_SECONDS)
                try:
                    loud.sendall(b"GET /metrics HTTP/1.1\r\nX: " + b"a" * 100_000)
                    while loud.recv(4096):
                        pass
                except ConnectionError:
                    pass
            silent[-1].settimeout(LIMIT_SECONDS)
            try:
                self.assertEqual(silent[-1].recv(1), b"")  # after five seconds
            except ConnectionError:
                pass
            self.assertIn("millrace_slots", self.page("master"))
        finally:
            for peer in silent:
                peer.close()

    @unittest.skipUnless(shutil.which("promtool"), "promtool is not installed (Debian's package prometheus)")
    def test_promtool_takes_the_text(self):
        for daemon in ("master", "worker0"):
            done = subprocess.run(["promtool", "check", "metrics"], input=self.page(daemon), capture_output=True, text=True, check=False, timeout=LIMIT_SECONDS)
            self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
