# SPDX-License-Identifier: Apache-2.0
"""batch_task.csv of Alibaba's cluster-trace-v2018 (github.com/alibaba/clusterdata): a row a task of a job, without a
header. A task has a number of instances, and its name says after which tasks it comes: R3_1_2 after those of numbers 1 and 2.

The instances of tasks that come after none are maps here, those of all others reduces.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator

from .job import DONE, FAILED, MOST_JOBS, MOST_MAPS, MOST_SECONDS, TraceJob
from .source import Notes, Odd, Source, number, whole

FIELDS = ("task_name", "instance_num", "job_name", "task_type", "status", "start_time", "end_time", "plan_cpu", "plan_mem")
_NAME = re.compile(r"[A-Za-z]+(\d{1,9})((?:_\d{1,9})*)(?:_Stg\d{1,9})?")
_STATES = ("Terminated", "Failed", "Running", "Waiting", "Ready", "Interrupted", "Cancelled")


class _Job:
    """What the tasks of a job come to. For each phase: instances, their seconds, their cores."""

    def __init__(self, line: int) -> None:
        self.line, self.begin, self.done, self.known = line, MOST_SECONDS, True, True
        self.phases = ([0, 0.0, 0.0], [0, 0.0, 0.0])
        self.names: set[str] = set()


def read(source: Source, notes: Notes) -> Iterator[TraceJob]:
    jobs: dict[str, _Job] = {}
    for line, text in source.lines():
        try:
            row = next(csv.reader([text], strict=True), [])
            if not row or (line == 1 and tuple(row) == FIELDS):
                continue
            if len(row) != len(FIELDS):
                raise Odd(f"the row has {len(row)} fields, not {len(FIELDS)} ({', '.join(FIELDS)})")
            if row[2] not in jobs and len(jobs) >= MOST_JOBS:
                source.refuse(
                    line, f"there are more than {MOST_JOBS} jobs, the most of a workload; cut the file: head -n 2000000 FILE | ... -"
                )
            _add(row, jobs, line)
        except csv.Error as error:
            source.odd(line, f"the row is no CSV ({error})")
        except Odd as odd:
            source.odd(line, odd.what)
    for name, job in jobs.items():
        yield from _made(name, job, notes)


def _add(row: list[str], jobs: dict[str, _Job], line: int) -> None:
    name, instances, job_name, _, status, start_text, end_text, cpu_text, _ = row
    count = whole(instances, "instance_num", 1, MOST_MAPS)
    if not job_name or not name:
        raise Odd(f"{'task_name' if job_name else 'job_name'} is missing")
    if status not in _STATES:
        raise Odd(f"status is {status[:40]!r}, not one of {', '.join(_STATES)}")
    start = number(start_text or "0", "start_time", 0, MOST_SECONDS)
    end = number(end_text or "0", "end_time", 0, MOST_SECONDS)
    cores = number(cpu_text or "100", "plan_cpu", 0, 1e6) / 100
    if start and end and end < start:
        raise Odd(f"end_time is {end_text}, before start_time {start_text}")
    if job_name in jobs and name in jobs[job_name].names:
        raise Odd(f"the job {job_name} has a task {name} in a row above, too")
    job = jobs.setdefault(job_name, _Job(line))
    job.names.add(name)
    job.done &= status == "Terminated"
    job.known &= start > 0 and end > 0
    if start > 0:
        job.begin = min(job.begin, start)
    found = _NAME.fullmatch(name)
    phase = job.phases[1 if found and found[2] else 0]
    phase[0], phase[1], phase[2] = phase[0] + count, phase[1] + count * (end - start), phase[2] + count * cores


def _made(name: str, job: _Job, notes: Notes) -> Iterator[TraceJob]:
    maps, reduces = job.phases
    if not job.known:
        notes.leave_out("jobs left out that began or ended outside the time of the trace (a time of 0)")
        return
    if not maps[0]:
        notes.leave_out("jobs left out in which each task comes after another")
        return
    notes.assume("a job is submitted when its first task starts, since the trace has no time of submission")
    notes.assume("each instance takes the time of its whole task, of cores as planned; it reads no data")
    if _levels(job.names) > 2:
        notes.assume("all tasks that come after others are reduces of one phase, also where there are more phases")
    yield TraceJob(
        name=name,
        submit=job.begin,
        maps=int(maps[0]),
        map_seconds=maps[1] / maps[0],
        reduces=int(reduces[0]),
        reduce_seconds=reduces[1] / reduces[0] if reduces[0] else 0.0,
        map_cores=maps[2] / maps[0],
        reduce_cores=reduces[2] / reduces[0] if reduces[0] else 1.0,
        state=DONE if job.done else FAILED,
        line=job.line,
    )


def _levels(names: set[str]) -> int:
    """Returns how many tasks the longest chain has. Numbers rise along a chain, as a task is named after those before it."""
    before = {int(found[1]): [int(each) for each in found[2].split("_")[1:]] for found in map(_NAME.fullmatch, names) if found}
    levels: dict[int, int] = {}
    for task in sorted(before):
        levels[task] = 1 + max((levels.get(each, 0) for each in before[task]), default=0)
    return max(levels.values(), default=1)
