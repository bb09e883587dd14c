# SPDX-License-Identifier: Apache-2.0
"""deploy/testbed without root: what a file means, what its mistakes are called, which commands come of it, and what the parts do."""

import os
import socket
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
TESTBED = os.path.join(ROOT, "deploy", "testbed")
sys.path.insert(0, TESTBED + ".d")

if sys.version_info >= (3, 11):
    from testbed import cluster_file, command_line, daemons, limits, links, network, shares, units
    from testbed.failure import WrongUse
    from testbed.relay import Relay

TWO = """
[network]
worker = "100Mbit"
rack_uplink = "150Mbit"
datacenter_link = "20Mbit"
[[datacenter]]
name = "east"
racks = 2
workers = 3
[[datacenter]]
name = "west"
[[datacenter.rack]]
name = "old"
map_slots = 1
cpus = 0.5
"""


def parse(text, **options):
    return cluster_file.parse(text, "lab", **options)


def commands_of(text, tool, *words):
    """Of the network, those of ip or tc that have all words in order, one after the other."""
    found = []
    for command in network.commands(parse(text)):
        if command[0] == tool and any(command[i:i + len(words)] == list(words) for i in range(len(command))):
            found.append(command)
    return found


@unittest.skipIf(sys.version_info < (3, 11), "needs Python 3.11")
class FileTest(unittest.TestCase):
    def test_workers_and_their_places(self):
        cluster = parse(TWO)
        self.assertEqual([(w.name, w.datacenter, w.rack, w.address) for w in cluster.workers], [
            ("worker0", "east", "rack1", "10.1.1.1"), ("worker1", "east", "rack1", "10.1.1.2"), ("worker2", "east", "rack1", "10.1.1.3"),
            ("worker3", "east", "rack2", "10.1.2.1"), ("worker4", "east", "rack2", "10.1.2.2"), ("worker5", "east", "rack2", "10.1.2.3"),
            ("worker6", "west", "old", "10.2.1.1")])

    def test_a_rack_may_differ(self):
        shapes = [worker.shape for worker in parse(TWO).workers]
        self.assertEqual(shapes[0], cluster_file.Shape(map_slots=2, reduce_slots=2, cpus=None, disk=None))
        self.assertEqual(shapes[6], cluster_file.Shape(map_slots=1, reduce_slots=2, cpus=0.5, disk=None))

    def test_defaults(self):
        cluster = parse("[[datacenter]]")
        self.assertEqual((cluster.name, cluster.scheduler, cluster.master_place, cluster.client_place), ("lab", "fifo", "datacenter1", "datacenter1"))
        self.assertEqual(cluster.network, cluster_file.Network(10**9, 10**9, 10**9, 0.0))
        self.assertEqual(len(cluster.workers), 1)

    def test_settings_go_to_who_has_them(self):
        cluster = parse("[settings]\ndfs.replication = 2\ntask.memory = '64MiB'\nworker.scrub_period = '0s'\n[[datacenter]]", settings=["dfs.replication=1"])
        self.assertEqual(cluster.master_settings, ("dfs.replication=2", "dfs.replication=1"))
        self.assertEqual(cluster.worker_settings, ("task.memory=64MiB", "worker.scrub_period=0s"))

    def test_the_client_is_where_the_master_is_unless_said(self):
        self.assertEqual(parse(TWO + "[master]\nplace = 'west'").client_place, "west")
        self.assertEqual(parse(TWO + "[master]\nplace = 'west'\n[client]\nplace = 'east/rack2'").client_place, "east/rack2")

    def test_every_mistake_is_named_with_its_key(self):
        mistakes = {
            "": "datacenter: there is none",
            "[datacenter]": "datacenter: wanted are tables",
            "name = 'a.b'\n[[datacenter]]": "name: 'a.b' is not a name",
            "[network]\nworker = '5'\n[[datacenter]]": "network.worker: '5' is not a number with bit, Kbit, Mbit, Gbit",
            "[network]\nworker = 5\n[[datacenter]]": "network.worker: 5 is not",
            "[network]\nrack_uplink = '5bit'\n[[datacenter]]": "network.rack_uplink: '5bit' is too low",
            "[network]\ndelay = '11s'\n[[datacenter]]": "network.delay: '11s' is more than 10s",
            "[network]\nuplink = '5Mbit'\n[[datacenter]]": "network.uplink: there is no such key; known here are worker, rack_uplink",
            "network = 3\n[[datacenter]]": "network: 3 is not a table",
            "[worker]\nmap_slots = -1\n[[datacenter]]": "worker.map_slots: -1 is not a whole number from 0 to 1024",
            "[worker]\nmap_slots = true\n[[datacenter]]": "worker.map_slots: True is not",
            "[worker]\ncpus = 0\n[[datacenter]]": "worker.cpus: 0 is not a number of cores",
            "[worker]\ndisk = '40Mbit'\n[[datacenter]]": "worker.disk: '40Mbit' is not a number with B/s",
            "[[datacenter]]\nworkers = 0": "datacenter[1].workers: 0 is not a whole number from 1 to 200",
            "[[datacenter]]\nname = 'a'\n[[datacenter]]\nname = 'a'": "datacenter[2].name: 'a' is a datacenter already",
            "[[datacenter]]\nworkers = 2\n[[datacenter.rack]]": "datacenter[1].workers: the racks are listed",
            "[[datacenter]]\n[[datacenter.rack]]\ncpu = 1": "datacenter[1].rack[1].cpu: there is no such key",
            "[[datacenter]]\n[[datacenter.rack]]\nname = 'r'\n[[datacenter.rack]]\nname = 'r'": "datacenter[1].rack[2].name: 'r' is a rack",
            "[master]\nplace = 'west'\n[[datacenter]]\nname = 'east'": "master.place: 'west' is no place; there are east, east/rack1",
            "[settings]\nclient.x = 1\n[[datacenter]]": "settings.client.x: 'client.x=1' is not NAME=VALUE",
            "[settings]\nmaster.scheduler = 'fair'\n[[datacenter]]": "settings.master.scheduler: say it as master.scheduler",
            "[settings]\ndfs.replication = [1]\n[[datacenter]]": "settings.dfs.replication: [1] is neither",
            "colour = 1\n[[datacenter]]": "colour: there is no such key",
            "[[datacenter": "not TOML",
        }
        for text, said in mistakes.items():
            with self.subTest(text), self.assertRaises(WrongUse) as raised:
                parse(text)
            self.assertTrue(str(raised.exception).startswith(said), f"{text!r}: {raised.exception}")
            self.assertNotIn("\n", str(raised.exception))

    def test_every_example_is_right(self):
        folder = TESTBED + ".d"
        names = [name for name in os.listdir(folder) if name.endswith(".toml")]
        self.assertGreaterEqual(len(names), 3)
        for name in names:
            with open(os.path.join(folder, name)) as f:
                self.assertEqual(cluster_file.parse(f.read(), "other").name + ".toml", name)
        with open(os.path.join(folder, "two-datacenters.toml")) as f:
            cluster = parse(f.read())
        self.assertEqual((len(cluster.workers), len(cluster.racks), len(cluster.datacenters)), (16, 4, 2))

    def test_units(self):
        self.assertEqual([units.bits_per_second(text) for text in ("1Gbit", "2.5Mbit", "none")], [10**9, 2_500_000, None])
        self.assertEqual([units.bytes_per_second(text) for text in ("40MB/s", "1MiB/s")], [40_000_000, 1 << 20])
        self.assertEqual([units.seconds(text) for text in ("250us", "10ms", "1.5s")], [250e-6, 0.01, 1.5])
        self.assertEqual([units.format_rate(bits) for bits in (999_700_000, 10**9, 5, None)], ["999.7Mbit", "1Gbit", "5bit", "none"])


