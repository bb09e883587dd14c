# SPDX-License-Identifier: Apache-2.0
"""SWF, the Standard Workload Format 2.2 of the Parallel Workloads Archive (https://www.cs.huji.ac.il/labs/parallel/workload/swf.html):
a line a job with 18 fields, -1 for what is not known, comments and headers after ";", lines in order of submission.

A job there is rigid: it holds its processors from begin to end. Here it is a job of as many maps, which may start one by one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from typing import Optional, TextIO

from .job import DONE, FAILED, KILLED, MOST_NODES, MOST_SLOTS, UNKNOWN, Cluster, TraceJob
from .run import RunJob, plain, width
from .source import Notes, Odd, Source, number, whole

FIELDS = (
    "job number",
    "submit time",
    "wait time",
    "run time",
    "allocated processors",
    "average CPU time",
    "used memory",
    "requested processors",
    "requested time",
    "requested memory",
    "status",
    "user",
    "group",
    "executable",
    "queue",
    "partition",
    "preceding job",
    "think time",
)
RIGID = "a job of n processors and t seconds is n maps of t seconds, which read no data and may start one by one"
_STATES = {-1: UNKNOWN, 0: FAILED, 1: DONE, 5: KILLED}
_PARTS = (2, 3, 4)  # a line of these is a part of a job that was interrupted; a line for the whole job comes before
_PART_OF_KNOWN = "lines left out that are parts of jobs that were interrupted (status 2 to 4), and of which the whole is there"
_PART_OF_NONE = "lines left out that are parts of jobs (status 2 to 4) of which the whole is not there, so that their run time is not known"
_HEADER = re.compile(r";\s*(MaxNodes|MaxProcs|UnixStartTime|Computer|Version)\s*:\s*(.*\S)")


def read(source: Source, notes: Notes) -> Iterator[TraceJob]:
    headers: dict[str, str] = {}
    last, known = -math.inf, set[int]()
    for line, text in source.lines():
        if text.lstrip().startswith(";") or not text.strip():
            found = _HEADER.match(text.lstrip())
            if found and found[1] not in headers:
                headers[found[1]] = found[2]
                _take_headers(headers, notes)
                if found[1] in ("Computer", "UnixStartTime"):
                    notes.fact(f"its header says {found[1]}: {found[2][:200]}")
            continue
        try:
            values = _values(text)
            if int(values[10]) in _PARTS:
                notes.leave_out(_PART_OF_KNOWN if int(values[0]) in known else _PART_OF_NONE)
                continue
            if values[1] < last:
                raise Odd(
                    f"submit time is {values[1]:g}, before that of the line above; the format wants lines in order (sort -s -n -k2,2)"
                )
            if int(values[0]) in known:
                raise Odd(f"job number {values[0]:.0f} is that of a line above, too")
            known.add(int(values[0]))
            last = values[1]
            job = _job(values, line, notes)
        except Odd as odd:
            source.odd(line, odd.what)
            continue
        if job is not None:
            notes.assume(RIGID)
            yield job


def _values(text: str) -> list[float]:
    words = text.split()
    if len(words) != len(FIELDS):
        raise Odd(f"the line has {len(words)} fields, not {len(FIELDS)}")
    values = [number(word, field, least=-1) for word, field in zip(words, FIELDS)]
    for at in (0, 10, 11, 14):
        whole(words[at], FIELDS[at], least=-1, most=1 << 53)
    number(words[1], FIELDS[1])
    if int(values[10]) not in (*_STATES, *_PARTS):
        raise Odd(f"status is {words[10]}, which is none from -1 to 5")
    return values


def _job(values: list[float], line: int, notes: Notes) -> Optional[TraceJob]:
    run, allocated, requested, asked = values[3], values[4], values[7], values[8]
    if run < 0:
        notes.leave_out("jobs left out of which the run time is not known (-1)")
        return None
    processors = allocated if allocated > 0 else requested
    if processors <= 0:
        notes.leave_out("jobs left out of which the number of processors is not known (-1 or 0)")
        return None
    return TraceJob(
        name=f"{values[0]:.0f}",
        submit=values[1],
        maps=whole(processors, "allocated processors" if allocated > 0 else "requested processors"),
        map_seconds=run,
        user=f"user{values[11]:.0f}" if values[11] >= 0 else "",
        pool=f"queue{values[14]:.0f}" if values[14] >= 0 else "",
        estimate=asked if asked > 0 else None,
        state=_STATES[int(values[10])],
        line=line,
    )


def _take_headers(headers: dict[str, str], notes: Notes) -> None:
    """Takes the machine of the headers, if they give one that a simulation can have."""
    if not all(headers.get(name, "1").isdecimal() and len(headers.get(name, "1")) < 10 for name in ("MaxProcs", "MaxNodes")):
        return
    processors = int(headers.get("MaxProcs", 0))
    nodes = int(headers.get("MaxNodes", 0)) or processors
    slots = max(1, processors // nodes) if nodes else 0
    if 0 < nodes <= MOST_NODES and 0 < slots <= MOST_SLOTS:
        notes.cluster = Cluster(nodes=nodes, map_slots=slots, reduce_slots=1)


def write(jobs: Iterable[RunJob], out: TextIO, notes: Notes) -> None:
    """Writes what each job asked for and, of a run, what it got: the processors are the slots that it held on average, rounded up."""
    jobs = sorted(jobs, key=lambda job: job.submit)
    users, queues = _numbered(job.user for job in jobs), _numbered(job.pool for job in jobs)
    out.write("; Version: 2.2\n; Computer: a simulation by Millrace\n")
    out.write(f"; MaxJobs: {len(jobs)}\n; MaxRecords: {len(jobs)}\n")
    for names, what in ((users, "user"), (queues, "queue")):
        out.writelines(f"; Note: {what} {numbered} is {' '.join(name.split())}\n" for name, numbered in names.items())
    for index, job in enumerate(jobs, 1):
        ran = job.start is not None and job.end is not None
        fields = [-1.0] * len(FIELDS)
        fields[0], fields[1] = index, job.submit
        fields[2] = job.start - job.submit if job.start is not None else -1
        fields[3] = job.end - job.start if job.start is not None and job.end is not None else job.planned
        fields[4] = math.ceil(job.slot_seconds / fields[3] - 1e-6) if ran and job.slot_seconds and fields[3] > 0 else -1
        fields[7] = width(job)
        fields[8] = -1 if job.estimate is None else job.estimate
        fields[10] = {DONE: 1, FAILED: 0, KILLED: 5}.get(job.state, -1)
        fields[11], fields[14] = users.get(job.user, -1), queues.get(job.pool, -1)
        out.write(" ".join(map(plain, fields)) + "\n")
    if any(job.reduces for job in jobs):
        notes.assume(
            "a job of maps and reduces asks for as many processors as the larger of both numbers, since the format has no phases",
            sum(1 for job in jobs if job.reduces),
        )


def _numbered(names: Iterable[str]) -> dict[str, int]:
    """Returns a number for each name: that at its end, if all names are one word and a number ("user7"), else from 1 on."""
    distinct = list(dict.fromkeys(name for name in names if name))
    parts = [re.fullmatch(r"([^\d]*)(0|[1-9]\d{0,8})", name) for name in distinct]
    if distinct and all(parts) and len({part[1] for part in parts if part}) == 1:
        return {name: int(part[2]) for name, part in zip(distinct, parts) if part}
    return {name: number for number, name in enumerate(distinct, 1)}
