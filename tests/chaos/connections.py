# SPDX-License-Identifier: Apache-2.0
"""Strangers open thousands of connections and hold unfinished messages; what do others feel of it?

    MILLRACE_BIN=build/release/bin python3 tests/chaos/connections.py [--soft-limit 1024] [--idle 5000] [--unfinished 2000] [--bulk 4300]

A cluster of real daemons, started with that soft limit of descriptors. For each attack the time of `fs ls`, `fs cat` and a small job is
measured before, during and after it, and the master's memory. Exits with 1 if anything was not served. The attacks come from 127.0.0.2, so
that they have an address of their own; --from takes another address of this machine, one that is not loopback for strangers proper.
"""

import argparse
import os
import resource
import socket
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "cluster"))
import cgroups  # noqa: E402
from cluster import LIMIT_SECONDS, MILLRACE, Cluster, words  # noqa: E402

MIB = 1 << 20


class Limited(Cluster):
    """Its daemons are started with a soft limit of descriptors."""

    def __init__(self, soft_limit, **rest):
        super().__init__(**rest)
        self.soft_limit = soft_limit

    def _spawn(self, name, args, cgroup=None):
        with open(self.path(name + ".log"), "ab") as log:
            return subprocess.Popen(cgroups.within(cgroup, ["prlimit", f"--nofile={self.soft_limit}:", MILLRACE, *args]), stdin=subprocess.DEVNULL, stdout=log, stderr=log)


def resident(process):
    with open(f"/proc/{process.pid}/status") as f:
        fields = dict(line.split(":", 1) for line in f)
    return int(fields["VmRSS"].split()[0]) / 1024, int(fields["VmHWM"].split()[0]) / 1024


class Probe:
    """What others do meanwhile."""

    def __init__(self, cluster, data):
        self.cluster, self.data, self.jobs, self.failed = cluster, data, 0, 0

    def timed(self, check, *args):
        begin = time.monotonic()
        done = subprocess.run([MILLRACE, *args], env=self.cluster.environment(), stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT_SECONDS)
        if done.returncode != 0 or not check(done.stdout):
            self.failed += 1
            print(f"FAILED: millrace {' '.join(args)}: {done.stderr.decode(errors='replace').strip()}")
        return time.monotonic() - begin

    def measure(self, when):
        ls = max(self.timed(lambda out: b"text" in out, "fs", "ls", "/") for _ in range(3))
        cat = max(self.timed(lambda out: out == self.data, "fs", "cat", "/text") for _ in range(3))
        self.jobs += 1
        job = self.timed(lambda out: True, "run", "wordcount", "/text", "-o", f"/out{self.jobs}", "--reducers", "1")
        rss, peak = resident(self.cluster.master)
        print(f"{when:44} ls {ls:6.2f} s   cat {cat:6.2f} s   job {job:6.2f} s   master {rss:6.0f} MiB, at most {peak:6.0f} MiB", flush=True)


def connect(source, host, port):
    s = socket.socket()
    s.settimeout(20)
    if source:
        s.bind((source, 0))
    s.connect((host, port))
    s.setblocking(False)
    return s


def open_idle(source, host, port, count, first=b""):
    streams = []
    for _ in range(count):
        try:
            s = connect(source, host, port)
            if first:
                s.send(first)
            streams.append(s)
        except OSError as e:
            print(f"  the attacker has {len(streams)} connections: {e}")
            break
    return streams


def fill(streams, size):
    """As much of a message of `size` bytes as each takes, but not its end."""
    frame = struct.pack("<II", 0, size // 8)
    sent = {s: 0 for s in streams}
    body = frame + bytes(size - 8)
    end = time.monotonic() + 60
    while time.monotonic() < end:
        progress = False
        for s in streams:
            if sent[s] is None or sent[s] >= len(body):
                continue
            try:
                sent[s] += s.send(body[sent[s]:sent[s] + 65536])
                progress = True
            except BlockingIOError:
                continue
            except OSError:
                sent[s] = None
        if not progress:
            break
    held = sum(n or 0 for n in sent.values())
    dropped = sum(n is None for n in sent.values())
    print(f"  sent {held / MIB:.0f} MiB on {len(streams) - dropped} connections, {dropped} were dropped")


def close(streams):
    for s in streams:
        s.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--soft-limit", type=int, default=1024)
    parser.add_argument("--idle", type=int, default=5000)
    parser.add_argument("--unfinished", type=int, default=2000)
    parser.add_argument("--bulk", type=int, default=4300)
    parser.add_argument("--from", dest="source", default="127.0.0.2")
    options = parser.parse_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))  # for the attacker; the daemons get theirs from prlimit
    data = words(11, 200_000)
    with Limited(options.soft_limit, workers=2, map_slots=2) as cluster:
        with open(cluster.path("text"), "wb") as f:
            f.write(data)
        cluster.run("fs", "put", cluster.path("text"), "/text")
        probe = Probe(cluster, data)
        host, port = cluster.address.rsplit(":", 1)
        probe.measure("undisturbed")

        streams = open_idle(options.source, host, int(port), options.idle)
        probe.measure(f"{len(streams)} idle control connections")
        close(streams)
        probe.measure("after them")

        streams = open_idle(options.source, host, int(port), options.unfinished)
        fill(streams, MIB)
        probe.measure(f"{len(streams)} unfinished messages of 1 MiB")
        close(streams)
        probe.measure("after them")

        nodes = [line.split() for line in cluster.run("node", "list")[0].decode().splitlines()[1:]]
        bulk = next(word for word in nodes[0] if word.count(":") == 1)
        bulk_host, bulk_port = bulk.rsplit(":", 1)
        streams = open_idle(options.source, bulk_host, int(bulk_port), options.bulk)
        probe.measure(f"{len(streams)} idle connections to a worker")
        close(streams)
        probe.measure("after them")
        for name in ("master", "worker0", "worker1"):
            for line in cluster.log(name).splitlines():
                if " warn" in line or " error" in line:
                    print(f"  {name}: {line}")
        if any(p.poll() is not None for p in [cluster.master, *cluster.workers.values()]):
            probe.failed += 1
            print("FAILED: a daemon has ended")
    return 1 if probe.failed else 0


if __name__ == "__main__":
    sys.exit(main())
