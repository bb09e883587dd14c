# SPDX-License-Identifier: Apache-2.0
"""What a function of a job may ask and tell while it runs: counters, status, options, side files, where its input is.

Outside of a job (when a test calls such a function directly, say) the same calls work on a task that belongs to no job.
"""

from __future__ import annotations

import os
from collections import defaultdict
from pathlib import Path
from typing import Any, Callable


class Task:
    """An attempt of a task. Its fields are for reading.

    kind        "map", "map_only", "combine", "reduce", or "none" outside of a job
    attempt     its name, such as "job7.m.3.0"
    partition   the number of the map or reduce;  maps, reduces: how many the job has
    path        the input file of a map, and `offset` the byte at which the current lines or records begin
    index       the number of the INPUT argument to which that file belongs
    scratch     a directory of its own, which is deleted with it
    """

    def __init__(
        self,
        header: dict[str, Any] | None = None,
        options: dict[str, Any] | None = None,
        files: dict[str, str] | None = None,
        say: Callable[[str], None] | None = None,
    ) -> None:
        header = header or {}
        self.kind: str = header.get("kind", "none")
        self.attempt: str = header.get("attempt", "")
        self.job: str = header.get("job", "")
        self.partition: int = header.get("partition", 0)
        self.maps: int = header.get("maps", 0)
        self.reduces: int = header.get("reduces", 0)
        self.scratch: str = header.get("scratch", "")
        self.path, self.index, self.offset = "", 0, 0
        self.counters: defaultdict[tuple[str, str], int] = defaultdict(int)
        self.options: dict[str, Any] = options or {}
        self._files = files or {}
        self._say = say or (lambda text: None)

    def take_counters(self) -> list[list[Any]]:
        """Returns [group, name, change] of each counter that has changed since the last call."""
        taken = [[group, name, delta] for (group, name), delta in self.counters.items() if delta]
        self.counters.clear()
        return taken


_current = Task()


def current() -> Task:
    """Returns the task that is running, or one that belongs to no job."""
    return _current


def set_current(task: Task) -> Task:
    """Makes `task` the one that runs, and returns the one before it. For the runtime."""
    global _current
    before, _current = _current, task
    return before


class Counter:
    """A counter, summed over all tasks that succeed. It may be made once, where a module begins, and used in any task."""

    __slots__ = ("_key",)

    def __init__(self, group: str, name: str) -> None:
        self._key = (group, name)

    def add(self, amount: int = 1) -> None:
        _current.counters[self._key] += amount


def counter(group: str, name: str) -> Counter:
    """Returns the counter `name` of `group`. Name counters after kinds of things: a task may have 1,000."""
    return Counter(group, name)


def status(text: str) -> None:
    """Sets the line that `millrace job status` shows for this task. It counts as a sign of life."""
    _current._say(text)


def option(name: str) -> Any:
    """Returns an option of the job, with the type of its default. Raises KeyError if the job does not declare it."""
    try:
        return _current.options[name]
    except KeyError:
        declared = ", ".join(_current.options) or "none"
        raise KeyError(f"the job has no option {name!r} (it has {declared}): name it in @millrace.job(options=...)") from None


def file(name: str) -> Path:
    """Returns where a side file or the directory of an archive is (`files=` and `archives=` of the job, by base name)."""
    place = Path(_current._files.get(name, name))
    if not os.path.lexists(place):
        known = ", ".join(sorted(_current._files)) or "none"
        raise FileNotFoundError(f"there is no side file {name!r} (known: {known}): name it in files= or archives=")
    return place