@unittest.skipIf(sys.version_info < (3, 11), "needs Python 3.11")
class NetworkTest(unittest.TestCase):
    def test_each_machine_has_a_namespace(self):
        added = [command[-1] for command in commands_of(TWO, "ip", "netns", "add")]
        self.assertEqual(added, [f"millrace.lab.{who}" for who in ("switches", "master", "client", *(f"worker{n}" for n in range(7)))])

    def test_nothing_is_made_in_the_namespace_of_the_machine(self):
        for command in network.commands(parse(TWO)):
            self.assertTrue(command[:3] == ["ip", "netns", "add"] or command[1] == "-n" and command[2].startswith("millrace.lab."), command)

    def test_both_ends_of_every_link_are_shaped(self):
        rates = {}
        for command in commands_of(TWO, "tc", "tbf", "rate"):
            rates.setdefault(command[command.index("rate") + 1], []).append((command[2].removeprefix("millrace.lab."), command[command.index("dev") + 1]))
        self.assertEqual(rates["20000000bit"], [("switches", end) for end in ("out-1", "in-1", "out-2", "in-2")])
        self.assertEqual(rates["150000000bit"], [("switches", end) for end in ("out-1-1", "in-1-1", "out-1-2", "in-1-2", "out-2-1", "in-2-1")])
        self.assertEqual(rates["100000000bit"], [pair for n in range(7) for pair in (("switches", f"to-worker{n}"), (f"worker{n}", "eth0"))])

    def test_who_hangs_at_which_switch(self):
        at = {command[5]: command[7] for command in commands_of(TWO, "ip", "master") if "switches" in command[2]}
        self.assertEqual((at["to-worker2"], at["to-worker5"], at["to-worker6"]), ("rack-1-1", "rack-1-2", "rack-2-1"))
        self.assertEqual((at["out-1-2"], at["in-1-2"], at["out-2"], at["in-2"]), ("rack-1-2", "dc-1", "dc-2", "backbone"))
        self.assertEqual((at["to-master"], at["to-client"]), ("dc-1", "dc-1"))
        moved = commands_of(TWO + "[client]\nplace = 'east/rack2'", "ip", "link", "set", "to-client")
        self.assertEqual(moved[0][5:8], ["to-client", "master", "rack-1-2"])

    def test_what_is_not_limited_is_not_shaped(self):
        self.assertEqual(commands_of("[network]\nworker = 'none'\nrack_uplink = 'none'\n[[datacenter]]", "tc"), [])

    def test_names_of_interfaces_fit_the_kernel(self):
        for command in commands_of("[[datacenter]]\nracks = 200\nworkers = 60", "ip", "link", "set"):
            self.assertLess(len(command[5]), 16)

    def test_a_delay_puts_the_relay_into_the_links_of_datacenters(self):
        self.assertEqual(network.taps(parse(TWO)), [])
        delayed = TWO.replace("[network]", "[network]\ndelay = '10ms'")
        self.assertEqual(network.taps(parse(delayed)), [("out-1", "in-1"), ("out-2", "in-2")])
        self.assertEqual([c[6] for c in commands_of(delayed, "ip", "tuntap", "add")], ["out-1", "in-1", "out-2", "in-2"])
        self.assertEqual(daemons.relay_command(parse(delayed))[-5:], ["0.005", "out-1", "in-1", "out-2", "in-2"])

    def test_a_burst_holds_one_uncut_segment_and_little_more(self):
        words = network.shape(50_000_000)
        self.assertEqual(words[:4], ["root", "tbf", "rate", "50000000bit"])
        self.assertTrue(65_536 < int(words[5]) < 100_000)

    def test_daemons_are_told_where_they_are(self):
        cluster = parse(TWO)
        settings = daemons.worker_settings(cluster, cluster.workers[6], "/d")
        for setting in ("worker.master=10.0.0.1:7700", "worker.bind=10.2.1.1", "worker.host=10.2.1.1", "worker.datacenter=west", "worker.rack=old",
                        "worker.map_slots=1", "worker.directory=/d/worker6"):
            self.assertIn(setting, settings)
        self.assertIn("master.scheduler=fair", daemons.master_settings(parse(TWO, scheduler="fair"), "/d"))


