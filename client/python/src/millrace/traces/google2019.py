# SPDX-License-Identifier: Apache-2.0
"""Google's cluster traces of 2019, version 3 (github.com/google/cluster-data, clusterdata_trace_format_v3.proto), as BigQuery exports
them: the table instance_events, as CSV with a header or as JSON lines, and that of collection_events for the names of users.

A collection is a job, and each of its instances a map whose time is that of its last try. Times are microseconds; 0 is before the trace,
and 2^63 - 1 after it. Rows may be in any order.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Optional

from .job import DONE, FAILED, KILLED, MOST_JOBS, UNKNOWN, TraceJob
from .jsons import parse
from .run import rows
from .source import Notes, Odd, Source, shown, whole

MOST_INSTANCES = 4_000_000
COLUMNS = ("time", "type", "collection_id", "instance_index")
TYPES = ("SUBMIT", "QUEUE", "ENABLE", "SCHEDULE", "EVICT", "FAIL", "FINISH", "KILL", "LOST", "UPDATE_PENDING", "UPDATE_RUNNING")
_ENDS = {4: FAILED, 5: FAILED, 6: DONE, 7: KILLED, 8: UNKNOWN}
_AFTER = (1 << 63) - 1
# The bounds of the tiers, by the trace's document: free, best-effort batch, mid, production and monitoring.
_TIERS = ((100, "VERY_LOW"), (116, "LOW"), (120, "NORMAL"), (360, "HIGH"), (1 << 31, "VERY_HIGH"))


class _Instance:
    __slots__ = ("begin", "end", "how")

    def __init__(self) -> None:
        self.begin, self.end, self.how = -1, -1, -1


class _Job:
    __slots__ = ("instances", "line", "priority", "submit")

    def __init__(self, line: int) -> None:
        self.line, self.submit, self.priority = line, _AFTER, ""
        self.instances: dict[int, _Instance] = {}


def read(source: Source, notes: Notes, collections: Optional[Source] = None) -> Iterator[TraceJob]:
    users = _users(collections) if collections else {}
    jobs: dict[int, _Job] = {}
    instances = 0
    for line, row in _rows(source, COLUMNS):
        try:
            if _kind(row.get("collection_type") or 0, "collection_type", ("JOB", "ALLOC_SET")) == 1:
                notes.leave_out("events of alloc sets left out, which are reservations and no jobs")
                continue
            instances += _add(row, jobs, line)
        except Odd as odd:
            source.odd(line, odd.what)
        if len(jobs) > MOST_JOBS or instances > MOST_INSTANCES:
            source.refuse(
                line, f"there are more than {MOST_JOBS} jobs or {MOST_INSTANCES} instances; export fewer, by a WHERE of the query"
            )
    for number, job in jobs.items():
        yield from _made(number, job, users.get(number, ""), notes)


def _add(row: dict[str, Any], jobs: dict[int, _Job], line: int) -> int:
    """Takes one event; returns how many instances it adds."""
    time = whole(row.get("time"), "time", 0, _AFTER)
    kind = _kind(row.get("type"), "type", TYPES)
    collection = whole(row.get("collection_id"), "collection_id", 0, _AFTER)
    index = whole(row.get("instance_index"), "instance_index", 0, 1 << 31)
    job = jobs.setdefault(collection, _Job(line))
    if row.get("priority") not in (None, ""):
        priority = whole(row["priority"], "priority", 0, 1 << 30)
        job.priority = next(name for bound, name in _TIERS if priority < bound)
    new = index not in job.instances
    instance = job.instances.setdefault(index, _Instance())
    if kind == 0:
        job.submit = min(job.submit, time)
    elif kind == 3:
        instance.begin = max(instance.begin, time)
    elif kind in _ENDS and time >= instance.end:
        instance.end, instance.how = time, kind
    return int(new)


def _made(number: int, job: _Job, user: str, notes: Notes) -> Iterator[TraceJob]:
    if job.submit in (0, _AFTER):
        notes.leave_out("jobs left out that were submitted before the trace begins, or whose submission it does not have")
        return
    ran = [each for each in job.instances.values() if 0 < each.begin <= each.end < _AFTER]
    if not ran:
        notes.leave_out("jobs left out of which no instance has both its begin and its end in the trace")
        return
    if len(ran) < len(job.instances):
        notes.leave_out("instances left out whose begin or end is not in the trace", len(job.instances) - len(ran))
    ends = {_ENDS[each.how] for each in ran}
    notes.assume("an instance is a map that takes the time of its last try; it reads no data, and has one core")
    yield TraceJob(
        name=str(number),
        submit=job.submit / 1e6,
        maps=len(ran),
        map_seconds=sum(each.end - each.begin for each in ran) / len(ran) / 1e6,
        user=user,
        priority=job.priority,
        state=DONE if ends == {DONE} else next(state for state in (FAILED, KILLED, UNKNOWN) if state in ends),
        line=job.line,
    )


def _users(source: Source) -> dict[int, str]:
    users: dict[int, str] = {}
    for line, row in _rows(source, ("collection_id", "user")):
        try:
            if row.get("user"):
                users[whole(row["collection_id"], "collection_id", 0, _AFTER)] = str(row["user"])
        except Odd as odd:
            source.odd(line, odd.what)
        if len(users) > MOST_JOBS:
            source.refuse(line, f"there are more than {MOST_JOBS} collections; export fewer, by a WHERE of the query")
    return users


def _rows(source: Source, columns: tuple[str, ...]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yields the rows of a table, which is in JSON lines if its first line begins with "{"."""
    if not source.begins_with("{"):
        yield from rows(source, columns)
        return
    for line, text in source.lines():
        if not text.strip():
            continue
        try:
            row = parse(text, line)
            if not isinstance(row, dict):
                raise Odd("the line is no object")
        except Odd as odd:
            source.odd(line, odd.what)
            continue
        yield line, row


def _kind(value: Any, field: str, names: tuple[str, ...]) -> int:
    """Returns the number of an enumerated value, which stands as its name or its number."""
    if isinstance(value, str) and value in names:
        return names.index(value)
    try:
        return whole(value, field, 0, len(names) - 1)
    except Odd:
        raise Odd(f"{field} is {shown(value)}, not a number from 0 to {len(names) - 1} or one of {', '.join(names)}") from None
