# SPDX-License-Identifier: Apache-2.0
"""The jobs that are exported: those of a run, from the files that `millrace sim -o DIR` writes for a scheduler (jobs.csv, and tasks.csv
if there is one; docs/schedulers/simulator.md has their columns), or those of a workload, which have not run."""

from __future__ import annotations

import collections
import csv
import os
import re
from collections.abc import Iterable, Iterator
from typing import Optional

from .job import DONE, FAILED, KILLED, UNKNOWN, TraceJob
from .source import Notes, Odd, Source, TraceError, number, whole

_OUTCOMES = {"succeeded": DONE, "failed": FAILED, "killed": KILLED, "unfinished": UNKNOWN, "not submitted": UNKNOWN}
_JOB_COLUMNS = ("job", "name", "user", "pool", "class", "maps", "reduces", "outcome", "submit", "start", "end")
_TASK_COLUMNS = ("attempt", "node", "start", "compute", "end", "how")
_ATTEMPT = re.compile(r"job(\d{1,9})\.([mr])\.\d+\.\d+")
_FORMULA = "=+-@\t\r"  # a text that begins so has a "'" before it in our tables


class RunJob:
    """A job and what became of it. `map_times` and `reduce_times` are milliseconds, with how many tasks took each."""

    def __init__(self, number: int, name: str, user: str, pool: str, submit: float, maps: int, reduces: int) -> None:
        self.number, self.name, self.group, self.user, self.pool = number, name, name, user, pool
        self.submit, self.maps, self.reduces = submit, maps, reduces
        self.start: Optional[float] = None
        self.end: Optional[float] = None
        self.state = UNKNOWN
        self.map_times: collections.Counter[int] = collections.Counter()
        self.reduce_times: collections.Counter[int] = collections.Counter()
        self.planned = -1.0  # the run time of a job whose tasks all run at once; of a job that ran it is not known
        self.slot_seconds = 0.0
        self.nodes: set[int] = set()
        self.estimate: Optional[float] = None


def planned(jobs: Iterable[TraceJob]) -> Iterator[RunJob]:
    """Returns the jobs of a workload, as they are before any run."""
    for index, job in enumerate(jobs):
        made = RunJob(index, job.name, job.user, job.pool, job.submit, job.maps, job.reduces)
        made.map_times[round(job.map_seconds * 1000)] = job.maps
        if job.reduces:
            made.reduce_times[round(job.reduce_seconds * 1000)] = job.reduces
        made.planned = job.map_seconds + (job.reduce_seconds if job.reduces else 0)
        made.estimate = job.estimate
        yield made


def read_run(directory: str, notes: Notes) -> list[RunJob]:
    """Returns the jobs of a run. Raises TraceError if the directory is none of a run, or holds those of several schedulers."""
    path = os.path.join(directory, "jobs.csv")
    if not os.path.exists(path):
        below = [name for name in sorted(os.listdir(directory)) if os.path.exists(os.path.join(directory, name, "jobs.csv"))]
        found = (
            f"name one of its schedulers, such as {os.path.join(directory, below[0])}" if below else "name what `millrace sim -o DIR` wrote"
        )
        raise TraceError(f"{directory} has no jobs.csv; {found}")
    jobs: dict[int, RunJob] = {}
    with Source(path, notes) as source:
        for line, row in rows(source, _JOB_COLUMNS):
            try:
                job = _job(row)
            except Odd as odd:
                raise TraceError(f"{path}:{line}: {odd.what}; let `millrace sim` write the file again") from None
            if row["outcome"] == "not submitted":
                notes.leave_out("jobs left out that the run did not submit")
            else:
                jobs[job.number] = job
    tasks = os.path.join(directory, "tasks.csv")
    if os.path.exists(tasks):
        _add_tasks(tasks, jobs, notes)
    else:
        notes.fact(f"{directory} has no tasks.csv, so the times and nodes of tasks are not known (`millrace sim --tasks` writes it)")
    _name_by_class(jobs.values())
    return list(jobs.values())


def _name_by_class(jobs: Iterable[RunJob]) -> None:
    """Gives the only job of a class, NAME-0, the name of the class back, which it has in a workload that was imported."""
    sizes = collections.Counter(job.group for job in jobs)
    for job in jobs:
        if sizes[job.group] == 1 and job.name == f"{job.group}-0":
            job.name = job.group


def _job(row: dict[str, str]) -> RunJob:
    if row["outcome"] not in _OUTCOMES:
        raise Odd(f"outcome is {row['outcome']!r}, not one of {', '.join(_OUTCOMES)}")
    job = RunJob(
        whole(row["job"], "job"),
        _text(row["name"]),
        _text(row["user"]),
        _text(row["pool"]),
        number(row["submit"] or "0", "submit"),
        whole(row["maps"], "maps"),
        whole(row["reduces"], "reduces"),
    )
    job.group, job.state = _text(row["class"]) or job.name, _OUTCOMES[row["outcome"]]
    job.start = number(row["start"], "start") if row["start"] else None
    job.end = number(row["end"], "end") if row["end"] else None
    return job


def _add_tasks(path: str, jobs: dict[int, RunJob], notes: Notes) -> None:
    """Adds the attempts. A reduce's time is that of its compute phase: before, it waits for maps, which is no work of its own."""
    with Source(path, notes) as source:
        for line, row in rows(source, _TASK_COLUMNS):
            found = _ATTEMPT.fullmatch(row["attempt"])
            job = jobs.get(int(found[1])) if found else None
            if job is None or found is None or not row["end"]:
                continue
            try:
                _add_attempt(row, found[2] == "m", job)
            except Odd as odd:
                raise TraceError(f"{path}:{line}: {odd.what}; let `millrace sim` write the file again") from None


def _add_attempt(row: dict[str, str], is_map: bool, job: RunJob) -> None:
    start, end = number(row["start"], "start"), number(row["end"], "end")
    job.nodes.add(whole(row["node"], "node"))
    job.slot_seconds += end - start
    if row["how"] == "succeeded":
        begin = start if is_map or not row["compute"] else number(row["compute"], "compute")
        (job.map_times if is_map else job.reduce_times)[round((end - begin) * 1000)] += 1


def rows(source: Source, columns: Iterable[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Yields the rows of a CSV file with a header, each with the number of the line in which it ends. Raises TraceError if a column is
    missing or a row has another number of fields than the header."""
    last = 0

    def texts() -> Iterator[str]:
        nonlocal last
        for line, text in source.lines():
            last = line
            yield text + "\n"

    reader = csv.reader(texts(), strict=True)
    try:
        header = next(reader)
        missing = [name for name in columns if name not in header]
        if missing:
            source.refuse(last, f"the header has no column {missing[0]!r}; it has {', '.join(header)[:200]}")
        if len(set(header)) < len(header):
            source.refuse(last, "the header names a column twice; name each once")
        for row in reader:
            if len(row) == len(header):
                yield last, dict(zip(header, row))
            elif row:
                source.odd(last, f"the row has {len(row)} fields, and the header {len(header)}")
    except csv.Error as error:
        source.refuse(last, f"the row is no CSV ({error}); look for a quote that is not closed")


def _text(cell: str) -> str:
    return cell[1:] if len(cell) > 1 and cell[0] == "'" and cell[1] in _FORMULA else cell


def width(job: RunJob) -> int:
    """Returns how many slots a job can use at once, in a format that has no phases."""
    return max(job.maps, job.reduces)


def plain(value: float) -> str:
    """Returns the number to the microsecond, without an exponent: 3, 0.25."""
    return f"{value:.6f}".rstrip("0").rstrip(".") if value != int(value) else str(int(value))