@unittest.skipIf(sys.version_info < (3, 11), "needs Python 3.11")
class CheckTest(unittest.TestCase):
    def test_paths_fill_the_narrowest_shared_link(self):
        paths = {path.kind: path for path in links.paths(parse(TWO))}
        self.assertEqual(list(paths), ["client to master", "within a rack", "across racks", "across datacenters"])
        self.assertEqual((len(paths["within a rack"].pairs), paths["within a rack"].declared), (1, 100_000_000))
        self.assertEqual((len(paths["across racks"].pairs), paths["across racks"].declared), (2, 150_000_000))
        self.assertEqual((len(paths["across datacenters"].pairs), paths["across datacenters"].declared), (1, 20_000_000))
        self.assertEqual(paths["across racks"].pairs[1], ("worker1", "worker4", "10.1.2.2"))

    def test_too_few_workers_to_fill_a_link(self):
        paths = {path.kind: path for path in links.paths(parse(TWO.replace("workers = 3", "workers = 1")))}
        self.assertNotIn("within a rack", paths)
        self.assertEqual(paths["across racks"].declared, 100_000_000)

    def test_one_rack_has_one_kind(self):
        self.assertEqual([path.kind for path in links.paths(parse("[[datacenter]]\nworkers = 2"))], ["client to master", "within a rack"])

    def test_complaints(self):
        def complaint(rate, trip=0.01, ceiling=None):
            return links.complaint(links.Measured("across racks", 1, 100_000_000, rate, 0.01, trip), 0.15, ceiling)
        self.assertIsNone(complaint(86_000_000))
        self.assertIsNone(complaint(114_000_000))
        self.assertIn("-16%", complaint(84_000_000))
        self.assertIn("+16%", complaint(116_000_000))
        self.assertIn("this machine moves no more than 80Mbit", complaint(75_000_000, ceiling=80_000_000))
        self.assertIn("round trip 30ms, declared 10ms", complaint(100_000_000, trip=0.03))
        self.assertIn("round trip 2ms", complaint(100_000_000, trip=0.002))

    def test_more_than_its_share_is_a_fault_and_less_is_none(self):
        self.assertIsNone(shares.Share("worker0", "cores", 0.5, 0.2).complaint(0.15))
        self.assertIn("does not hold", shares.Share("worker0", "cores", 0.5, 0.6).complaint(0.15))

    def test_one_worker_of_each_limited_shape_is_sampled(self):
        self.assertEqual([worker.name for worker in shares.sampled(parse(TWO))], ["worker6"])


