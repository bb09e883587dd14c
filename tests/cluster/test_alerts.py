# SPDX-License-Identifier: Apache-2.0
"""The alerts of deploy/monitoring: each fires on what daemons serve while its condition holds, and none does on a cluster that is well.
Prometheus' own promtool evaluates the rules, over series that keep the values of a page."""

import os
import re
import shutil
import subprocess
import time
import unittest
import urllib.request

from cluster import LIMIT_SECONDS, Cluster
from secure_cluster import SecureCluster, ca
from test_metrics import SAMPLE

RULES = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "deploy", "monitoring", "alerts.yml"))
with open(RULES, encoding="utf-8") as rules:
    ALERTS = re.findall(r"^      - alert: (\w+)$", rules.read(), re.M)
HOURS = 5  # longer than any alert waits
FAST = ["master.heartbeat=200ms", "master.startup_grace=1s", "master.lost_after=1s", "master.disconnect_grace=200ms", "metrics.listen=0"]


def series(page, job, up=1):
    """The samples of a page as series that keep their values, and `up` as Prometheus makes it."""
    labels_of = lambda labels: "{" + ",".join([f'instance="{job}"', f'job="millrace-{job}"'] + labels) + "}"  # noqa: E731
    yield "up" + labels_of([]), up
    for line in page.splitlines():
        if sample := SAMPLE.fullmatch(line):
            yield sample[1] + labels_of([sample[2]] if sample[2] else []), sample[3]


def firing(directory, *pages):
    """The names of the alerts that fire once all series have kept their values for HOURS hours."""
    text = f"rule_files: [{RULES}]\nevaluation_interval: 1m\ntests:\n  - interval: 1m\n    input_series:\n"
    for name, value in (each for page in pages for each in page):
        if value != "NaN":  # compares with nothing, as does a series that is not there
            text += f"      - series: '{name}'\n        values: '{value if '+' in str(value) else f'{value}+0'}x{HOURS * 60}'\n"
    text += "    alert_rule_test:\n" + "".join(f"      - {{eval_time: {HOURS}h, alertname: {name}, exp_alerts: []}}\n" for name in ALERTS)
    path = os.path.join(directory, "alerts_test.yml")
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    done = subprocess.run(["promtool", "test", "rules", path], capture_output=True, text=True, check=False, timeout=LIMIT_SECONDS)
    said = done.stdout + done.stderr
    found = set(re.findall(r"alertname: ?(\w+)", said))
    assert (done.returncode == 0) == (not found), said
    return found


