# SPDX-License-Identifier: Apache-2.0
"""`up`: makes the network, checks it, and starts the daemons on it. What fails, or is interrupted, is removed again."""

import dataclasses
import os
import signal
import subprocess
import sys

from testbed import daemons, limits, links, names, network, shares, teardown, units
from testbed.failure import Failure, WrongUse
from testbed.processes import die_with_parent
from testbed.state import State, locked, path_of


def run(command):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, preexec_fn=die_with_parent)
    if done.returncode != 0:
        said = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[0]
        raise Failure(f"{' '.join(command)}: {said}; see what this kernel lacks in docs/schedulers/testbed.md")


def _check_free(name, directory):
    if os.path.exists(path_of(name)) or teardown.namespaces_of(name) or limits.groups_left(name):
        raise Failure(f"testbed {name} is up already, or was not taken down; first: deploy/testbed down {name}")
    if os.path.lexists(directory):
        raise WrongUse(f"directory {directory} exists already; remove it (deploy/testbed down {name}, if it is of that one) or give another --dir")
    if not os.path.isdir(os.path.dirname(directory)):
        raise WrongUse(f"directory {os.path.dirname(directory)} is not there; make it, or give another --dir")


def _make_network(cluster):
    if not os.path.ismount(names.NAMESPACES):
        with open(names.NAMESPACES_MADE, "w"):
            pass
    for command in network.commands(cluster):
        run(command)


def _check_links(cluster, tolerance, say):
    results, ceiling = [], None
    for path in links.paths(cluster):
        results.append(links.measure(cluster, path, tolerance))
        if path.declared is None:
            ceiling = results[-1].rate
    for line in links.table(results):
        say(line)
    _fail_for([links.complaint(result, tolerance, ceiling) for result in results])
    return results


def _check_shares(cluster, tolerance, worker_limits, say):
    measured = []
    for worker in shares.sampled(cluster):
        groups = worker_limits.groups_of(worker)

        def enter(groups=groups):
            die_with_parent()
            limits.join(groups)

        measured += shares.measure(worker, enter, worker_limits.directory)
    for share in measured:
        say(share.line())
    _fail_for([share.complaint(tolerance) for share in measured])


def _fail_for(complaints):
    """Fails with the last of them, after the others; None is no complaint."""
    complaints = [said for said in complaints if said]
    for said in complaints[:-1]:
        print(f"testbed: {said}", file=sys.stderr)
    if complaints:
        raise Failure(complaints[-1])


def describe(cluster):
    """Returns lines for people: what it is made of."""
    count, racks, datacenters = len(cluster.workers), len(cluster.racks), len(cluster.datacenters)
    rates = cluster.network
    return [
        f"testbed {cluster.name}: {count} workers, {racks} racks, {datacenters} datacenters; master at {cluster.master_place}, client at "
        f"{cluster.client_place}; scheduler {cluster.scheduler}",
        f"links: worker {units.format_rate(rates.worker)}, rack uplink {units.format_rate(rates.rack_uplink)}, datacenter link "
        f"{units.format_rate(rates.datacenter_link)}, delay between datacenters {units.format_delay(rates.delay)}",
    ]


def _summary(cluster, program, results):
    return {
        "description": describe(cluster),
        "program": program,
        "master": daemons.MASTER_ADDRESS,
        "relay": bool(network.taps(cluster)),
        "workers": [{"name": w.name, "address": w.address, "datacenter": w.datacenter, "rack": w.rack, **dataclasses.asdict(w.shape)} for w in cluster.workers],
        "links": [dataclasses.asdict(result) for result in results],
    }


def _make(cluster, program, directory, tolerance, say):
    for line in describe(cluster):
        say(line)
    os.mkdir(directory, 0o755)
    worker_limits = limits.Limits(cluster, directory)
    worker_limits.make()
    _make_network(cluster)
    started = daemons.Daemons(cluster, program, directory, worker_limits)
    started.start_relay()
    results = []
    if tolerance is not None:
        results = _check_links(cluster, tolerance, say)
        _check_shares(cluster, tolerance, worker_limits, say)
    started.start_master()
    started.start_workers()
    return _summary(cluster, program, results)


def _interrupted(number, _):
    raise Failure(f"interrupted by {signal.Signals(number).name}")


def up(cluster, program, directory, tolerance, say):
    """On return the cluster is ready. program: the path of millrace; tolerance: a share, None: no check; say: prints a line."""
    with locked(cluster.name):
        _check_free(cluster.name, directory)
        for which in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(which, _interrupted)
        state = State(cluster.name, {})
        state.record(directory=directory)
        try:
            state.record(summary=_make(cluster, program, directory, tolerance, say))
        except BaseException as error:
            for which in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(which, signal.SIG_IGN)
            try:
                teardown.remove(state)
            except Failure as left:
                raise Failure(f"{error}; and not all of it is removed: {left}") from error
            raise
