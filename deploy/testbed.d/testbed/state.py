# SPDX-License-Identifier: Apache-2.0
"""What is recorded of a testbed, in /run/millrace-testbed: NAME.lock, which `up` and `down` hold while they work, and NAME.json. A thing
is recorded before it is made. Namespaces and control groups are found by their prefix as well, if the record is lost."""

import contextlib
import fcntl
import json
import os

from testbed import limits, names
from testbed.failure import Failure


def path_of(name):
    return os.path.join(names.STATE_ROOT, name + ".json")


class State:
    """The record of one testbed, a dictionary of JSON. Keys: directory, of `up`'s DIR, and summary, once all is up."""

    def __init__(self, name, values):
        self.name, self.values = name, values

    @staticmethod
    def load(name):
        """Returns the State, without values if there is none; what cannot be read counts as nothing, since `down` has to go on."""
        try:
            with open(path_of(name)) as f:
                values = json.load(f)
        except (OSError, ValueError):
            values = {}
        return State(name, values if isinstance(values, dict) else {})

    def record(self, **values):
        """On return the record is as said, whatever happens to this process."""
        self.values.update(values)
        aside = path_of(self.name) + ".new"
        with open(aside, "w") as f:
            json.dump(self.values, f, indent=1)
        os.rename(aside, path_of(self.name))

    def remove(self):
        for path in (path_of(self.name), path_of(self.name) + ".new"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)


def known_names():
    """Returns the names of all testbeds that have a record, a namespace, a control group, or root's directory where it is by default."""
    found = limits.names_left()
    prefix = os.path.basename(names.default_directory(""))
    with os.scandir(names.DIRECTORIES) as entries:
        found.update(e.name.removeprefix(prefix) for e in entries if e.name.startswith(prefix) and e.is_dir(follow_symlinks=False) and e.stat().st_uid == 0)
    if os.path.isdir(names.STATE_ROOT):
        found.update(entry.partition(".")[0] for entry in os.listdir(names.STATE_ROOT) if "." in entry)
    if os.path.isdir(names.NAMESPACES):
        parts = [entry.split(".") for entry in os.listdir(names.NAMESPACES)]
        found.update(part[1] for part in parts if len(part) == 3 and part[0] == names.OURS)
    return sorted(found)


@contextlib.contextmanager
def locked(name):
    """Holds the testbed's lock, which ends with the process. Raises Failure if another one holds it."""
    os.makedirs(names.STATE_ROOT, mode=0o755, exist_ok=True)
    path = os.path.join(names.STATE_ROOT, name + ".lock")
    while True:
        fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            raise Failure(f"testbed {name}: another up or down of it is at work; wait for it, or end it first") from None
        if os.path.exists(path) and os.path.samestat(os.fstat(fd), os.stat(path)):
            break
        os.close(fd)  # its holder has removed it just now
    try:
        yield
    finally:
        os.unlink(path)
        os.close(fd)
        with contextlib.suppress(OSError):
            os.rmdir(names.STATE_ROOT)  # if it was the last one