@unittest.skipUnless(shutil.which("promtool"), "promtool is not installed (Debian's package prometheus)")
class AlertsTest(unittest.TestCase):
    def start(self, kind=Cluster, workers=2, settings=(), **more):
        cluster = kind(workers=workers, settings=FAST + list(settings), **more)
        cluster.__enter__()
        self.addCleanup(cluster.__exit__, None, None, None)
        return cluster

    def page(self, cluster, daemon):
        port = re.findall(r"metrics are at http://127\.0\.0\.1:(\d+)/metrics", cluster.log(daemon))[-1]
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=LIMIT_SECONDS) as answer:
            return answer.read().decode()

    def until(self, cluster, daemon, *lines):
        """The page, once it has all lines (regular expressions)."""
        deadline = time.monotonic() + LIMIT_SECONDS
        while not all(re.search(f"(?m)^{line}$", page := self.page(cluster, daemon)) for line in lines):
            self.assertLess(time.monotonic(), deadline, page)
            time.sleep(0.1)
        return page

    def fire(self, cluster, *pages):
        fired = firing(cluster.directory, *pages)
        self.seen.update(fired)
        return fired

    def test_each_alert_fires_when_its_condition_holds(self):
        self.seen = set()
        for condition in (self.well_then_lost, self.full, self.no_job_moves, self.certificates, self.slow):
            with self.subTest(condition=condition.__name__):
                condition()
        self.assertEqual(self.seen, set(ALERTS))

    def well_then_lost(self):
        cluster = self.start(workers=2, settings=["dfs.replication=1", "master.job_logs_keep=0"])
        cluster.run("fs", "put", "-", "/in", input=b"some words of a file\n" * 1000)
        cluster.run("run", "wordcount", "/in", "-o", "/out")
        well = self.until(cluster, "master", r'millrace_nodes\{state="live"\} 2', r'millrace_jobs_ended_total\{result="succeeded"\} 1')
        worker = self.until(cluster, "worker0", "millrace_worker_registered 1")
        self.assertEqual(self.fire(cluster, series(well, "master"), series(worker, "worker")), set())
        for n in cluster.workers:
            cluster.kill_worker(n)
        lost = self.until(cluster, "master", r'millrace_nodes\{state="lost"\} 2', r'millrace_notices\{code="missing-blocks",level="fault"\} 1')
        self.assertLessEqual({"MillraceWorkerDown", "MillraceNodeLost", "MillraceFault"}, self.fire(cluster, series(lost, "master"), series("", "worker", up=0)))
        for n in cluster.workers:
            cluster.start_worker(n)
        cluster.kill_master()
        alone = self.until(cluster, "worker0", "millrace_worker_registered 0")
        self.assertEqual(self.fire(cluster, series("", "master", up=0), series(alone, "worker")), {"MillraceMasterDown", "MillraceWorkerAlone"})

    def full(self):
        cluster = self.start(workers=2, settings=["dfs.replication=2", "master.backup_age=1s"])
        cluster.run("fs", "put", "-", "/in", input=b"some words of a file\n" * 1000)
        cluster.kill_worker(1)
        single = self.until(cluster, "master", r'millrace_notices\{code="single-replica",level="risk"\} 1')
        self.assertIn("MillraceRisk", self.fire(cluster, series(single, "master")))
        cluster.start_worker(1, settings=["worker.reserved_bytes=1TiB"])
        cluster.kill_worker(0)
        cluster.start_worker(0, settings=["worker.reserved_bytes=1TiB"])
        full = self.until(cluster, "master", r'millrace_nodes\{state="full"\} 2', r'millrace_notices\{code="backup-age",level="\w+"\} 1')
        self.assertLessEqual({"MillraceNodeFull", "MillraceDisksFilling", "MillraceBackupOld"}, self.fire(cluster, series(full, "master")))

    def no_job_moves(self):
        cluster = self.start(workers=1, settings=["dfs.replication=1"])
        cluster.run("run", "sleep", "-o", "/first", "-D", "input.maps=1", "-D", "sleep.map_time=1ms")  # stores its executable
        cluster.run("node", "maintenance", "1", "--for", "1h", "--force")
        cluster.run("run", "sleep", "-o", "/out", "-D", "input.maps=1", "-D", "sleep.map_time=1h", "--detach")
        waiting = self.until(cluster, "master", r'millrace_jobs\{state="waiting"\} 1')
        self.assertLessEqual({"MillraceJobsWait"}, self.fire(cluster, series(waiting, "master")))
        cluster.run("node", "maintenance", "--end", "1")
        stuck = self.until(cluster, "master", r'millrace_jobs\{state="running"\} 1')
        self.assertIn("MillraceJobsStuck", self.fire(cluster, series(stuck, "master")))
        cluster.run("job", "kill", "2")
        cluster.run("run", "sleep", "-o", "/held", "-D", "input.maps=1", "-D", "sleep.map_time=1s", "--detach", "--hold")
        page = self.until(cluster, "master", r'millrace_jobs\{state="held"\} 1', r'millrace_jobs\{state="running"\} 0')
        self.assertFalse({"MillraceJobsWait", "MillraceJobsStuck"} & self.fire(cluster, series(page, "master")), "a job that is held wants no slot")

    def certificates(self):
        cluster = self.start(SecureCluster, workers=1)
        fresh = self.until(cluster, "master", r'millrace_nodes\{state="live"\} 1')
        self.assertNotIn("MillraceCertificateEnds", self.fire(cluster, series(fresh, "master")))
        ca("renew", cluster.path("ca"), "master", "--days", "10")
        ends = self.until(cluster, "master", r"millrace_certificate_left_seconds [68]\d{5}(\.\d+)?")
        self.assertIn("MillraceCertificateEnds", self.fire(cluster, series(ends, "master")))

    def slow(self):
        """What needs a disk that is slow for ten minutes, and copies that take an hour: the page of a cluster in which the figures are other ones."""
        cluster = self.start(workers=1)
        page = self.until(cluster, "master", r'millrace_nodes\{state="live"\} 1')
        short = re.sub(r'(?m)^(millrace_blocks_short\{state="under_replicated"\}) \d+$', r"\1 3", page)
        fired = self.fire(cluster, series(short, "master"))
        self.assertIn("MillraceUnderReplicated", fired)
        commits = re.compile(r"millrace_commit_seconds_(?:bucket\{.*le=\"(.*)\"\}|count.*|sum.*)")
        growing = []
        for name, value in series(page, "master"):  # one commit a second, each of two to five seconds
            found = commits.fullmatch(name)
            growing.append((name, "0+60" if found and float(found[1] or "inf") > 2 else "0+0" if found else value))
        self.assertIn("MillraceSlowDisk", self.fire(cluster, growing))


if __name__ == "__main__":
    unittest.main()
