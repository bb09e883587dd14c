# SPDX-License-Identifier: Apache-2.0
"""millrace job trace: the trace of a real job against its history and its list of attempts."""

import collections
import http.server
import json
import os
import queue
import re
import threading
import unittest

from cluster import LIMIT_SECONDS, Cluster, await_line

FAST = ["master.heartbeat=200ms", "master.startup_grace=1s"]


class TraceTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(workers=3, map_slots=2, reduce_slots=1, settings=FAST)
        cls.cluster.__enter__()
        cls.cluster.run("run", "sleep", "-o", "/out", "--reducers", "2", "-D", "input.maps=9", "-D", "sleep.map_time=50ms", "-D", "sleep.reduce_time=50ms")
        cls.trace = json.loads(cls.cluster.run("job", "trace", "1")[0])

    @classmethod
    def tearDownClass(cls):
        cls.cluster.__exit__(None, None, None)

    def spans(self):
        return [event for event in self.trace["traceEvents"] if event["ph"] == "X"]

    def test_spans_are_the_attempts_of_the_history(self):
        begins, ends, copied = {}, {}, {}
        for event in json.loads(self.cluster.run("job", "history", "--json", "1")[0]):
            if event["event"] == "AttemptLaunched":
                begins[event["attempt"]] = (event["node"], round(event["at"] * 1e6))
            elif event["event"] == "AttemptSucceeded":
                ends[event["attempt"]] = round(event["at"] * 1e6)
            elif event["event"] in ("ReduceCopied", "ReduceComputing"):
                copied.setdefault(event["attempt"], round(event["at"] * 1e6))
        drawn = {span["args"]["attempt"]: span for span in self.spans() if "args" in span}
        self.assertEqual(set(drawn), set(begins))
        self.assertEqual(len(drawn), 11)
        for attempt, span in drawn.items():
            self.assertEqual((span["pid"], span["ts"]), begins[attempt])
            self.assertEqual(span["ts"] + span["dur"], ends[attempt])
            if ".r." in attempt:
                parts = {part["name"]: part for part in self.spans() if (part["pid"], part["tid"]) == (span["pid"], span["tid"]) and span["ts"] <= part["ts"] <= part["ts"] + part["dur"] <= span["ts"] + span["dur"]}
                self.assertLessEqual({"copy", "compute"}, set(parts))
                self.assertEqual(parts["copy"]["ts"] + parts["copy"]["dur"], copied[attempt])

    def test_spans_of_a_track_are_apart_and_there_are_no_more_tracks_than_slots(self):
        tracks = collections.defaultdict(list)
        for span in self.spans():
            if "args" in span:
                tracks[span["pid"], span["tid"]].append((span["ts"], span["ts"] + span["dur"]))
        for spans in tracks.values():
            spans.sort()
            for before, after in zip(spans, spans[1:]):
                self.assertLessEqual(before[1], after[0])
        slots = collections.Counter((node, thread > 100000) for node, thread in tracks)
        self.assertLessEqual(max(count for (_, reduce), count in slots.items() if not reduce), 2)
        self.assertEqual(max(count for (_, reduce), count in slots.items() if reduce), 1)

    def test_arrows_lead_from_maps_to_reduces(self):
        arrows = collections.defaultdict(dict)
        for event in self.trace["traceEvents"]:
            if event["ph"] in "sf":
                arrows[event["id"]][event["ph"]] = event
        self.assertEqual(len(arrows), 9 * 2)
        for arrow in arrows.values():
            for end, kind in (("s", "map"), ("f", "reduce")):
                around = [span for span in self.spans() if (span["pid"], span["tid"]) == (arrow[end]["pid"], arrow[end]["tid"]) and span["ts"] <= arrow[end]["ts"] <= span["ts"] + span["dur"] and span["name"].startswith(kind)]
                self.assertTrue(around, arrow)

    def test_a_file_and_a_job_that_is_not_there(self):
        path = self.cluster.path("trace.json")
        self.assertEqual(self.cluster.run("job", "trace", "job1", "-o", path)[0], b"")
        with open(path) as f:
            self.assertEqual(json.load(f), self.trace)
        os.remove(path)
        self.assertRegex(self.cluster.run("job", "trace", "99", status=1)[1].decode(), re.compile("99"))


class Collector(http.server.BaseHTTPRequestHandler):
    """Takes what is posted, after it has refused as often as it is told."""

    def do_POST(self):  # noqa: N802  (the name is the library's)
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        refused = self.server.refusals > 0
        self.server.refusals -= refused
        self.send_response(503 if refused else 200)
        self.end_headers()
        if not refused:
            self.server.taken.put((self.path, self.headers["Content-Type"], body))

    def log_message(self, *_):
        pass


class ExportTest(unittest.TestCase):
    def setUp(self):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Collector)
        self.server.refusals, self.server.taken = 0, queue.Queue()
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)

    def start(self, port):
        cluster = Cluster(workers=2, settings=[*FAST, f"trace.collector=http://127.0.0.1:{port}"])
        cluster.__enter__()
        self.addCleanup(cluster.__exit__, None, None, None)
        return cluster

    def test_the_collector_gets_the_trace_of_a_job_that_has_ended(self):
        cluster = self.start(self.server.server_port)
        self.server.refusals = 1
        cluster.run("run", "sleep", "-o", "/out", "--reducers", "1", "-D", "input.maps=4", "-D", "sleep.map_time=10ms", "-D", "sleep.reduce_time=10ms", "--name", "a nap")
        path, kind, body = self.server.taken.get(timeout=LIMIT_SECONDS)
        self.assertEqual((path, kind), ("/v1/traces", "application/json"))
        spans = body["resourceSpans"][0]["scopeSpans"][0]["spans"]
        job = json.loads(cluster.run("job", "status", "--json", "1")[0])
        self.assertEqual(spans[0]["name"], "a nap")
        for field, at in (("startTimeUnixNano", "submitted_at"), ("endTimeUnixNano", "ended_at")):
            self.assertEqual(int(spans[0][field]) // 1000, round(job[at] * 1e6))
        attempts = {task["attempt"]: task for task in json.loads(cluster.run("job", "tasks", "--json", "1")[0])}
        told = {attribute["value"]["stringValue"]: span for span in spans[1:] for attribute in span["attributes"] if attribute["key"] == "millrace.attempt"}
        self.assertEqual(set(told), set(attempts))
        for name, span in told.items():
            self.assertEqual(int(span["startTimeUnixNano"]) // 1000, round(attempts[name]["launched_at"] * 1e6))
            self.assertEqual((span["traceId"], span["parentSpanId"]), (spans[0]["traceId"], spans[0]["spanId"]))

    def test_without_its_collector_the_master_does_what_it_does(self):
        self.server.shutdown()
        self.server.server_close()
        cluster = self.start(self.server.server_port)
        cluster.run("run", "sleep", "-o", "/out", "-D", "input.maps=1", "-D", "sleep.map_time=10ms")
        await_line(cluster.path("master.log"), b"the trace of job1 was not sent")
        self.assertEqual(cluster.stop_master(), 0)


if __name__ == "__main__":
    unittest.main()
