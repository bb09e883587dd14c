# SPDX-License-Identifier: Apache-2.0
"""Removes everything that a testbed has on the machine, whatever state it is in: processes first, then namespaces with all that is in
them, control groups, files and records. What is found by its prefix needs no record."""

import contextlib
import os
import shutil
import signal
import subprocess
import time

from testbed import limits, names
from testbed.failure import Failure

STOP_SECONDS, KILL_SECONDS = 5.0, 60.0
POLL_SECONDS = 0.05
ROUNDS = 5


def namespaces_of(name):
    """Returns the names of its namespaces."""
    if not os.path.isdir(names.NAMESPACES):
        return []
    return sorted(entry for entry in os.listdir(names.NAMESPACES) if entry.startswith(names.prefix(name)))


def processes_of(name):
    """Returns the numbers of all processes in its namespaces and in its control groups."""
    wanted = set()
    for namespace in namespaces_of(name):
        with contextlib.suppress(OSError):
            found = os.stat(os.path.join(names.NAMESPACES, namespace))
            wanted.add((found.st_dev, found.st_ino))
    pids = limits.processes_in(limits.groups_left(name))
    for entry in os.listdir("/proc"):
        with contextlib.suppress(OSError):
            if entry.isdigit():
                found = os.stat(f"/proc/{entry}/ns/net")
                if (found.st_dev, found.st_ino) in wanted:
                    pids.add(int(entry))
    return pids - {os.getpid()}


def _state_of(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rpartition(")")[2].split()[0]
    except OSError:
        return "X"


def _running(name):
    """Without those that have ended and only wait for their parent to notice."""
    return {pid for pid in processes_of(name) if _state_of(pid) not in ("Z", "X")}


def _signal(pids, which):
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, which)


def stop_processes(name):
    """Asks them to end, then kills what is left. Raises Failure if one cannot be killed."""
    _signal(_running(name), signal.SIGTERM)
    polite = time.monotonic() + STOP_SECONDS
    end = polite + KILL_SECONDS
    while left := _running(name):
        if time.monotonic() > end:
            raise Failure(f"testbed {name}: processes {', '.join(map(str, sorted(left)))} cannot be killed; look at what they wait for, then try again")
        if time.monotonic() > polite:
            _signal(left, signal.SIGKILL)
        time.sleep(POLL_SECONDS)


def _remove_namespaces(name):
    for namespace in namespaces_of(name):
        done = subprocess.run(["ip", "netns", "delete", namespace], capture_output=True, text=True)
        if done.returncode != 0 and os.path.exists(os.path.join(names.NAMESPACES, namespace)):
            raise Failure(f"namespace {namespace} cannot be deleted: {done.stderr.strip()}")


def _remove_groups(name):
    end = time.monotonic() + KILL_SECONDS
    while groups := limits.groups_left(name):
        for group in groups:
            with contextlib.suppress(OSError):
                os.rmdir(group)  # busy for a moment after its last process has ended
        if time.monotonic() > end:
            raise Failure(f"control group {groups[0]} cannot be removed; see who is in its cgroup.procs")
        time.sleep(POLL_SECONDS)


def _remove_directory(state):
    directory = state.values.get("directory", names.default_directory(state.name))
    shutil.rmtree(directory, ignore_errors=True)  # a directory that is written to meanwhile takes a second try
    if os.path.exists(directory):
        shutil.rmtree(directory)


def _release_namespaces_root():
    """The first `ip netns add` on a machine mounts a directory on itself and leaves it. The last of our testbeds takes it away, unless
    others use it by now."""
    if not os.path.exists(names.NAMESPACES_MADE):
        return
    left = os.listdir(names.NAMESPACES) if os.path.isdir(names.NAMESPACES) else []
    if any(entry.startswith(names.OURS + ".") for entry in left):
        return
    if not left:
        subprocess.run(["umount", names.NAMESPACES], capture_output=True)
        with contextlib.suppress(OSError):
            os.rmdir(names.NAMESPACES)
    os.unlink(names.NAMESPACES_MADE)


def remove(state, keep=False):
    """On return nothing is left; with keep, DIR is. Requires: the lock of the testbed is held."""
    for _ in range(ROUNDS):  # a process that was about to enter a namespace may have done so meanwhile
        stop_processes(state.name)
        _remove_namespaces(state.name)
        _remove_groups(state.name)
        if not _running(state.name) and not namespaces_of(state.name):
            break
    if not keep:
        _remove_directory(state)
    _release_namespaces_root()
    state.remove()
