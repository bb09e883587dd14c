# SPDX-License-Identifier: Apache-2.0
"""Jobs that run while faults strike, and what their outputs have to be: computed by coreutils, mawk or Python, not by Millrace."""

import collections
import hashlib
import json
import os
import random

import cluster

TEXT_WORDS = 1_500_000
RECORDS = 60_000


def _lines_digest(lines):
    return hashlib.sha256(b"".join(sorted(lines))).hexdigest()


def _counts(words):
    return [word + b"\t%d\n" % n for word, n in collections.Counter(words).items()]


class Work:
    """One sort of job: its command line, and the digest of its right output."""

    def __init__(self, name, words, reducers, expected, digest):
        self.name, self.words, self.reducers, self.expected, self.digest = name, words, reducers, expected, digest


def unordered(data):
    return _lines_digest(data.splitlines(keepends=True))


def ordered(data):
    return hashlib.sha256(data).hexdigest()


def prepare(ground, seed):
    """Puts the inputs and gives the list of Works."""
    directory = ground.path("input")
    os.makedirs(os.path.join(directory, "many"))
    text = cluster.words(seed, TEXT_WORDS)
    with open(os.path.join(directory, "text"), "wb") as f:
        f.write(text)
    lines = text.splitlines(keepends=True)
    files = {f"f{n}": b"".join(lines[n::6]) for n in range(6)}
    for name, data in files.items():
        with open(os.path.join(directory, "many", name), "wb") as f:
            f.write(data)
    rng = random.Random(seed)
    records = [rng.randbytes(10) + b"%088d\r\n" % n for n in range(RECORDS)]
    with open(os.path.join(directory, "records"), "wb") as f:
        f.write(b"".join(records))
    for name in ("text", "many", "records"):
        ground.run("fs", "put", "--block-size", "1M", "--replication", "3", os.path.join(directory, name), f"/{name}")

    found = cluster.shell("grep -oE '[a-g][a-z]*e' text | sort | uniq -c | awk '{print $2 \"\\t\" $1}'", cwd=directory)
    where = collections.defaultdict(set)
    for name, data in files.items():
        for word in data.split():
            where[word].add(name.encode())
    index = [word + b"\t" + b" ".join(sorted(names)) + b"\n" for word, names in where.items()]
    compute = ["-D", "loadgen.map_work=1000", "-D", "loadgen.reduce_work=500"]
    return [
        Work("wordcount", ["wordcount", "/text"], 3, _lines_digest(_counts(text.split())), unordered),
        Work("grep", ["grep", "/text", "-D", "grep.pattern=[a-g][a-z]*e"], 2, unordered(found), unordered),
        Work("invertedindex", ["invertedindex", "/many", "-D", "job.pack=0"], 2, _lines_digest(index), unordered),
        Work("terasort", ["terasort", "/records"], 3, ordered(b"".join(sorted(records))), ordered),
        Work("loadgen", ["loadgen", "/text", *compute], 2, _lines_digest(lines), unordered),
    ]


class Jobs:
    """What was submitted, and what became of it. Thread rule: run_one by any thread, settle by one while none is in it."""

    def __init__(self, ground, works):
        self.ground, self.works = ground, {work.name: work for work in works}
        self.open = {}  # name: the work and the exit status of its `run`, to be settled
        self.counts = collections.Counter()

    def run_one(self, work, name):
        self.open[name] = (work, None, b"")
        status, _, err = self.ground.client("run", *work.words, "-o", f"/jobs/{name}", "--name", name, "--reducers", str(work.reducers),
                                            "-D", "job.max_attempts=100")
        self.open[name] = (work, status, err)

    def unfinished(self):
        """Jobs of the master's list that have not ended."""
        return [job for job in self._list() if job["state"] not in ("succeeded", "failed", "killed")]

    def _list(self):
        return json.loads(self.ground.run("job", "list", "--json")[0])

    def settle(self, killed_workers):
        """Compares every job with what its client was told and its output with the right one; gives violations, a line each.

        killed_workers: how many were meanwhile. A task that loses three fails its job, as nobody can tell whose doing that was."""
        self.may_be_blamed = killed_workers >= 3
        known = {job["name"]: job for job in self._list()}
        wrong = []
        for name, (work, status, err) in sorted(self.open.items()):
            job = known.get(name)
            wrong += self._settle(name, work, status, err, job)
        self.open.clear()
        return wrong

    def _settle(self, name, work, status, err, job):
        if job is None:
            self.counts["not accepted"] += 1
            return [f"job {name}: its client was told that it succeeded, and the master does not know it"] if status == 0 else []
        self.counts[job["state"]] += 1
        self.counts["attempts killed or failed"] += job["failed_attempts"] + job["killed_attempts"]
        if job["state"] == "failed":
            if self.may_be_blamed and "was lost with its worker 3 times" in job["reason"]:
                self.counts["of those, blamed for killed workers"] += 1
                return []
            return [f"job {name} (job{job['job']}) failed: {job['reason']}"]
        if job["state"] != "succeeded":
            return [f"job {name} (job{job['job']}) is {job['state']} though nobody asked for it"] if job["state"] != "killed" else []
        parts = [f"/jobs/{name}/part-r-{n:05}" for n in range(work.reducers)]
        code, data, why = self.ground.client("fs", "cat", *parts)
        if code != 0:
            return [f"job {name} (job{job['job']}) succeeded, its output cannot be read: {why.decode(errors='replace').strip()}"]
        if work.digest(data) != work.expected:
            return [f"job {name} (job{job['job']}) succeeded with a wrong output of {len(data)} bytes"]
        self.counts["identical"] += 1
        self.ground.client("fs", "rm", "-r", f"/jobs/{name}")
        return []
