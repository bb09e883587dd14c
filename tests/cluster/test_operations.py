# SPDX-License-Identifier: Apache-2.0
"""What somebody who runs a cluster for others asks of it: how it is, whom to send requests to, what its logs say."""

import http.client
import json
import os
import re
import unittest

from cluster import Cluster, await_line, words

FAST = ["master.heartbeat=200ms", "master.lost_after=2s", "master.disconnect_grace=500ms", "master.startup_grace=1s"]


class OperationsTest(unittest.TestCase):
    def setUp(self):
        self.cluster = Cluster(workers=0, settings=[*FAST, "health.listen=127.0.0.1:0"])
        self.addCleanup(self.cluster.__exit__, None, None, None)
        self.cluster._set = self.settings
        self.cluster.__enter__()

    def settings(self, prefixes):
        """Settings of both daemons go to both."""
        return [word for setting in self.cluster.settings if setting.split(".")[0] in (*prefixes, "health", "log") for word in ("--set", setting)]

    def start_workers(self, *names):
        for n, name in enumerate(names):
            self.cluster.start_worker(n, [f"worker.name={name}"])

    def ask(self, *args, status=0):
        return self.cluster.run(*args, status=status)[0]

    def status(self, status=0):
        return json.loads(self.ask("cluster", "status", "--json", status=status))

    def nodes(self):
        return {node["name"]: node for node in json.loads(self.ask("node", "list", "--json"))}

    def page(self, daemon, target):
        log = self.cluster.path(daemon + ".log")
        await_line(log, b"health is at")
        port = int(re.findall(r"health is at http://127.0.0.1:(\d+)/", self.cluster.log(daemon))[-1])  # the last that was started
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        connection.request("GET", target)
        answer = connection.getresponse()
        page = json.loads(answer.read())
        connection.close()
        return answer.status, page

    def await_page(self, daemon, status):
        """The page follows the daemon within a second or two."""
        for _ in range(100_000):
            try:
                found, page = self.page(daemon, "/readyz")
            except ConnectionRefusedError:  # one that has just been started has not said yet where it is
                continue
            if found == status:
                return page
        raise AssertionError(page)

    def test_a_cluster_without_workers_is_not_healthy(self):
        _, error = self.cluster.run("cluster", "status", status=1)
        self.assertIn(b"cluster status: ", error)
        self.await_page("master", 503)
        self.assertEqual(self.page("master", "/healthz")[0], 200, "the daemon itself is well")
        self.start_workers("one")
        self.assertEqual(self.await_page("master", 200)["reasons"], [])
        self.await_page("worker0", 200)
        self.assertTrue(self.status()["healthy"])

    def test_status_counts_what_there_is_and_says_what_is_wrong(self):
        self.start_workers("one", "two", "three")
        with open(self.cluster.path("text"), "wb") as f:
            f.write(words(1, 100_000))
        self.ask("fs", "put", "--replication", "3", self.cluster.path("text"), "/text")
        self.ask("fs", "put", "--replication", "1", self.cluster.path("text"), "/once")
        status = self.status()
        self.assertEqual((status["healthy"], status["faults"], status["nodes"]["live"]), (True, [], 3))
        self.assertEqual((status["files"]["files"], status["blocks"]["blocks"], status["blocks"]["missing"]), (2, 2, 0))
        self.assertEqual(status["slots"], {"maps": 3, "maps_running": 0, "reduces": 3, "reduces_running": 0})
        self.assertEqual(status["master"], {key: status["workers"][0][key] for key in ("version", "protocol")})
        self.assertEqual(status["workers"][0]["nodes"], 3)
        text = self.ask("cluster", "status").decode()
        self.assertIn("healthy", text)
        self.assertIn("3 live", text)

        place = json.loads(self.ask("fs", "stat", "--json", "/once"))[0]["blocks"][0]["nodes"][0]
        number = {node["node"]: n for n, node in enumerate(self.nodes().values())}[place]
        self.cluster.kill_worker(number)
        self.cluster.stop_master()
        self.cluster.start_master()  # forgets nothing, and awaits the workers first
        for n in range(3):
            if n != number:
                await_line(self.cluster.path(f"worker{n}.log"), b"registered")
        self.ask("fs", "safemode", "wait")
        status = self.status(status=1)
        self.assertFalse(status["healthy"])
        self.assertEqual((status["nodes"]["live"], status["nodes"]["lost"], status["blocks"]["missing"]), (2, 1, 1))
        self.assertIn("no replica", status["faults"][0]["text"])
        self.assertEqual([fault["code"] for fault in status["faults"]], ["missing-blocks"])
        self.assertEqual((status["blocks"]["under_replicated"], status["blocks"]["short_of_nodes"]), (0, 1), "two nodes hold no three replicas")
        self.assertEqual(json.loads(self.ask("fs", "fsck", "--json", status=1))["short_of_nodes"], 1)

        lost = [name for name, node in self.nodes().items() if node["state"] == "lost"]
        _, error = self.cluster.run("node", "forget", lost[0], status=1)
        self.assertIn(b"missing", error)
        self.ask("node", "forget", "--force", lost[0])
        self.assertEqual(len(self.nodes()), 2)
        wide = self.ask("node", "list", "--wide").decode()
        self.assertIn(status["master"]["version"] + " (protocol ", wide)

    def test_blocks_with_a_single_replica_are_a_risk_that_status_fsck_and_the_probe_tell(self):
        self.start_workers("one", "two")
        with open(self.cluster.path("text"), "wb") as f:
            f.write(words(5, 1_000_000))
        self.ask("fs", "put", "--block-size", "1M", "--replication", "2", self.cluster.path("text"), "/twice")
        self.ask("fs", "put", "--replication", "1", self.cluster.path("text"), "/once")
        blocks = len(json.loads(self.ask("fs", "stat", "--json", "/twice"))[0]["blocks"])
        place = json.loads(self.ask("fs", "stat", "--json", "/once"))[0]["blocks"][0]["nodes"][0]
        self.assertEqual((self.status()["state"], self.status()["blocks"]["single_replica"]), ("healthy", 0))
        other = 1 - [node["node"] for node in self.nodes().values()].index(place)
        log = self.cluster.path("master.log")
        self.cluster.kill_worker(other)
        await_line(log, b"is lost")
        while self.status(status=None)["faults"]:  # the master has just started, and may wait for the worker to come back
            pass
        status = self.status(status=4)
        self.assertEqual((status["healthy"], status["state"], status["faults"], status["blocks"]["single_replica"]), (False, "at risk", [], blocks))
        risk, = (notice for notice in status["warnings"] if notice["level"] == "risk")
        self.assertEqual(risk["code"], "single-replica")
        self.assertIn(f"{blocks} blocks have one replica", risk["text"])
        out, error = self.cluster.run("cluster", "status", status=4)
        self.assertRegex(out.decode(), r"(?m)^cluster +\w+, AT RISK$")
        self.assertRegex(out.decode(), rf"(?m)^blocks .* {blocks} with a single replica; ")
        self.assertRegex(out.decode(), rf"(?m)^RISK +single-replica: {blocks} blocks have one replica")
        self.assertIn(f"millrace: cluster status: {blocks} blocks have one replica".encode(), error)
        fsck = json.loads(self.ask("fs", "fsck", "--json", status=4))
        self.assertEqual((fsck["healthy"], fsck["single_replica"], {block["path"] for block in fsck["unhealthy"]}), (False, blocks, {"/twice"}))
        self.assertRegex(self.ask("fs", "fsck", status=4).decode(), rf"(?m)^single replica +{blocks}$")
        page = self.await_page("master", 200)
        while "single-replica" not in {warning["code"] for warning in page["warnings"]}:  # it follows within a second or two
            page = self.await_page("master", 200)
        self.assertEqual((page["status"], page["reasons"]), ("ready", []))
        self.cluster.start_worker(other, [f"worker.name={('one', 'two')[other]}"])
        while self.cluster.run("cluster", "status", status=None)[0].count(b"single-replica"):  # until it has listed its blocks
            pass
        self.assertEqual((self.status()["state"], self.status()["blocks"]["single_replica"]), ("healthy", 0))

    def test_a_master_starts_with_the_last_good_scheduler_file_and_says_so(self):
        file, log = self.cluster.path("scheduler.toml"), self.cluster.path("master.log")

        def write(text):
            with open(file + ".new", "w") as f:
                f.write(text)
            os.rename(file + ".new", file)

        def warning():
            # A master that has just started is awaiting its workers.
            return {notice["code"]: notice["text"] for notice in self.status(status=None)["warnings"]}.get("scheduler-file")

        self.start_workers("one")
        write("[pools.ads]\nweight = 3\n")
        self.cluster.stop_master()
        self.cluster.settings += [f"master.scheduler_file={file}", "dfs.replication=1"]  # of executables, too
        self.cluster.start_master()
        self.ask("scheduler", "set", "fair")
        refused = self.cluster.run("scheduler", "set", "external", status=None)
        self.assertRegex(refused[1], rb"it asks a program, and none is named")
        self.assertIsNone(warning())
        write("[pools.ads]\nweihgt = 3\n")
        await_line(log, b"the scheduler file has been refused since ")
        self.assertIn(f"{file}:2: pools.ads.weihgt: ", warning())
        self.cluster.kill_master()
        self.cluster.start_master()
        self.ask("run", "sleep", "-o", "/slept", "-D", "input.maps=1", "--reducers", "0", "--pool", "ads")
        self.assertRegex(warning(), rf"^the scheduler file has been refused since 20\S+Z: {re.escape(file)}:2: pools.ads.weihgt: .*; a copy is in force, of its contents on 20\S+Z")
        page = self.await_page("master", 200)
        self.assertIn("scheduler-file", {notice["code"] for notice in page["warnings"]})
        view = json.loads(self.ask("scheduler", "show", "--json"))
        self.assertIn("weihgt", view["file_problem"])
        weight = lambda: {group["name"]: group["weight"] for group in json.loads(self.ask("scheduler", "show", "--json"))["groups"]}["ads"]
        self.assertEqual(weight(), 3)
        seen = os.path.getsize(log)
        write("[pools.ads]\nweight = 4\n")
        await_line(log, b"is in force", seen)
        self.assertIsNone(warning())
        self.assertEqual(weight(), 4)

    def test_nodes_are_named_in_every_verb_and_decommissioned_until_they_are_empty(self):
        self.start_workers("one", "two", "three")
        with open(self.cluster.path("text"), "wb") as f:
            f.write(words(2, 3_000_000))
        self.ask("fs", "put", "--block-size", "1M", "--replication", "2", self.cluster.path("text"), "/text")
        self.ask("node", "decommission", "two")
        node = self.nodes()["two"]
        self.assertEqual((node["state"], node["blocks_left"]), ("decommissioned", 0))
        _, error = self.cluster.run("node", "decommission", "one", status=1)
        self.assertIn(b"would be left: 1 for files with 2 replicas", error)
        self.ask("node", "recommission", f"{node['host']}:{node['port']}")
        self.assertEqual(self.nodes()["two"]["state"], "alive")
        _, error = self.cluster.run("node", "decommission", "nobody", status=1)
        self.assertIn(b"nobody", error)
        self.ask("node", "unknown", "three")
        self.ask("node", "decommission", "--no-wait", "three")
        self.assertIn(self.nodes()["three"]["state"], ("decommissioning", "decommissioned"))

    def test_a_node_leaves_though_files_want_more_replicas_than_nodes_are_left(self):
        self.start_workers("one", "two", "three")
        with open(self.cluster.path("text"), "wb") as f:
            f.write(words(4, 2_000_000))
        self.ask("fs", "put", "--block-size", "1M", "--replication", "3", self.cluster.path("text"), "/text")
        _, error = self.cluster.run("node", "decommission", "three", status=1)
        self.assertIn(b"too few live nodes would be left: 2 for files with 3 replicas", error)
        self.ask("node", "decommission", "--force", "three")
        self.assertEqual((self.nodes()["three"]["state"], self.nodes()["three"]["blocks_left"]), ("decommissioned", 0))
        health = json.loads(self.ask("fs", "fsck", "--json"))
        self.assertEqual((health["under_replicated"], health["short_of_nodes"], health["unhealthy"]), (0, health["blocks"], []))
        self.assertIn(b"want more replicas than there are nodes in use", self.ask("cluster", "status"))
        log = self.cluster.path("master.log")
        self.cluster.kill_worker(2)
        await_line(log, b"is lost")
        self.ask("node", "forget", "three")
        self.assertEqual(set(self.nodes()), {"one", "two"})
        self.assertEqual(self.status()["blocks"]["short_of_nodes"], health["blocks"])

    def test_the_log_tells_how_jobs_ended(self):
        self.start_workers("one")
        with open(self.cluster.path("text"), "wb") as f:
            f.write(words(3, 1000))
        self.ask("fs", "put", self.cluster.path("text"), "/text")
        self.ask("run", "wordcount", "/text", "-o", "/words", "--name", "the first")
        self.assertRegex(self.cluster.log("master"), r'info master: job1 "the first" of \S+ succeeded: waited .*, ran .*, 1 map, 1 reduce, 0 failed attempts')
        tasks = json.loads(self.ask("job", "tasks", "1", "--json"))
        self.assertEqual({task["attempt"] for task in tasks}, {"job1.m.0.0", "job1.r.0.0"})
        self.assertEqual({task["state"] for task in tasks}, {"succeeded"})
        self.assertTrue(all(task["ended_at"] >= task["launched_at"] > 0 for task in tasks))
        self.assertIn(b"job1.m.0.0", self.ask("job", "tasks", "1", "--slowest"))
        self.assertEqual(json.loads(self.ask("job", "tasks", "1", "--state", "failed", "--json")), [])
        self.cluster.run("job", "tasks", "1", "--state", "nonsense", status=2)
        self.assertEqual(len(json.loads(self.ask("job", "list", "--json", "--name", "first", "--since", "1h"))), 1)
        self.assertEqual(json.loads(self.ask("job", "list", "--json", "--user", "nobody-of-that-name")), [])


class LogFileTest(unittest.TestCase):
    def test_json_lines_in_a_file(self):
        cluster = Cluster(workers=1, settings=FAST)
        cluster._set = lambda prefixes: [
            *Cluster._set(cluster, prefixes), "--set", "log.format=json", "--set", "log.file=" + cluster.path("master-lines" if "master" in prefixes else "worker-lines")]
        with cluster:
            cluster.run("fs", "mkdir", "/d")
            for daemon in ("master", "worker"):
                with open(cluster.path(daemon + "-lines"), encoding="utf-8") as f:
                    lines = [json.loads(line) for line in f]
                self.assertTrue(lines)
                self.assertEqual({line["component"] for line in lines}, {daemon})
                self.assertEqual({"time", "level", "message"} - set(lines[0]), set())
            self.assertEqual(cluster.log("master"), "", "standard error has nothing then")


if __name__ == "__main__":
    unittest.main()
