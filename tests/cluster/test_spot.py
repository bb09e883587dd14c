# SPDX-License-Identifier: Apache-2.0
"""EC2 says two minutes before that it takes a machine away: the worker is drained, and then nothing is lost with it. The same holds of one
that is decommissioned."""

import http.server
import json
import os
import threading
import time
import unittest

from cluster import Cluster, await_line, words

FAST = ["master.heartbeat=200ms", "master.lost_after=2s", "master.disconnect_grace=500ms", "master.startup_grace=2s"]


class MetadataService:
    """The part of an instance's metadata service that tells of the notice, in its second version."""

    def __init__(self):
        service = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def answer(self, status, body=b""):
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_PUT(self):
                well = self.path == "/latest/api/token" and self.headers["X-aws-ec2-metadata-token-ttl-seconds"]
                self.answer(200, b"of-this-test") if well else self.answer(400)

            def do_GET(self):
                if self.headers["X-aws-ec2-metadata-token"] != "of-this-test":
                    self.answer(401)
                elif self.path == "/latest/meta-data/spot/instance-action" and service.notice:
                    self.answer(200, service.notice)
                elif self.path == "/latest/meta-data/events/recommendations/rebalance" and service.advice:
                    self.answer(200, service.advice)
                else:
                    self.answer(404)

            def log_message(self, *args):
                pass

        self.notice = self.advice = None
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.setting = f"spot.notice=http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def time_in(self, seconds):
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + seconds))

    def tell(self, seconds):
        self.notice = json.dumps({"action": "terminate", "time": self.time_in(seconds)}).encode()

    def recommend(self, seconds_ago):
        self.advice = json.dumps({"noticeTime": self.time_in(-seconds_ago)}).encode()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


