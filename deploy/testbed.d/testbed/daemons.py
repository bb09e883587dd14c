# SPDX-License-Identifier: Apache-2.0
"""The processes of a testbed: what their command lines are (pure), how they are started, and how their readiness is waited for.

They are daemons: nobody supervises them. DIR has NAME.log, NAME.pid and a directory NAME of each.
"""

import os
import subprocess
import sys
import time

from testbed import limits, names, network
from testbed.failure import Failure
from testbed.processes import die_with_parent

MASTER_PORT = 7700
MASTER_ADDRESS = f"{network.MASTER_ADDRESS}:{MASTER_PORT}"
RELAY = "relay"
READY_SECONDS = 120
POLL_SECONDS = 0.05


def master_settings(cluster, directory):
    own = [f"master.bind={MASTER_ADDRESS}", f"master.directory={directory}/{names.MASTER}", f"master.address_file={directory}/address",
           f"master.scheduler={cluster.scheduler}"]
    return own + list(cluster.master_settings)


def worker_settings(cluster, worker, directory):
    own = [f"worker.master={MASTER_ADDRESS}", f"worker.directory={directory}/{worker.name}", f"worker.name={worker.name}",
           f"worker.host={worker.address}", f"worker.bind={worker.address}", f"worker.datacenter={worker.datacenter}", f"worker.rack={worker.rack}",
           f"worker.map_slots={worker.shape.map_slots}", f"worker.reduce_slots={worker.shape.reduce_slots}",
           f"worker.ready_file={directory}/{worker.name}.ready", "worker.sandbox=off"]
    return own + list(cluster.worker_settings)


def relay_command(cluster):
    """A packet crosses two links with the relay on its way from one datacenter to another, so that each takes half of the delay."""
    ends = [end for pair in network.taps(cluster) for end in pair]
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "relay.py")
    return [sys.executable, "-I", program, repr(cluster.network.delay / 2), *ends]


def inside(cluster_name, who):
    """The words that run a command in the namespace. `ip netns exec` would hide the control groups."""
    return ["nsenter", f"--net={names.namespace_path(cluster_name, who)}", "--"]


def with_settings(command, settings):
    return [*command, *(word for setting in settings for word in ("--set", setting))]


class Daemons:
    """Starts the processes of a cluster. program: the path of millrace; directory: DIR."""

    def __init__(self, cluster, program, directory, worker_limits):
        self.cluster, self.program, self.directory, self.limits = cluster, program, directory, worker_limits
        self.started = {}

    def path(self, name):
        return os.path.join(self.directory, name)

    def _start(self, name, who, command, groups=()):
        with open(self.path(name + ".log"), "ab") as log:
            process = subprocess.Popen([*inside(self.cluster.name, who), *command], stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.directory,
                                       start_new_session=True, preexec_fn=lambda: limits.join(groups))
        self.started[name] = process
        with open(self.path(name + ".pid"), "w") as f:
            f.write(f"{process.pid}\n")

    def start_relay(self):
        if not network.taps(self.cluster):
            return
        self._start(RELAY, names.SWITCHES, relay_command(self.cluster))
        self._await({RELAY: lambda: "ready" in self._log(RELAY)})

    def start_master(self):
        settings = master_settings(self.cluster, self.directory)
        made = subprocess.run(with_settings([self.program, "master", "--init"], settings), stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              preexec_fn=die_with_parent)
        if made.returncode != 0:
            raise Failure(f"master: {_said(made.stderr)}")
        self._start(names.MASTER, names.MASTER, with_settings([self.program, "master"], settings))
        self._await({names.MASTER: lambda: os.path.exists(self.path("address"))})

    def start_workers(self):
        ready = {}
        for worker in self.cluster.workers:
            command = with_settings([self.program, "worker"], worker_settings(self.cluster, worker, self.directory))
            self._start(worker.name, worker.name, command, self.limits.groups_of(worker))
            ready[worker.name] = lambda file=self.path(worker.name + ".ready"): os.path.exists(file)
        self._await(ready)

    def _await(self, conditions):
        """Returns when all conditions, by name of daemon, hold. Raises Failure if a daemon ends before, or if it takes too long."""
        end = time.monotonic() + READY_SECONDS
        waiting = dict(conditions)
        while True:
            waiting = {name: holds for name, holds in waiting.items() if not holds()}
            if not waiting:
                return
            for name in [*waiting, *self.started]:
                status = self.started[name].poll()
                if status is not None:
                    raise Failure(f"{name} ended with exit status {status}: {_said(self._log(name))}")
            if time.monotonic() > end:
                raise Failure(f"{next(iter(waiting))} was not ready after {READY_SECONDS} s: {_said(self._log(next(iter(waiting))))}")
            time.sleep(POLL_SECONDS)

    def _log(self, name):
        with open(self.path(name + ".log"), errors="replace") as f:
            return f.read()


def _said(text):
    lines = text.strip().splitlines()
    return lines[-1].removeprefix("millrace: ") if lines else "it said nothing"


def is_alive(pid_file, cluster_name, who):
    """Whether the process that the file names runs, in the namespace of who: another one may have got the number."""
    try:
        with open(pid_file) as f:
            pid = int(f.read())
        return os.path.samestat(os.stat(f"/proc/{pid}/ns/net"), os.stat(names.namespace_path(cluster_name, who)))
    except (OSError, ValueError):
        return False
