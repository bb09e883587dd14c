# SPDX-License-Identifier: Apache-2.0
"""A made-up cluster of 100 nodes with 1,000 jobs, one of them of 100,000 tasks, as documents behind the files of the page: to see the page with more
than a test can run. Standard library alone."""

import http.server
import json
import os
import random
import threading
import time
import urllib.parse

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
UI = os.path.join(ROOT, "client", "ui")
VENDORED = {"/uplot.css": "uplot/uPlot.min.css", "/uplot.js": "uplot/uPlot.esm.js", "/preact.js": "htm/standalone.module.js"}
TYPES = {"html": "text/html; charset=utf-8", "css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml"}
CSP = "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'"
EVIL = "<img src=x onerror=\"window.broken=1\"><script>window.broken=1</script>"
COLUMNS = ["job", "kind", "task", "number", "node", "launched_at", "copied_at", "computing_at", "ended_at", "state", "second"]


class FakeCluster:
    def __init__(self, seed=1, jobs=1000, tasks=100_000, nodes=100, fresh=0):
        """`fresh`: so many attempts come with each further request for the stream; they ended an hour ago."""
        self.fresh, self.version = fresh, 5
        self.rng = random.Random(seed)
        self.now = round(time.time())
        self.big = tasks
        self.nodes = [self.node(n + 1) for n in range(nodes)]
        self.jobs = [self.job(n + 1, jobs) for n in range(jobs)]
        self.rows = self.attempts(nodes)
        self.streams = {}
        self.lost = False

    def move(self):
        """Called with each event: nothing moves here."""

    def tags(self):
        return {}

    def node(self, n):
        return {"node": n, "host": f"10.0.{n // 10}.{n % 10}", "port": 7701, "state": "ailing" if n == 7 else "alive", "may_go": "in use", "rack": f"/r{n % 5}", "datacenter": "d",
                "sandbox": [], "map_slots": 4, "reduce_slots": 2, "maps_running": 4, "reduces_running": n % 3, "blocks": 12000 + n, "used": 7 << 38, "free": 3 << 38, "capacity": 11 << 38,
                "trashed": 0, "unknown_blocks": 0, "unknown_held": False, "name": f"w{n}", "version": "0.7.0", "protocol": 5, "blocks_left": 0, "leaving_in_s": None, "outputs_left": 0,
                "maintenance_left_s": 0, "reason": None, "avoided_for_s": 0, "avoided_by": [], "ailing": "its disk is slow" if n == 7 else None, "sync_s": 0.01, "since_heartbeat_s": 0.4}

    def job(self, n, all_jobs):
        live = n > all_jobs - 300
        state = ("running" if n <= all_jobs - 250 else "waiting") if live else self.rng.choice(["succeeded"] * 8 + ["failed", "killed"])
        maps = self.big - 1000 if n == all_jobs - 299 else self.rng.randint(1, 900)
        submitted = self.now - 20000 + n * 15
        fraction = 1.0 if not live else self.rng.random() if state == "running" else 0.0
        job = {"job": n, "name": EVIL if n % 100 == 99 else self.rng.choice(["nightly-report", "grep logs", "join", "index", "clicks by country", "a-very-long-name-" * 4]),
               "owner": self.rng.choice(["ann", "bob", "etl"]), "state": state, "reason": "" if state in ("running", "waiting", "succeeded") else "job1.m.3: exit status 1: no such file",
               "priority": "NORMAL", "pool": self.rng.choice(["", "etl", EVIL if n % 50 == 0 else "adhoc"]), "deadline_at": None, "output": f"/out/{n}", "submitted_at": submitted,
               "first_launched_at": None if state == "waiting" else submitted + 20, "ended_at": None if live else submitted + 400,
               "maps": {"total": maps, "running": 8 if state == "running" else 0, "done": int(maps * fraction), "fraction": fraction},
               "reduces": {"total": 1000 if maps > 50000 else 8, "running": 0, "done": 0, "fraction": max(0.0, fraction - 0.5)}, "copy_fraction": fraction * 0.8,
               "maps_launched": {"node": maps, "rack": 3, "datacenter": 1, "off": 0}, "failed_attempts": 0, "killed_attempts": 0, "preempted_attempts": 0, "speculative_attempts": 1,
               "maps_left_out": 0, "left_out": [], "records_left_out": 0, "left_out_records": [], "input_bytes": maps << 26, "bytes_read": maps << 26, "bytes_shuffled": maps << 20,
               "bytes_written": maps << 18, "waits": []}
        if live and n % 2:
            time_of = {"at": self.now + 600, "why": None, "intervals": [{"percent": 90, "from_at": self.now + 300, "to_at": self.now + 1200}], "records": 40, "elsewhere": 0, "stated": 200, "held": 181}
            job["foretold"] = {"made_at": self.now, "start": None if state == "running" else time_of, "end": time_of}
        if state != "succeeded" and live:
            job["waits"] = [{"job": n, "name": job["name"], "pool": job["pool"], "kind": "map", "running": 8, "pending": 100, "cause": "slots-busy", "used": 400, "of": 400, "others": [], "other_count": 3,
                             "next": None, "group": None, "group_used": 0, "group_share": None, "since_at": submitted, "until_at": None,
                             "reason": f"all 400 map slots are busy; {n % 40 + 1} jobs before it in its pool get the next ones"}]
        return job

    def attempts(self, nodes):
        rows, job, free = [], self.jobs[-300]["job"], {}
        for i in range(self.big):
            reduce = i >= self.big - 1000
            node = i % nodes + 1
            lane = (node, (i // nodes) % 4, reduce)
            begin = free.get(lane, self.now - 7000.0)
            took = self.rng.lognormvariate(3.2, 0.4) * (2 if node == 7 else 1)
            end = begin + took
            free[lane] = end
            state = "failed" if i % 997 == 5 else "killed" if i % 499 == 7 else "succeeded"
            rows.append([job, "r" if reduce else "m", i - (self.big - 1000) if reduce else i, 1 if i % 499 == 7 else 0, node, round(begin, 3), round(begin + took / 3, 3) if reduce else None,
                         round(begin + took / 2, 3) if reduce else None, None if end > self.now else round(end, 3), "running" if end > self.now else state, i % 499 == 7])
        other = [one["job"] for one in self.jobs[-299:-240]]
        for i in range(8000):
            node, begin = i % nodes + 1, self.now - 700 + self.rng.random() * 690
            end = begin + self.rng.lognormvariate(2.4, 0.5)
            rows.append([self.rng.choice(other), "m", i, 0, node, round(begin, 3), None, None, None if end > self.now else round(end, 3), "running" if end > self.now else "succeeded", False])
        return rows

    def stream(self, query):
        """Made once for each query, so that the page is measured and not this."""
        if "since" in query and self.fresh > 0:
            self.version += 1
            rows = [[self.jobs[-1]["job"], "m", self.version * self.fresh + i, 0, i % len(self.nodes) + 1, self.now - 3700, None, None, self.now - 3600, "succeeded", False] for i in range(self.fresh)]
            return json.dumps({**self.stream_of(query), "version": self.version, "jobs": [{"job": self.jobs[-1]["job"], "name": "fresh", "pool": ""}], "attempts": rows}).encode()
        key = json.dumps(query, sort_keys=True)
        if key not in self.streams:
            self.streams[key] = json.dumps(self.stream_of(query)).encode()
        return self.streams[key]

    def stream_of(self, query):
        rows = [row for row in self.rows if "job" not in query or row[0] == int(query["job"][0])]
        if "since" in query:
            rows = []
        elif "last_s" in query:
            rows = [row for row in rows if (row[8] or self.now) > self.now - int(query["last_s"][0])]
        most = int(query.get("limit", ["50000"])[0])
        left_out, rows = max(0, len(rows) - most), sorted(rows, key=lambda row: row[5])[-most:]
        of = {row[0] for row in rows}
        return {"now_at": self.now, "jobs_left_out": 0, "version": 5, "left_out": left_out, "jobs": [{"job": job["job"], "name": job["name"], "pool": job["pool"]} for job in self.jobs if job["job"] in of],
                "columns": COLUMNS, "attempts": rows, "busy": self.busy() if left_out and "job" in query else None}

    def busy(self):
        """As if no node was ever idle until near the end."""
        return {"from_at": self.now - 7000, "part_s": 7000 / 240, "nodes": [{"node": n + 1, "maps": [4.0 if i < 200 or n == 6 else max(0.0, round(4 - (i - 200) * self.rng.random() / 5, 2)) for i in range(240)],
                                                                             "reduces": [] if n % 3 else [0.0] * 220 + [2.0] * 20} for n in range(len(self.nodes))]}

    def group(self, name, share):
        slots = {"running": int(share * 0.9), "demand": 900, "share": share, "minimum": 0, "maximum": None, "preempts_at": None}
        return {"name": name, "weight": 1, "jobs": 30, "maps": slots, "reduces": {**slots, "share": share / 2, "running": int(share / 3)}}

    def cluster(self):
        return {"healthy": False, "state": "at risk", "faults": [], "warnings": [{"code": "single-replica", "level": "risk", "text": "7 blocks have one replica: bring back workers that are lost"}], "cluster": "c" * 32,
                "master": {"version": "0.7.0", "protocol": 5}, "workers": [], "up_s": 86400.5, "scheduler": "fair+delay",
                "nodes": {"live": 100, "draining": 0, "avoided": 0, "full": 0, "ailing": 1, "maintenance": 0, "lost": 2, "awaited": 0},
                "slots": {"maps": 400, "maps_running": 400, "reduces": 200, "reduces_running": 99}, "disks": {"capacity": 11 << 44, "used": 7 << 44, "free": 3 << 44},
                "files": {"files": 120345, "directories": 1234, "bytes": 5 << 43}, "blocks": {"blocks": 1200000, "missing": 0, "under_replicated": 12, "short_of_nodes": 0, "single_replica": 7,
                                                                                           "only_in_maintenance": 0, "corrupt_replicas": 0}, "jobs": {"running": 50, "waiting": 250}, "backup": None, "out_of_use": [], "notes": []}

    def summary(self, job):
        rows = [row for row in self.rows if row[0] == job]
        took = {"mean_s": 24.1, "least_s": 3, "p25_s": 18, "median_s": 23.5, "p75_s": 30, "p95_s": 48, "most_s": 140, "bucket_s": 6, "buckets": [10, 900, 9000, 20000, 22000, 15000, 9000, 6000, 4000, 2000, 900, 300, 100, 40, 20, 10, 9, 8, 7, 6, 5, 4, 3, 2]}
        kind = {"tasks": len(rows), "attempts": len(rows), "second_attempts": 200, "running": 400, "succeeded": len(rows) - 700, "failed": 100, "killed": 200, "lost": 0, "preempted": 0,
                "input_bytes": len(rows) << 26, "largest_input_bytes": 1 << 26, "took": took}
        return {"job": job, "maps": kind, "reduces": {**kind, "tasks": 1000, "succeeded": 900},
                "nodes": [{"node": n + 1, "attempts": 1000, "failed": n % 3, "maps": 980, "map_median_s": 47.0 if n == 6 else 23.0 + n % 5, "reduces": 10, "reduce_median_s": 30.0} for n in range(100)],
                "longest_reduces": [{"attempt": f"job{job}.r.{n}.0", "state": "running", "node": n, "copy_s": 30 - n, "wait_s": 5 + n, "compute_s": 60 - 2 * n} for n in range(20)],
                "time": {"waited_s": 20, "until_last_map_s": 6800, "after_last_map_s": 180, "slots_s": 2.4e6, "map_s": 2.2e6, "copy_s": 9000, "wait_s": 3000, "compute_s": 15000, "wasted_s": 173000, "cpu_s": 2e6}}

    def document(self, path, query):
        if path == "source":
            return {"journal": None}
        if path == "cluster":
            return self.cluster()
        if path == "nodes":
            return self.nodes
        if path == "scheduler":
            return {"name": "fair+delay", "file": None, "file_problem": None, "facts": {}, "group_noun": "pool", "groups": [self.group("etl", 120), self.group("adhoc", 200), self.group(EVIL, 80)], "waiting": [], "deadlines": [],
                    "cost": {"deciding_s": 1, "events": 1, "master_cpu_s": 1}, "facts_not_listed": 0, "groups_not_listed": 0, "waiting_not_listed": 0}
        if path == "jobs":
            if "live" in query:
                return [job for job in self.jobs if job["ended_at"] is None]
            before = int(query.get("before", ["0"])[0])
            return [job for job in self.jobs if job["ended_at"] is not None and (not before or job["job"] < before)][-int(query.get("last", ["50"])[0]):]
        if path == "stream":
            return self.stream(query)
        if path == "decisions":
            return [{"number": n, "at": self.now - n, "event": "AttemptLaunched", "attempt": f"job{self.jobs[-300]['job']}.m.{n}.0", "node": n % 100 + 1, "why": "its input is on the node"} for n in range(100)]
        if path == "files":
            return [{"path": query["path"][0].rstrip("/") + "/" + name, "type": kind, "length": 1 << 30, "replication": 3, "block_size": 64 << 20, "modified_at": self.now - 5000, "owner": "ann", "group": "staff", "mode": "644" if kind == "file" else "755",
                     "id": 4} for name, kind in (("logs", "directory"), (EVIL.replace("/", "|"), "directory"), ("a.txt", "file"), ("b & c.txt", "file"))]
        parts = path.split("/")
        job = next((job for job in self.jobs if str(job["job"]) == parts[1]), None)
        if job is None:
            return None
        if len(parts) == 2:
            return job
        if parts[2] == "summary":
            return self.summary(job["job"])
        if parts[2] == "tasks":
            begin = int(query["offset"][0])
            return [{"attempt": f"job{row[0]}.{row[1]}.{row[2]}.{row[3]}", "state": row[9], "node": row[4], "host": EVIL if n == 0 else "10.0.0.1", "launched_at": row[5], "ended_at": row[8], "reason": "no such file" if row[9] == "failed" else ""}
                    for n, row in enumerate(self.rows[begin:begin + 100])]
        return [{"group": "millrace", "name": EVIL, "value": 12345678}]


class MovingCluster(FakeCluster):
    """The same as time goes by: with each event jobs come, go on and end, and attempts end. What it remembers is bounded."""

    def __init__(self, jobs=1000, ending=2, attempts=10, **more):
        super().__init__(jobs=jobs, tasks=2000, **more)
        self.most, self.ending, self.each, self.tick, self.lock = jobs, ending, attempts, 0, threading.Lock()
        self.rows = [row for row in self.rows if row[8] is not None]  # only what comes later runs

    def move(self):
        """Called once for each event."""
        with self.lock:
            self.tick += 1
            self.now = round(time.time())
            live = [job for job in self.jobs if job["ended_at"] is None]
            for job in self.rng.sample(live, min(50, len(live))):
                if job["state"] == "running":
                    job["maps"]["fraction"] = min(1.0, job["maps"]["fraction"] + 0.01)
                    job["maps"]["done"] = int(job["maps"]["total"] * job["maps"]["fraction"])
            for job in live[:self.ending]:
                job.update(state="succeeded", ended_at=self.now, waits=[], foretold=None)
            for job in [one for one in live if one["state"] == "waiting"][:self.ending]:
                job.update(state="running", first_launched_at=self.now)
            for _ in range(self.ending):
                number = self.jobs[-1]["job"] + 1
                self.jobs.append({**self.job(number, number), "submitted_at": self.now, "state": "waiting", "first_launched_at": None})
            self.jobs = self.jobs[-self.most:]

    def tags(self):
        """No document is as it was."""
        return {path: f'"{self.tick}"' for path in ("cluster", "nodes", "scheduler", "jobs?live")}

    def stream(self, query):
        with self.lock:
            if "since" not in query:
                return json.dumps({**self.stream_of(query), "version": self.tick + 5}).encode()
            live = [job for job in self.jobs if job["state"] == "running"] or self.jobs[-1:]
            rows, of = [], {}
            since = int(query["since"][0]) - 5
            for number in range(self.each * max(0, min(60, self.tick - since))):
                job = live[(since + number) % len(live)]
                of[job["job"]] = {"job": job["job"], "name": job["name"], "pool": job["pool"]}
                rows.append([job["job"], "m", self.tick * self.each + number, 0, number % len(self.nodes) + 1, self.now - 20, None, None, self.now - 1, "succeeded", False])
            return json.dumps({**self.stream_of(query), "version": self.tick + 5, "jobs": list(of.values()), "attempts": rows}).encode()

    def document(self, path, query):
        found = super().document(path, query)
        if path == "decisions":
            return [{**event, "number": 10**6 + self.tick * 10 - event["number"], "attempt": f"job{self.jobs[-1]['job']}.m.{self.tick * 10 - event['number']}.0"} for event in found]
        return found


class FakeUi:
    """Serves the page of the fake cluster at self.address."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.ended = threading.Event()
        fake = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                target = urllib.parse.urlsplit(self.path)
                if target.path == "/api/v1/events":
                    return fake.tell(self)
                if target.path.startswith("/api/v1/"):
                    found = fake.cluster.document(target.path[len("/api/v1/"):], urllib.parse.parse_qs(target.query, keep_blank_values=True))
                    body, kind = found if isinstance(found, bytes) else json.dumps(found if found is not None else {"error": "none"}).encode(), "application/json"
                    return fake.answer(self, 200 if found is not None else 404, kind, body)
                name = os.path.join("vendor", VENDORED[target.path]) if target.path in VENDORED else "page/page.html" if target.path == "/" else "page" + target.path
                with open(os.path.join(UI, name), "rb") as f:
                    return fake.answer(self, 200, TYPES[name.rsplit(".", 1)[1]], f.read())

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.address = f"http://127.0.0.1:{self.server.server_address[1]}/"
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()

    def answer(self, handler, status, kind, body):
        try:
            self.send(handler, status, kind, body)
        except OSError:  # the page has gone on to another view
            handler.close_connection = True

    def send(self, handler, status, kind, body):
        handler.send_response(status)
        for name, value in (("Content-Type", kind), ("Content-Security-Policy", CSP), ("Content-Length", len(body)), ("ETag", f'"{hash(body)}"'), ("Millrace-Total", len(self.cluster.rows)), ("Millrace-More", "no")):
            handler.send_header(name, str(value))
        handler.end_headers()
        handler.wfile.write(body)

    def tell(self, handler):
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.end_headers()
        try:
            while True:
                self.cluster.move()
                digest = {"reachable": not self.cluster.lost, "why": "cannot reach the master at 10.0.0.1:7700: connection refused; is it running?" if self.cluster.lost else "", "now_at": time.time(), "tags": self.cluster.tags()}
                handler.wfile.write(f"event: digest\ndata: {json.dumps(digest)}\n\n".encode())
                handler.wfile.flush()
                if self.ended.wait(1):
                    return
        except OSError:
            pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()