@unittest.skipIf(sys.version_info < (3, 11), "needs Python 3.11")
class LimitsTest(unittest.TestCase):
    def mounts(self, root, *lines):
        path = os.path.join(root, "mounts")
        with open(path, "w") as f:
            f.writelines(f"none {root}/{at} {kind} {options} 0 0\n" for at, kind, options in lines)
        return path

    def test_version_1(self):
        with tempfile.TemporaryDirectory() as root:
            os.mkdir(os.path.join(root, "cpu"))
            made = limits.Limits(parse(TWO), root, self.mounts(root, ("cpu", "cgroup", "rw,cpu,cpuacct"), ("unified", "cgroup2", "rw")))
            made.make()
            group = os.path.join(root, "cpu", "millrace-testbed.lab", "worker6")
            self.assertEqual(self.texts(group), {"cpu.cfs_period_us": "20000", "cpu.cfs_quota_us": "10000"})
            self.assertEqual([made.groups_of(worker) for worker in parse(TWO).workers[5:]], [[], [group]])

    def test_version_2(self):
        with tempfile.TemporaryDirectory() as root:
            with open(os.path.join(root, "cgroup.controllers"), "w") as f:
                f.write("cpuset cpu io memory\n")
            made = limits.Limits(parse(TWO), root, self.mounts(root, ("", "cgroup2", "rw")))
            made.make()
            group = os.path.join(root, "millrace-testbed.lab")
            self.assertEqual(self.texts(os.path.join(group, "worker6")), {"cpu.max": "10000 20000"})
            self.assertEqual(self.texts(group), {"cgroup.subtree_control": "+cpu"})

    def test_disk(self):
        self.assertEqual(limits.disk_settings(2, "8:0", 10**6), [("io.max", "8:0 rbps=1000000 wbps=1000000")])
        self.assertEqual(limits.disk_settings(1, "8:0", 10**6),
                         [("blkio.throttle.read_bps_device", "8:0 1000000"), ("blkio.throttle.write_bps_device", "8:0 1000000")])

    def texts(self, group):
        found = {}
        for name in os.listdir(group):
            if os.path.isfile(os.path.join(group, name)):
                with open(os.path.join(group, name)) as f:
                    found[name] = f.read()
        return found


