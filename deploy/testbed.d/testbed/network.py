# SPDX-License-Identifier: Apache-2.0
"""The network of a testbed as a list of commands. Pure.

All bridges are in one namespace, each worker, the master and the client in one of its own; nothing is in the machine's. A rack is a
bridge; its uplink is a pair of virtual interfaces to the bridge of its datacenter, and a datacenter's link one to the bridge of the
backbone. With a delay that link is a pair of taps instead, between which the relay (relay.py) carries frames. Both ends of a link are
shaped by a token bucket (tbf), which is what limits the direction that leaves there. So the links are those of the simulator
(lab/workload/cluster_spec.h). Master and client stand at a switch, and their links are not shaped.
"""

from testbed.names import CLIENT, MASTER, SWITCHES, namespace

MASTER_ADDRESS, CLIENT_ADDRESS = "10.0.0.1", "10.0.0.2"
PREFIX_LENGTH = 8
BACKBONE = "backbone"
QUEUE_SECONDS = 0.05  # how long a full queue at a link takes to drain
LEAST_QUEUE = 256 << 10
LEAST_BURST = 70_000  # a segment of 64 KiB that is still in one piece, and its headers
BURST_SECONDS = 0.002


def switch_name(place):
    """The bridge of a datacenter (index of one number) or of a rack (of two)."""
    return "-".join(["rack" if len(place) == 2 else "dc", *map(str, place)])


def taps(cluster):
    """(near, far) of every datacenter's link with a delay: the tap at the datacenter and the one at the backbone."""
    if not cluster.network.delay or len(cluster.datacenters) < 2:
        return []
    return [(f"out-{d}", f"in-{d}") for d, in cluster.datacenters]


def shape(rate):
    """The words of tc for a token bucket of so many bits/s. The burst is short, so that short transfers are slow as well."""
    bytes_per_second = rate / 8
    burst = max(LEAST_BURST, round(bytes_per_second * BURST_SECONDS))
    queue = max(LEAST_QUEUE, round(bytes_per_second * QUEUE_SECONDS)) + burst
    return ["root", "tbf", "rate", f"{rate}bit", "burst", str(burst), "limit", str(queue)]


class _Plan:
    def __init__(self, cluster):
        self.cluster, self.commands = cluster, []

    def run(self, *words):
        self.commands.append([str(word) for word in words])

    def ip(self, who, *words):
        self.run("ip", "-n", namespace(self.cluster.name, who), *words)

    def add_namespace(self, who):
        self.run("ip", "netns", "add", namespace(self.cluster.name, who))
        self.ip(who, "link", "set", "lo", "up")

    def add_bridge(self, bridge):
        self.ip(SWITCHES, "link", "add", bridge, "type", "bridge")
        self.ip(SWITCHES, "link", "set", bridge, "up")

    def shape(self, who, device, rate):
        if rate is not None:
            self.run("tc", "-n", namespace(self.cluster.name, who), "qdisc", "add", "dev", device, *shape(rate))

    def attach(self, device, bridge, rate):
        self.ip(SWITCHES, "link", "set", device, "master", bridge, "up")
        self.shape(SWITCHES, device, rate)

    def join(self, lower, upper, number, rate):
        """A link between two bridges."""
        near, far = f"out-{number}", f"in-{number}"
        self.ip(SWITCHES, "link", "add", near, "type", "veth", "peer", "name", far)
        self.attach(near, lower, rate)
        self.attach(far, upper, rate)

    def join_by_relay(self, lower, upper, ends, rate):
        for device, bridge in zip(ends, (lower, upper)):
            self.ip(SWITCHES, "tuntap", "add", "dev", device, "mode", "tap", "vnet_hdr")
            self.attach(device, bridge, rate)

    def plug(self, who, address, bridge, rate):
        """A namespace of one machine, with a link to a bridge."""
        self.add_namespace(who)
        port = f"to-{who}"
        self.ip(SWITCHES, "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", namespace(self.cluster.name, who))
        self.attach(port, bridge, rate)
        self.ip(who, "address", "add", f"{address}/{PREFIX_LENGTH}", "dev", "eth0")
        self.ip(who, "link", "set", "eth0", "up")
        self.shape(who, "eth0", rate)


def commands(cluster):
    """Returns the commands that make the network, in order, each a list of words."""
    plan, network = _Plan(cluster), cluster.network
    plan.add_namespace(SWITCHES)
    if len(cluster.datacenters) > 1:
        plan.add_bridge(BACKBONE)
    by_relay = taps(cluster)
    for n, place in enumerate(cluster.datacenters):
        plan.add_bridge(switch_name(place))
        if by_relay:
            plan.join_by_relay(switch_name(place), BACKBONE, by_relay[n], network.datacenter_link)
        elif len(cluster.datacenters) > 1:
            plan.join(switch_name(place), BACKBONE, place[0], network.datacenter_link)
    for place in cluster.racks:
        plan.add_bridge(switch_name(place))
        plan.join(switch_name(place), switch_name(place[:1]), f"{place[0]}-{place[1]}", network.rack_uplink)
    plan.plug(MASTER, MASTER_ADDRESS, switch_name(cluster.places[cluster.master_place]), None)
    plan.plug(CLIENT, CLIENT_ADDRESS, switch_name(cluster.places[cluster.client_place]), None)
    for worker in cluster.workers:
        plan.plug(worker.name, worker.address, switch_name(worker.rack_index), network.worker)
    return plan.commands
