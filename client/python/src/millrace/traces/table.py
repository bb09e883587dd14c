# SPDX-License-Identifier: Apache-2.0
"""A CSV file with a header: the way in for traces of no format that is known here. Its columns are the fields of `TraceJob`; others of
the file may be named by --columns, as in submit=arrival,maps=tasks."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping
from typing import Optional, TextIO

from .job import DONE, FAILED, KILLED, MOST_BYTES, MOST_CORES, MOST_MAPS, MOST_REDUCES, MOST_SECONDS, UNKNOWN, TraceJob
from .run import RunJob, plain, rows
from .source import Notes, Odd, Source, number, whole

NEEDED = ("submit", "maps", "map_seconds")
COLUMNS = tuple(field for field in TraceJob._fields if field != "line")
_STATES = (DONE, FAILED, KILLED, UNKNOWN)


def read(source: Source, notes: Notes, columns: Optional[Mapping[str, str]] = None) -> Iterator[TraceJob]:
    named = {field: (columns or {}).get(field, field) for field in COLUMNS}
    known = set[str]()
    for index, (line, row) in enumerate(rows(source, [named[field] for field in (*NEEDED, *(columns or {}))])):
        try:
            job = _job({field: row.get(column, "") for field, column in named.items()}, index, line)
            if job.name in known:
                raise Odd(f"name {job.name!r} is that of a row above, too")
        except Odd as odd:
            source.odd(line, odd.what)
            continue
        known.add(job.name)
        yield job


def _job(cells: dict[str, str], index: int, line: int) -> TraceJob:
    if (cells["state"] or UNKNOWN) not in _STATES:
        raise Odd(f"state is {cells['state'][:40]!r}, not one of {', '.join(_STATES)}")

    def optional(field: str, most: float) -> Optional[float]:
        return number(cells[field], field, 0, most) if cells[field] else None

    def size(field: str) -> Optional[int]:
        return whole(cells[field], field, 0, MOST_BYTES) if cells[field] else None

    return TraceJob(
        name=cells["name"] or str(index),
        submit=number(cells["submit"], "submit", -MOST_SECONDS, MOST_SECONDS),
        maps=whole(cells["maps"], "maps", 1, MOST_MAPS),
        map_seconds=number(cells["map_seconds"], "map_seconds", 0, MOST_SECONDS),
        reduces=whole(cells["reduces"] or "0", "reduces", 0, MOST_REDUCES),
        reduce_seconds=number(cells["reduce_seconds"] or "0", "reduce_seconds", 0, MOST_SECONDS),
        map_cores=number(cells["map_cores"] or "1", "map_cores", 0, MOST_CORES),
        reduce_cores=number(cells["reduce_cores"] or "1", "reduce_cores", 0, MOST_CORES),
        user=cells["user"],
        pool=cells["pool"],
        priority=cells["priority"],
        deadline=optional("deadline", MOST_SECONDS),
        estimate=optional("estimate", MOST_SECONDS),
        input_bytes=size("input_bytes"),
        shuffle_bytes=size("shuffle_bytes"),
        output_bytes=size("output_bytes"),
        state=cells["state"] or UNKNOWN,
        line=line,
    )


def write(jobs: Iterable[RunJob], out: TextIO, notes: Notes) -> None:
    """Writes the columns that a run or a workload has."""
    table = csv.writer(out, lineterminator="\n")
    table.writerow(("name", "submit", "user", "pool", "maps", "map_seconds", "reduces", "reduce_seconds", "estimate", "state"))
    for job in jobs:
        maps, reduces = (
            sum(took * tasks for took, tasks in times.items()) / max(1, sum(times.values())) / 1000
            for times in (job.map_times, job.reduce_times)
        )
        estimate = plain(job.estimate) if job.estimate is not None else ""
        table.writerow(
            (job.name, plain(job.submit), job.user, job.pool, job.maps, plain(maps), job.reduces, plain(reduces), estimate, job.state)
        )
    notes.fact("map_seconds and reduce_seconds are means of the tasks that succeeded")
