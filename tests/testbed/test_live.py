# SPDX-License-Identifier: Apache-2.0
"""deploy/testbed as its users have it: four workers in two datacenters, links that are measured, a job, and nothing left, whatever ended it.

Needs root, ip and tc; without them it is skipped, with the reason.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cluster"))
from cluster import BIN, LIMIT_SECONDS, await_file, shell, words  # noqa: E402

TESTBED = os.path.join(HERE, "..", "..", "deploy", "testbed")
PROGRAMS = os.path.realpath(TESTBED) + ".d/testbed/"
NAME = f"test-{os.getpid()}"
FILE = """
[network]
worker = "80Mbit"
rack_uplink = "40Mbit"
datacenter_link = "20Mbit"
delay = "4ms"
[worker]
map_slots = 1
reduce_slots = 1
[master]
place = "a"
[settings]
dfs.block_size = "1MiB"
dfs.replication = 2
worker.reserved_bytes = "1MiB"
[[datacenter]]
name = "a"
[[datacenter.rack]]
workers = 2
[[datacenter.rack]]
cpus = 1
[[datacenter]]
name = "b"
"""
BURST_BYTES = 300_000  # what passes four buckets at once
PROBE = """
ip link add v0 type veth peer name v1 && ip link add b0 type bridge && ip tuntap add dev t0 mode tap vnet_hdr &&
tc qdisc add dev v0 root tbf rate 1mbit burst 10kb limit 10kb
"""


def why_not():
    """What this machine lacks, or None."""
    if sys.version_info < (3, 11):
        return "needs Python 3.11"
    if os.geteuid() != 0:
        return "needs root"
    for tool in ("ip", "tc", "nsenter", "unshare"):
        if not shutil.which(tool):
            return f"needs the program {tool}"
    probe = subprocess.run(["unshare", "--net", "sh", "-c", PROBE], capture_output=True, text=True)
    return None if probe.returncode == 0 else f"needs a kernel with veth, bridge, tap and tbf, and the right to use them: {probe.stderr.strip()}"


def entries(directory):
    return {os.path.join(directory, entry) for entry in os.listdir(directory) if NAME in entry} if os.path.isdir(directory) else set()


def narrowest(one, other):
    """In bits/s, of the links between two workers of FILE, by their addresses 10.DATACENTER.RACK.WORKER."""
    one, other = one.split("."), other.split(".")
    return 20e6 if one[1] != other[1] else 40e6 if one[2] != other[2] else 80e6


def processes():
    """Those that have the name of a testbed or its directory among their words, or are programs of the tool's, such as the relay."""
    found = set()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                command = f.read()
        except OSError:
            continue
        if (NAME.encode() in command or PROGRAMS.encode() in command) and int(pid) != os.getpid():
            found.add((pid, command))
    return found


def what_there_is():
    """All that a testbed could leave on the machine."""
    with open("/proc/self/mountinfo") as f:
        mounts = {line for line in f if NAME in line}
    with open("/proc/mounts") as f:
        groups = [entries(line.split()[1]) for line in f if line.split()[2] in ("cgroup", "cgroup2")]
    return {
        "links": set(os.listdir("/sys/class/net")),
        "namespaces": entries("/run/netns"),
        "mounts": mounts,
        "netns mount": os.path.ismount("/run/netns"),
        "groups": set().union(*groups),
        "processes": processes(),
        "records": entries("/run/millrace-testbed"),
        "directories": entries("/var/tmp"),
    }


