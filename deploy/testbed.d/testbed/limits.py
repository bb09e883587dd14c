# SPDX-License-Identifier: Apache-2.0
"""Control groups that limit the processor and the disk of a worker, of version 1 or 2, whichever the machine has.

A Limits has one group for the testbed in every hierarchy that is needed, and in it one for each worker that is limited. Of a disk, reads
are throttled, and what a process writes out itself, directly or by fsync; not what the kernel writes back later from its cache.
"""

import os

from testbed import names
from testbed.failure import Failure

CPU_PERIOD_US = 20_000


class Hierarchy:
    """A mounted hierarchy with a controller. version: 1 or 2."""

    def __init__(self, root, version):
        self.root, self.version = root, version


def find_hierarchy(controller, mounts="/proc/mounts"):
    """Returns the Hierarchy that has the controller ("cpu" or "io"), or None."""
    first = {"io": "blkio"}.get(controller, controller)
    with open(mounts) as f:
        lines = [line.split() for line in f]
    for _, at, kind, options, *_ in lines:
        if kind == "cgroup" and first in options.split(","):
            return Hierarchy(at, 1)
    for _, at, kind, *_ in lines:
        if kind == "cgroup2":
            with open(os.path.join(at, "cgroup.controllers")) as f:
                if controller in f.read().split():
                    return Hierarchy(at, 2)
    return None


def disk_of(path):
    """Returns MAJOR:MINOR of the whole disk on which path lies. Raises Failure if it lies on none."""
    device = os.stat(path).st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    at = os.path.realpath(f"/sys/dev/block/{number}")
    if not os.path.isdir(at):
        raise Failure(f"disk limit: {path} is not on a disk of its own (device {number}); give --dir on one, or leave disk out of the file")
    if os.path.exists(os.path.join(at, "partition")):
        with open(os.path.join(os.path.dirname(at), "dev")) as f:
            return f.read().strip()
    return number


def cpu_settings(version, cpus):
    """Returns (file, text) of a limit in cores."""
    quota = round(cpus * CPU_PERIOD_US)
    if version == 2:
        return [("cpu.max", f"{quota} {CPU_PERIOD_US}")]
    return [("cpu.cfs_period_us", str(CPU_PERIOD_US)), ("cpu.cfs_quota_us", str(quota))]


def disk_settings(version, disk, rate):
    """Returns (file, text) of a limit of so many bytes/s each way."""
    if version == 2:
        return [("io.max", f"{disk} rbps={rate} wbps={rate}")]
    return [(f"blkio.throttle.{way}_bps_device", f"{disk} {rate}") for way in ("read", "write")]


class Limits:
    """Of one cluster, whose files are below directory. Makes nothing until `make`."""

    def __init__(self, cluster, directory, mounts="/proc/mounts"):
        self.cluster, self.directory = cluster, directory
        self.hierarchies = {}
        for controller, wanted in (("cpu", "cpus"), ("io", "disk")):
            if any(getattr(worker.shape, wanted) is not None for worker in cluster.workers):
                found = find_hierarchy(controller, mounts)
                if not found:
                    raise Failure(f"{wanted}: this machine has no control group with the controller {controller}; leave {wanted} out of the file")
                self.hierarchies[controller] = found

    def make(self):
        for controller, hierarchy in self.hierarchies.items():
            os.makedirs(self._group(hierarchy), exist_ok=True)
            if hierarchy.version == 2:
                for at in (hierarchy.root, self._group(hierarchy)):
                    _write(os.path.join(at, "cgroup.subtree_control"), f"+{controller}")
        for worker in self.cluster.workers:
            for controller, settings in self._settings(worker).items():
                group = os.path.join(self._group(self.hierarchies[controller]), worker.name)
                os.makedirs(group, exist_ok=True)
                for file, text in settings:
                    _write(os.path.join(group, file), text)

    def groups_of(self, worker):
        """Returns the groups that a process of the worker has to join."""
        return list(dict.fromkeys(os.path.join(self._group(self.hierarchies[controller]), worker.name) for controller in self._settings(worker)))

    def _settings(self, worker):
        """Of a worker, by controller: (file, text) of what is to be written."""
        settings = {}
        if worker.shape.cpus is not None:
            settings["cpu"] = cpu_settings(self.hierarchies["cpu"].version, worker.shape.cpus)
        if worker.shape.disk is not None:
            settings["io"] = disk_settings(self.hierarchies["io"].version, disk_of(self.directory), worker.shape.disk)
        return settings

    def _group(self, hierarchy):
        return os.path.join(hierarchy.root, names.cgroup(self.cluster.name))


def join(groups):
    """Moves this process into the groups; what it starts later is in them, too."""
    for group in groups:
        _write(os.path.join(group, "cgroup.procs"), "0")


def _roots(mounts):
    with open(mounts) as f:
        return [at for _, at, kind, *_ in map(str.split, f) if kind in ("cgroup", "cgroup2")]


def names_left(mounts="/proc/mounts"):
    """Returns the names of the testbeds that have groups."""
    prefix = names.cgroup("")
    return {entry.removeprefix(prefix) for root in _roots(mounts) for entry in os.listdir(root) if entry.startswith(prefix)}


def groups_left(name, mounts="/proc/mounts"):
    """Returns the groups of the testbed of that name, inner ones first."""
    found = []
    for root in _roots(mounts):
        for at, _, _ in os.walk(os.path.join(root, names.cgroup(name)), topdown=False):
            found.append(at)
    return found


def processes_in(groups):
    found = set()
    for group in groups:
        try:
            with open(os.path.join(group, "cgroup.procs")) as f:
                found.update(int(line) for line in f)
        except OSError:
            pass  # it is gone
    return found


def _write(path, text):
    try:
        with open(path, "w") as f:
            f.write(text)
    except OSError as error:
        raise Failure(f"control group: {path} does not take {text!r}: {error.strerror}; leave cpus and disk out of the file") from None
