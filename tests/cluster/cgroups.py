# SPDX-License-Identifier: Apache-2.0
"""A cgroup of its own for a daemon of a test, where cgroups are of version 2.

A service manager gives a worker one. A test starts the worker beside itself and a master, and with version 2 no processes may be beside children
with limits. So the test first moves into a child of its cgroup, and each daemon gets another.
"""

import itertools
import os

ROOT = "/sys/fs/cgroup"
CONTROLLERS = {"memory", "pids", "cpu"}
_numbers = itertools.count()


def _read(path):
    with open(path, encoding="utf-8") as f:
        return f.read().split()


def _write(path, text):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def _own():
    """The directory of this process's cgroup of version 2, if that has the controllers; otherwise nothing."""
    with open("/proc/self/cgroup", encoding="utf-8") as f:
        paths = [line[3:].strip() for line in f if line.startswith("0::")]
    if not paths or not os.path.exists(os.path.join(ROOT, "cgroup.controllers")):
        return None
    own = ROOT + paths[0].rstrip("/")
    return own if CONTROLLERS <= set(_read(own + "/cgroup.controllers")) else None


def make_room():
    """Moves this process out of the way, into a child of its cgroup, before it starts any daemon. Gives the directory of the cgroup that can then be
    divided. Nothing if this process may not do so, is not alone there, or the machine's cgroups are of version 1, where daemons need none."""
    own = _own()
    if own is None:
        return None
    if os.path.basename(own) == "tests":  # it has been here before
        return os.path.dirname(own)
    try:
        if _read(own + "/cgroup.procs") != [str(os.getpid())]:
            return None
        os.makedirs(own + "/tests", exist_ok=True)
        _write(own + "/tests/cgroup.procs", "0")
        _write(own + "/cgroup.subtree_control", " ".join("+" + controller for controller in sorted(CONTROLLERS)))
    except OSError:
        return None
    return own


def for_daemon(name):
    """Makes a cgroup for a daemon to be started in, and gives its directory; nothing where there is no room for it. Each start has one of its own, as
    a service manager would give it: a worker divides its cgroup, and then no other can be started there."""
    parent = make_room()
    if parent is None:
        return None
    path = os.path.join(parent, f"{name}.{next(_numbers)}")
    os.makedirs(path)
    return path


def within(cgroup, command):
    """The command, changed so that it runs in the cgroup; as it is if there is none."""
    if cgroup is None:
        return command
    return ["/bin/sh", "-c", 'echo 0 >"$0/cgroup.procs" && exec "$@"', cgroup, *command]