class SpotTest(unittest.TestCase):
    def setUp(self):
        self.service = MetadataService()
        self.addCleanup(self.service.stop)

    def number(self, cluster, worker):
        """The node that the worker is."""
        with open(cluster.path(f"ready{worker}"), encoding="utf-8") as f:
            return int(f.read())

    def nodes(self, cluster):
        return {node["node"]: node for node in json.loads(cluster.run("node", "list", "--json")[0])}

    def foretell(self, cluster, number):
        self.service.tell(120)
        await_line(cluster.path("master.log"), b"its machine will be taken away in ")
        self.assertRegex(cluster.run("node", "list")[0].decode(), r"leaving in 1[01]\d s \(spot notice\)")
        self.assertRegex(cluster.run("cluster", "status", status=None)[0].decode(), r"is leaving in 1[01]\d s \(spot notice\)")

    def decommission(self, cluster, number):
        cluster.run("node", "decommission", "--force", "--no-wait", str(number))

    def test_the_worker_is_drained_and_nothing_is_lost_with_it(self):
        for drain, states in ((self.foretell, {"leaving"}), (self.decommission, {"decommissioning", "decommissioned"})):
            with self.subTest(drain.__name__):
                self.service.notice = None
                self.drained(drain, states)

    def drained(self, drain, states):
        accounts = os.path.join(os.environ["MILLRACE_TEST_JOBS"], "accounts")
        with Cluster(workers=0, map_slots=2, settings=FAST) as cluster:
            cluster.start_worker(0, settings=[self.service.setting])
            number = self.number(cluster, 0)
            alone = words(3, 2_500_000)
            cluster.run("fs", "put", "--replication", "1", "--block-size", "1M", "-", "/alone", input=alone)  # on the only worker there is
            for part in range(8):
                lines = "".join(f"user{n % 97} {n}\n" for n in range(part, 16_000, 8)).encode()
                cluster.run("fs", "put", "--replication", "1", "-", f"/in/{part}", input=lines)
            for n in (1, 2):
                cluster.start_worker(n)
            # More reduces than slots, and those that run wait at their end: the others are to fetch everything later.
            pipe = cluster.path("pipe")
            os.mkfifo(pipe)
            job = cluster.run("run", accounts, "/in", "-o", "/out", "-r", "6", "-D", "accounts.hold=" + pipe, "-D", "job.pack=0", "--detach")[0].split()[-1].decode()
            status = lambda: json.loads(cluster.run("job", "status", "--json", job)[0])
            while status()["maps"]["done"] < status()["maps"]["total"]:
                pass
            before = json.loads(cluster.run("job", "tasks", job, "--json")[0])
            self.assertTrue(any(task["node"] == number and ".m." in task["attempt"] for task in before), "it has outputs")

            drain(cluster, number)
            drained = lambda node: node["blocks_left"] == 0 and node["outputs_left"] == 0 and node["maps_running"] == 0
            while not drained(self.nodes(cluster)[number]):
                self.assertIn(self.nodes(cluster)[number]["state"], states)
            if drain == self.foretell:
                self.assertIn(b"other nodes have everything that it has", cluster.run("node", "list")[0])
            cluster.kill_worker(0)

            self.assertEqual(cluster.run("fs", "cat", "/alone")[0], alone)
            with open(pipe, "w", encoding="utf-8"):
                os.unlink(pipe)
            cluster.run("job", "wait", job)
            after = json.loads(cluster.run("job", "tasks", job, "--json")[0])
            maps = [task["attempt"] for task in after if ".m." in task["attempt"]]
            self.assertEqual(sorted(maps), sorted(task["attempt"] for task in before if ".m." in task["attempt"]), "no map ran again")
            self.assertEqual(status()["failed_attempts"], 0)
            sums = {}
            for n in range(16_000):
                sums[f"user{n % 97}"] = sums.get(f"user{n % 97}", 0) + n
            out = b"".join(cluster.output("/out").values()).decode().splitlines()
            large = sum(value >= 1000 for value in sums.values())
            self.assertEqual(len(out) + large + sum(value < 100 for value in sums.values()), len(sums))
            self.assertEqual(json.loads(cluster.run("fs", "fsck", "--json", status=None)[0])["missing"], 0)

    def test_a_notice_that_is_withdrawn_and_a_new_start_leave_nothing_behind(self):
        with Cluster(workers=1, settings=FAST) as cluster:
            self.service.tell(300)
            cluster.start_worker(5, settings=[self.service.setting])
            number = self.number(cluster, 5)
            state = lambda: self.nodes(cluster)[number]["state"]
            while state() != "leaving":
                pass
            # A master that starts again is told again.
            cluster.kill_master()
            cluster.start_master()
            while (now := state()) != "leaving":
                self.assertNotEqual(now, "alive")
            self.service.notice = None
            while (now := state()) != "alive":
                self.assertEqual(now, "leaving")
            # Stopped and started again with the same directory, as a spot instance may be.
            self.service.tell(300)
            while state() != "leaving":
                pass
            cluster.kill_worker(5)
            self.service.notice = None
            cluster.start_worker(5, settings=[self.service.setting])
            self.assertEqual(self.number(cluster, 5), number)
            self.assertEqual(state(), "alive")

    def test_a_rebalance_recommendation_is_a_hint_and_drains_only_for_the_time_of_its_setting(self):
        self.service.recommend(60)
        with Cluster(workers=0, settings=FAST) as cluster:
            # The second was told longer ago than its setting says, and the third not.
            for n, settings in enumerate(([], ["spot.rebalance=30s"], ["spot.rebalance=1h"])):
                cluster.start_worker(n, settings=[self.service.setting, *settings])
            numbers = [self.number(cluster, n) for n in range(3)]
            for n in range(3):
                await_line(cluster.path(f"worker{n}.log"), b"a rebalance recommendation, which is no notice")
            while self.nodes(cluster)[numbers[2]]["state"] != "leaving":
                pass
            self.assertEqual([self.nodes(cluster)[number]["state"] for number in numbers], ["alive", "alive", "leaving"])
            self.assertRegex(cluster.run("node", "list")[0].decode(), r"leaving in 3\d\d\d s \(perhaps: a rebalance recommendation\)")
            # A notice counts for what it is.
            self.service.tell(100)
            await_line(cluster.path("master.log"), b"(spot notice)")

    def test_a_wrong_setting_is_refused_and_a_service_that_is_not_there_is_none(self):
        with Cluster(workers=0, settings=FAST) as cluster:
            cluster.start_worker(0, settings=["spot.notice=perhaps"], wait=False)
            self.assertEqual(cluster.workers[0].wait(), 2)
            self.assertIn('spot.notice "perhaps" is not off, auto or http://HOST:PORT', cluster.log("worker0"))
            setting = self.service.setting
            self.service.stop()
            cluster.start_worker(1, settings=[setting])
            await_line(cluster.path("worker1.log"), b"it is not known whether this machine will be taken away")
            self.assertEqual([node["state"] for node in self.nodes(cluster).values()], ["alive"])


if __name__ == "__main__":
    unittest.main()
