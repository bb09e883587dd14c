# SPDX-License-Identifier: Apache-2.0
"""Checks that the links are what the file declares, by transfers between workers: within a rack, across racks, across datacenters.

As many pairs send at a time as fill the narrowest shared link. What counts is the rate on the wire, headers with it, since that is what a
token bucket limits: 1514 bytes for 1448 of a full segment. A machine that is busy with other things moves less than its links allow, so
what was too slow is measured again; what was too fast is wrong at once.
"""

import dataclasses
import math
import os
import subprocess
import sys
import time

from testbed import daemons, names, network, units
from testbed.failure import Failure
from testbed.processes import die_with_parent

WIRE_BYTES, PAYLOAD_BYTES = 1514, 1448
LEAD_SECONDS, SKIP_SECONDS, COUNT_SECONDS = 0.6, 0.6, 1.2
TRIES = 3
TRIP_SLACK_SECONDS = 0.004  # of a machine with two cores
PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "transfer.py")


@dataclasses.dataclass(frozen=True)
class Path:
    """pairs: (name, name, address) of who sends and who receives. declared: bits/s over all pairs, None if nothing limits them."""
    kind: str
    pairs: tuple[tuple[str, str, str], ...]
    declared: int | None
    delay: float


@dataclasses.dataclass(frozen=True)
class Measured:
    """rate in bits/s on the wire, round trip in seconds, the shortest of all pairs."""
    kind: str
    flows: int
    declared: int | None
    rate: float
    declared_trip: float
    trip: float

    @property
    def off(self):
        """How far off the rate is: 0.1 is a tenth too fast. None where nothing is declared."""
        return None if self.declared is None else self.rate / self.declared - 1

    def is_good(self, tolerance):
        trip_is_good = self.declared_trip * 0.95 <= self.trip <= self.declared_trip * (1 + tolerance) + TRIP_SLACK_SECONDS
        return (self.off is None or abs(self.off) <= tolerance) and trip_is_good


def _least(*rates):
    return min((rate for rate in rates if rate is not None), default=None)


def _path(kind, senders, receivers, worker_rate, shared, delay):
    """As many pairs as fill the shared link, as far as there are workers."""
    most = min(len(senders), len(receivers))
    wanted = 1 if shared is None or worker_rate is None else math.ceil(shared / worker_rate)
    count = min(most, wanted)
    declared = _least(None if worker_rate is None else worker_rate * count, shared)
    pairs = tuple((a.name, b.name, b.address) for a, b in zip(senders[:count], receivers[:count]))
    return Path(kind, pairs, declared, delay)


def paths(cluster):
    """Returns the paths to measure, one of each kind that the cluster has. Pure."""
    found, rates = [], cluster.network
    if cluster.places[cluster.master_place][0] == cluster.places[cluster.client_place][0]:
        narrowest = rates.rack_uplink if cluster.master_place != cluster.client_place else None
        found.append(Path("client to master", ((names.CLIENT, names.MASTER, network.MASTER_ADDRESS),), narrowest, 0.0))
    racks = {}
    for worker in cluster.workers:
        racks.setdefault(worker.rack_index, []).append(worker)
    in_rack = next((rack for rack in racks.values() if len(rack) > 1), None)
    if in_rack:
        found.append(_path("within a rack", in_rack[:1], in_rack[1:2], rates.worker, None, 0.0))
    couples = [(a, b) for a in racks for b in racks if a < b]
    across_racks = next(((a, b) for a, b in couples if a[0] == b[0]), None)
    if across_racks:
        a, b = across_racks
        found.append(_path("across racks", racks[a], racks[b], rates.worker, rates.rack_uplink, 0.0))
    across = next(((a, b) for a, b in couples if a[0] != b[0]), None)
    if across:
        a, b = across
        found.append(_path("across datacenters", racks[a], racks[b], rates.worker, _least(rates.rack_uplink, rates.datacenter_link), rates.delay))
    return found


def _program(cluster, who, *args):
    command = [*daemons.inside(cluster.name, who), sys.executable, "-I", PROGRAM, *map(str, args)]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=die_with_parent)


def _result_of(process, kind):
    out, err = process.communicate(timeout=60)
    if process.returncode != 0 or not out.strip():
        raise Failure(f"{kind}: the measured transfer failed: {(err.strip().splitlines() or ['it said nothing'])[-1]}")
    return float(out)


def measure_once(cluster, path):
    """Returns a Measured. Raises Failure if nothing gets through."""
    receivers = [_program(cluster, receiver, "receive", address) for _, receiver, address in path.pairs]
    ports = [receiver.stdout.readline().strip() for receiver in receivers]
    begin = time.monotonic() + LEAD_SECONDS + SKIP_SECONDS + 10 * path.delay
    end = begin + COUNT_SECONDS
    senders = [_program(cluster, sender, "send", address, port or 1, begin, end) for (sender, _, address), port in zip(path.pairs, ports)]
    trip = min(_result_of(sender, path.kind) for sender in senders)
    counted = sum(_result_of(receiver, path.kind) for receiver in receivers)
    rate = counted * 8 / COUNT_SECONDS * WIRE_BYTES / PAYLOAD_BYTES
    return Measured(path.kind, len(path.pairs), path.declared, rate, 2 * path.delay, trip)


def measure(cluster, path, tolerance):
    """Measures until it is good, or too fast, or has been tried often enough; returns the fastest."""
    best = None
    for _ in range(TRIES):
        got = measure_once(cluster, path)
        if best is None or got.rate > best.rate:
            best = got
        if best.is_good(tolerance) or (best.off or 0) > tolerance:
            break
    return best


def complaint(measured, tolerance, ceiling):
    """Returns what is wrong with a measured path, or None. ceiling: bits/s that this machine moves over a link without a limit, or None."""
    if measured.is_good(tolerance):
        return None
    if measured.off is not None and abs(measured.off) > tolerance:
        said = f"{measured.kind}: measured {units.format_rate(measured.rate)}, declared {units.format_rate(measured.declared)}, {measured.off:+.0%}"
        if measured.off < 0 and ceiling is not None and ceiling < measured.declared:
            return f"{said}; this machine moves no more than {units.format_rate(ceiling)}, so declare less"
        return f"{said}, more than {tolerance:.0%} off; try again when the machine is idle, or give --tolerance"
    return (f"{measured.kind}: measured round trip {units.format_delay(measured.trip)}, declared {units.format_delay(measured.declared_trip)}; "
            "try again when the machine is idle, or give --tolerance")


def table(results):
    """Returns lines for people."""
    rows = [("link", "flows", "declared", "measured", "off", "round trip, declared", "measured")]
    for m in results:
        off = "" if m.off is None else f"{m.off:+.1%}"
        rows.append((m.kind, str(m.flows), units.format_rate(m.declared), units.format_rate(m.rate), off, units.format_delay(m.declared_trip),
                     units.format_delay(m.trip)))
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return ["  ".join([row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:]))]) for row in rows]