@unittest.skipIf(sys.version_info < (3, 11), "needs Python 3.11")
class RelayTest(unittest.TestCase):
    def test_frames_come_late_and_in_order(self):
        pairs = [socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM) for _ in range(4)]
        (east, near), (far, west), (north, near2), (far2, south) = pairs
        ends = [east, near, far, west, north, near2, far2, south]
        for end in ends:
            end.setblocking(False)
            self.addCleanup(end.close)
        now = [100.0]
        relay = Relay([(near.fileno(), far.fileno()), (near2.fileno(), far2.fileno())], 0.01, lambda: now[0])
        east.send(b"first")
        east.send(b"second")
        relay.take(near.fileno())
        now[0] += 0.004
        south.send(b"back")
        relay.take(far2.fileno())
        self.assertAlmostEqual(relay.give(), 0.006)
        self.assertRaises(BlockingIOError, west.recv, 100)
        now[0] += 0.006
        self.assertAlmostEqual(relay.give(), 0.004)
        self.assertEqual([west.recv(100), west.recv(100)], [b"first", b"second"])
        self.assertRaises(BlockingIOError, north.recv, 100)
        now[0] += 0.004
        self.assertIsNone(relay.give())
        self.assertEqual(north.recv(100), b"back")


@unittest.skipIf(sys.version_info < (3, 11), "needs Python 3.11")
class CommandLineTest(unittest.TestCase):
    def run_testbed(self, *words):
        return subprocess.run([sys.executable, TESTBED, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True)

    def test_plan_needs_no_root(self):
        done = self.run_testbed("plan", os.path.join(TESTBED + ".d", "one-rack.toml"))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("ip netns add millrace.one-rack.worker3\n", done.stdout)

    def test_wrong_use_is_2_and_one_line(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "wrong.toml")
            with open(path, "w") as f:
                f.write("[worker]\ncpus = 'many'\n[[datacenter]]\n")
            done = self.run_testbed("up", path)
            self.assertEqual((done.returncode, done.stderr), (2, f"testbed: {path}: worker.cpus: 'many' is not a number of cores from 0.05 to 1024\n"))
            done = self.run_testbed("up", path + ".not")
            self.assertEqual(done.returncode, 2)
            self.assertIn("No such file", done.stderr)
        self.assertEqual(self.run_testbed().returncode, 2)

    def test_without_root_it_says_so(self):
        previous, os.geteuid = os.geteuid, lambda: 1000
        self.addCleanup(setattr, os, "geteuid", previous)
        with tempfile.TemporaryFile("w+") as said:
            previous_error, sys.stderr = sys.stderr, said
            try:
                for words in (["up", os.path.join(TESTBED + ".d", "one-rack.toml")], ["status"], ["run", "--", "true"], ["down"]):
                    self.assertEqual(command_line.main(words, ""), 2)
            finally:
                sys.stderr = previous_error
            said.seek(0)
            lines = said.read().splitlines()
        self.assertEqual(len(lines), 4)
        for line in lines:
            self.assertIn("needs root", line)
            self.assertIn("sudo", line)


if __name__ == "__main__":
    unittest.main()
