# SPDX-License-Identifier: Apache-2.0
"""A cluster whose workers sit behind slow links: each in a network namespace of its own, joined by a bridge, with a token bucket
at both ends of its link. All of it is in a namespace of this program's and gone when it ends. Needs root, ip and tc."""

import contextlib
import os
import subprocess
import sys

from suite.setting import bytes_of

NETWORK = "10.77.0"
INSIDE = "MILLRACE_SLOW_LINK"  # in the environment of who runs in the namespace


def tool(*args):
    subprocess.run(args, check=True)


def enter_namespace():
    """Runs this program again in a network namespace of its own."""
    if os.environ.get(INSIDE) != "inside":
        os.environ[INSIDE] = "inside"
        os.execvp("unshare", ["unshare", "--net", sys.executable, *sys.argv])


class Links:
    """A bridge, and for each worker a namespace behind a pair of virtual interfaces, shaped to rate bytes/s unless it is None."""

    def __init__(self, workers, rate):
        self.holders = []
        tool("ip", "link", "set", "lo", "up")
        tool("ip", "link", "add", "bridge", "type", "bridge")
        tool("ip", "address", "add", f"{NETWORK}.1/24", "dev", "bridge")
        tool("ip", "link", "set", "bridge", "up")
        for n in range(workers):
            holder = subprocess.Popen(["unshare", "--net", "sh", "-c", "echo ready; exec cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            self.holders.append(holder)
            holder.stdout.readline()
            tool("ip", "link", "add", f"port{n}", "type", "veth", "peer", "name", "wire", "netns", str(holder.pid))
            tool("ip", "link", "set", f"port{n}", "master", "bridge", "up")
            tool(*self.inside(n), "ip", "link", "set", "lo", "up")
            tool(*self.inside(n), "ip", "address", "add", f"{NETWORK}.{10 + n}/24", "dev", "wire")
            tool(*self.inside(n), "ip", "link", "set", "wire", "up")
            if rate is not None:
                shape = ["root", "tbf", "rate", f"{rate * 8}bit", "burst", "256kb", "latency", "50ms"]
                tool("tc", "qdisc", "add", "dev", f"port{n}", *shape)
                tool(*self.inside(n), "tc", "qdisc", "add", "dev", "wire", *shape)

    def inside(self, n):
        return ["nsenter", "--target", str(self.holders[n].pid), "--net"]

    def part(self, n, others, apart=True):
        """Packets between worker n and these others go nowhere, or come through again: each has a wrong hardware address of the other."""
        for a, b in [(n, m) for m in others] + [(m, n) for m in others]:
            words = ["replace" if apart else "del", f"{NETWORK}.{10 + b}", "dev", "wire"]
            wrong = ["lladdr", "02:00:00:00:00:fe", "nud", "permanent"] if apart else []
            tool(*self.inside(a), "ip", "neigh", *words, *wrong)

    def close(self):
        for holder in self.holders:
            holder.stdin.close()
            holder.wait()
            holder.stdout.close()


@contextlib.contextmanager
def slow_cluster(rate, build, workers, **options):
    """A Cluster of tests/cluster with options. rate: bytes/s of a worker's link, as 50M; none: plain loopback, for any user."""
    if rate != "none":
        enter_namespace()
    links = Links(workers, bytes_of(rate)) if rate != "none" else None
    os.environ["MILLRACE_BIN"] = os.path.join(os.path.abspath(build), "bin")
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "cluster"))
    import cluster

    class Slow(cluster.Cluster):
        def __init__(self):
            super().__init__(workers=workers, **options)
            self.address = f"{NETWORK}.1:7700" if links else None

        def _spawn(self, name, args, cgroup=None):
            if not links or not name.startswith("worker"):
                return super()._spawn(name, args, cgroup)
            n = int(name[len("worker"):])
            address = f"{NETWORK}.{10 + n}"
            args = [*args, "--set", f"worker.host={address}", "--set", f"worker.bind={address}"]
            with open(self.path(name + ".log"), "ab") as log:
                return subprocess.Popen(cluster.cgroups.within(cgroup, [*links.inside(n), cluster.MILLRACE, *args]), stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    try:
        with Slow() as c:
            yield c
    finally:
        if links:
            links.close()
