# SPDX-License-Identifier: Apache-2.0
"""The JSON of YARN's Scheduler Load Simulator, traces of type SLS: one object after another, each a job with its containers.

Hadoop's page "SchedulerLoadSimulator" has the keys and their defaults. A map or reduce is a container of that type; its time is
"duration.ms", or its end less its start.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, TextIO

from .job import DONE, MOST_JOBS, MOST_NODES, MOST_REDUCES, MOST_SECONDS, Cluster, TraceJob
from .jsons import At, line_of, member, parse, texts
from .run import RunJob
from .source import Notes, Odd, Source, TraceError, number, whole

_TYPES = ("map", "reduce")
_MOST_MS = MOST_SECONDS * 1000
_LEFT_OUT = {
    "container.host": "the hosts that containers ask for",
    "container.memory-mb": "memory of containers",
    "container.request.delay": "delays of requests",
    "job.label.expression": "labels of nodes",
}


def read(source: Source, notes: Notes) -> Iterator[TraceJob]:
    known = set[str]()
    number_of_job = 0
    for line, text in texts(source):
        try:
            value = parse(text, line)
            if not isinstance(value, dict):
                raise Odd("this is a list, and each job is an object")
            if "num.nodes" in value:
                _take_nodes(value, notes)
                continue
            for job in _jobs(value, line, number_of_job, notes):
                if job.name in known:
                    raise At(("job.id",), f"job.id {job.name!r} is that of a job above, too")
                known.add(job.name)
                number_of_job += 1
                yield job
        except At as odd:
            source.odd(line_of(text, odd.path, line), odd.what)
        except Odd as odd:
            source.odd(odd.line or line, odd.what)


def _take_nodes(value: dict[str, Any], notes: Notes) -> None:
    try:
        nodes, racks = whole(value["num.nodes"], "num.nodes", 1, MOST_NODES), whole(value.get("num.racks", 1), "num.racks", 1, MOST_NODES)
    except Odd as odd:
        raise At(("num.nodes",), odd.what) from None
    notes.cluster = Cluster(nodes=nodes, racks=min(racks, nodes))


def _jobs(value: dict[str, Any], line: int, first: int, notes: Notes) -> Iterator[TraceJob]:
    tasks = member(value, "job.tasks", list)
    if not tasks:
        raise At(("job.tasks",), "job.tasks is empty, and a job has one container at least")
    totals = {kind: [0, 0.0, 0.0] for kind in _TYPES}  # tasks, milliseconds, cores by tasks
    times = {kind: set[float]() for kind in _TYPES}
    for at, task in enumerate(tasks):
        try:
            kind, count, took, cores = _task(task)
        except Odd as odd:
            raise At(("job.tasks", at), odd.what) from None
        total = totals[kind]
        total[0], total[1], total[2] = total[0] + count, total[1] + took * count, total[2] + cores * count
        times[kind].add(took)
    if any(len(each) > 1 for each in times.values()):
        notes.assume("all maps of a job take the mean of their times, and so do its reduces")
    for key, what in _LEFT_OUT.items():
        if key in value or any(key in task for task in tasks):
            notes.leave_out(f"jobs lose {what} ({key})")
    maps, reduces = totals["map"], totals["reduce"]
    if not maps[0]:
        raise At(("job.tasks",), "job.tasks has no map, and a job here has one at least")
    if reduces[0] > MOST_REDUCES:
        raise At(("job.tasks",), f"job.tasks has {reduces[0]} reduces, and {MOST_REDUCES} are the most")
    count = _field(value, "job.count", 1, MOST_JOBS)
    submit = _field(value, "job.start.ms", 0, int(_MOST_MS), required=True) / 1000
    for copy in range(count):
        named = "job.id" in value and count == 1
        yield TraceJob(
            name=str(value["job.id"]) if named else f"{value['job.id']}-{copy}" if "job.id" in value else str(first + copy),
            submit=submit,
            maps=int(maps[0]),
            map_seconds=maps[1] / maps[0] / 1000,
            reduces=int(reduces[0]),
            reduce_seconds=reduces[1] / reduces[0] / 1000 if reduces[0] else 0.0,
            map_cores=maps[2] / maps[0],
            reduce_cores=reduces[2] / reduces[0] if reduces[0] else 1.0,
            user=str(value.get("job.user", "default")),
            pool=str(value.get("job.queue.name", "")),
            state=DONE,
            line=line,
        )


def _task(task: Any) -> tuple[str, int, float, float]:
    """Returns the type of a container, how many there are, their milliseconds and cores."""
    if not isinstance(task, dict):
        raise Odd("a container is no object")
    kind = task.get("container.type", "map")
    if kind not in _TYPES:
        raise Odd(f"container.type is {str(kind)[:40]!r}, not map or reduce")
    count = whole(task.get("count", 1), "count", 1, MOST_REDUCES * 16)
    cores = number(task.get("container.vcores", 1), "container.vcores", 0, 10_000)
    for key in ("container.duration.ms", "duration.ms"):
        if key in task:
            return kind, count, number(task[key], key, 0, _MOST_MS), cores
    start, end = (number(task.get(key), key, 0, _MOST_MS) for key in ("container.start.ms", "container.end.ms"))
    if end < start:
        raise Odd(f"container.end.ms is {end:g}, before container.start.ms {start:g}")
    return kind, count, end - start, cores


def _field(value: dict[str, Any], key: str, least: int, most: int, required: bool = False) -> int:
    try:
        return whole(value.get(key, None if required else least), key, least, most)
    except Odd as odd:
        raise At((key,), odd.what) from None


def write(jobs: Iterable[RunJob], out: TextIO, notes: Notes) -> None:
    """Writes the jobs so that YARN's simulator judges them, too. Containers of equal times are one entry with a count."""
    for job in jobs:
        made = {20: ("map", job.map_times), 10: ("reduce", job.reduce_times)}
        lacks = job.maps - sum(job.map_times.values()) + job.reduces - sum(job.reduce_times.values())
        if not job.map_times or (job.reduces and not job.reduce_times):
            raise TraceError(f"the job {job.name} has no times of tasks, and the format is made of them; run `millrace sim` with --tasks")
        if lacks > 0:
            notes.leave_out("tasks left out that did not succeed in the run", lacks)
        text = {
            "am.type": "mapreduce",
            "job.start.ms": round(job.submit * 1000),
            "job.end.ms": round((job.end or job.submit) * 1000),
            "job.queue.name": job.pool or "default",
            "job.id": job.name,
            "job.user": job.user or "default",
            "job.tasks": [
                {"count": count, "duration.ms": took, "container.priority": priority, "container.type": kind}
                for priority, (kind, times) in made.items()
                for took, count in sorted(times.items())
            ],
        }
        out.write(json.dumps(text, indent=2) + "\n")