@unittest.skipIf(why_not(), why_not())
class LiveTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix=f"millrace-{NAME}-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.directory = os.path.join(self.folder, "data")
        self.file = os.path.join(self.folder, "cluster.toml")
        with open(self.file, "w") as f:
            f.write(FILE)
        self.before = what_there_is()
        self.addCleanup(self.call, "down", NAME, status=None)

    def words(self, verb, *more):
        if verb == "up":
            return [sys.executable, TESTBED, "up", self.file, "--name", NAME, "--dir", self.directory, "--bin", BIN, *more]
        return [sys.executable, TESTBED, verb, *more]

    def call(self, verb, *more, status=0, environment=None):
        """Runs it; checks its exit status, unless that is None; gives what it wrote."""
        done = subprocess.run(self.words(verb, *more), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT_SECONDS, env=environment)
        if status is not None and done.returncode != status:
            raise AssertionError(f"{verb} {more}: exit status {done.returncode}, not {status}\n{done.stdout}{done.stderr}")
        return done.stdout if status == 0 else done.stderr

    def inside(self, *command):
        return self.call("run", "--name", NAME, *command)

    def assert_nothing_is_left(self):
        self.maxDiff = None
        self.assertEqual(what_there_is(), self.before)
        self.assertEqual(os.listdir(self.folder), ["cluster.toml"])

    def test_a_cluster(self):
        self.call("up")
        self.look_at_status()
        self.look_at_second_up()
        self.count_words()
        self.read_from_everywhere()
        self.call("down", NAME)
        self.assert_nothing_is_left()
        self.assertIn(f"no testbed {NAME}", self.call("down", NAME, status=2))

    def look_at_status(self):
        status = json.loads(self.call("status", NAME, "--json"))
        self.assertEqual(set(status["alive"]), {"relay", "master", "worker0", "worker1", "worker2", "worker3"})
        self.assertTrue(all(status["alive"].values()), status)
        declared = {"within a rack": 80e6, "across racks": 40e6, "across datacenters": 20e6}
        links = {link["kind"]: link for link in status["links"]}
        self.assertLessEqual(declared.keys(), links.keys())
        for kind, rate in declared.items():
            self.assertLess(abs(links[kind]["rate"] / rate - 1), 0.15, kind)
        self.assertGreater(links["across datacenters"]["trip"], 0.0078)

    def look_at_second_up(self):
        self.assertIn("is up already", self.call("up", status=1))
        self.assertIn("4 alive", self.inside("--", "sh", "-c", "echo $(millrace node list | grep -c alive) alive"))

    def count_words(self):
        text = os.path.join(self.folder, "text")
        with open(text, "wb") as f:
            f.write(words(seed=16, count=400_000))
        self.inside("--", "millrace", "fs", "put", text, "/text")
        self.inside("--", "millrace", "run", "wordcount", "/text", "-o", "/counts", "--reducers", "3")
        counted = self.inside("--", "millrace", "fs", "cat", *(f"/counts/part-r-0000{n}" for n in range(3)))
        expected = shell(f"tr -s ' ' '\\n' <{text} | sort | uniq -c | mawk '$2 != \"\" {{print $2 \"\\t\" $1}}'").decode()
        self.assertEqual(sorted(counted.splitlines()), sorted(expected.splitlines()))
        os.unlink(text)

    def read_from_everywhere(self):
        """No reader gets a block faster than the narrowest link between it and the only replica lets it."""
        file, size = os.path.join(self.folder, "bytes"), 2_500_000
        with open(file, "wb") as f:
            f.write(bytes(size))
        self.inside("--", "millrace", "fs", "put", "--replication", "1", "--block-size", "4M", file, "/bytes")
        [stat] = json.loads(self.inside("--", "millrace", "fs", "stat", "--json", "/bytes"))
        [[node]] = [block["nodes"] for block in stat["blocks"]]
        addresses = {n["node"]: n["host"] for n in json.loads(self.inside("--", "millrace", "node", "list", "--json"))}
        holder = addresses.pop(node)
        names = {worker["address"]: worker["name"] for worker in json.loads(self.call("status", NAME, "--json"))["workers"]}
        for address in addresses.values():
            begin = time.monotonic()
            self.assertEqual(self.inside("--at", names[address], "--", "sh", "-c", "millrace fs cat /bytes | wc -c").strip(), str(size))
            self.assertGreater(time.monotonic() - begin, (size - BURST_BYTES) * 8 / narrowest(holder, address), (holder, address))
        os.unlink(file)

    def test_killed_while_it_makes_the_network(self):
        up = subprocess.Popen(self.words("up"), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        with up:
            while b"links:" not in up.stdout.readline():  # said before anything is made
                self.assertIsNone(up.poll())
            await_file(self.directory, up)
            up.send_signal(signal.SIGKILL)
        self.call("down", NAME)
        self.assert_nothing_is_left()

    def test_killed_while_it_starts_the_daemons(self):
        with subprocess.Popen(self.words("up", "--no-check"), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as up:
            await_file(self.directory, up)
            await_file(os.path.join(self.directory, "worker1.pid"), up)
            up.send_signal(signal.SIGKILL)
        self.assertNotEqual(what_there_is(), self.before)
        os.unlink(f"/run/millrace-testbed/{NAME}.json")  # `down` goes by names where there is no record
        self.call("down", NAME)
        shutil.rmtree(self.directory)  # only the record knew it
        self.assert_nothing_is_left()

    def test_interrupted_it_removes_what_it_made(self):
        with subprocess.Popen(self.words("up"), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as up:
            await_file(self.directory, up)
            up.send_signal(signal.SIGTERM)
            self.assertEqual(up.stderr.read(), "testbed: interrupted by SIGTERM\n")
        self.assertEqual(up.returncode, 1)
        self.assert_nothing_is_left()

    def test_a_link_that_is_not_as_declared_fails(self):
        """With a tc that shapes nothing, which is what a mistake of ours would come to."""
        fake = os.path.join(self.folder, "tc")
        with open(fake, "w") as f:
            f.write("#!/bin/sh\n")
        os.chmod(fake, 0o755)
        said = self.call("up", status=1, environment={**os.environ, "PATH": self.folder + os.pathsep + os.environ["PATH"]})
        os.unlink(fake)
        self.assertRegex(said, "within a rack: measured .*, declared 80Mbit, ")
        self.assert_nothing_is_left()


if __name__ == "__main__":
    unittest.main()
