# SPDX-License-Identifier: Apache-2.0
"""The JSON of YARN's Scheduler Load Simulator, traces of type SYNTH: distributions from which jobs are drawn, in the form of Hadoop 2.9
(mtasks_avg, mtasks_stddev) and in that of Hadoop 3.1 ("tasks": [...]).

The jobs are drawn here by the file's rand_seed. Python's generator is not Java's, so these are other draws from the same distributions
than the simulator makes. A log-normal distribution is given by the mean m and the deviation s of its values: its parameters are
sigma^2 = ln(1 + s^2 / m^2) and mu = ln(m) - sigma^2 / 2; a deviation of 0 means m / 6, as SynthUtils.java has both.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator
from typing import Any, Callable, NamedTuple, Optional

from .job import DONE, MOST_JOBS, MOST_NODES, MOST_SECONDS, Cluster, TraceJob
from .jsons import At, Path, line_of, member, parse
from .source import Notes, Odd, Source, number, whole

MOST_TASKS = 20_000_000  # drawn for one file

Draw = Callable[[random.Random], float]


class _Tasks(NamedTuple):
    amount: Draw
    seconds: Draw
    cores: Draw


class _Class(NamedTuple):
    name: str
    user: str
    pool: str
    maps: Optional[_Tasks]
    reduces: Optional[_Tasks]
    duration: Draw
    deadline_factor: Draw
    reservation: Draw


class _Workload(NamedTuple):
    classes: list[_Class]
    weights: list[float]
    times: list[tuple[float, float]]  # begin and end of a span
    time_weights: list[float]


def read(source: Source, notes: Notes) -> Iterator[TraceJob]:
    text = source.document()
    try:
        file = parse(text)
        if not isinstance(file, dict):
            raise Odd("the file is a list, and the format is one object with num_jobs and workloads")
        yield from _drawn(file, notes)
    except At as odd:
        source.refuse(line_of(text, odd.path), odd.what)
    except Odd as odd:
        source.refuse(odd.line or 1, odd.what)


def _drawn(file: dict[str, Any], notes: Notes) -> Iterator[TraceJob]:
    jobs = int(_number(file, (), "num_jobs", 1, MOST_JOBS))
    nodes = int(_number(file, (), "num_nodes", 1, MOST_NODES, default=1))
    per_rack = max(1, int(_number(file, (), "nodes_per_rack", 0, MOST_NODES, default=nodes)))
    notes.cluster = Cluster(nodes=nodes, racks=-(-nodes // per_rack))
    rng = random.Random(int(_number(file, (), "rand_seed", -(1 << 63), 1 << 63, default=1)))
    listed = member(file, "workloads", list)
    workloads = [_workload(each, ("workloads", at)) for at, each in enumerate(listed)]
    weights = _weights(listed, ("workloads",), "workload_weight")
    notes.assume("the jobs are drawn by Python's generator, so they are not those that YARN's simulator draws", jobs)
    notes.assume("all maps of a job take the mean of the times drawn for them, and so do its reduces", jobs)
    left = MOST_TASKS
    for index in range(jobs):
        workload = rng.choices(workloads, cum_weights=weights)[0]
        begin, end = rng.choices(workload.times, cum_weights=workload.time_weights)[0]
        submit = math.floor(rng.uniform(begin, end))
        kind = rng.choices(workload.classes, cum_weights=workload.weights)[0]
        maps, map_seconds, map_cores = _tasks(kind.maps, rng, left)
        reduces, reduce_seconds, reduce_cores = _tasks(kind.reduces, rng, left)
        left -= maps + reduces
        reserved = rng.random() <= kind.reservation(rng)
        deadline = kind.deadline_factor(rng) * kind.duration(rng)
        yield TraceJob(
            name=f"{kind.name}-{index}",
            submit=submit,
            maps=max(maps, 1),
            map_seconds=map_seconds,
            reduces=reduces,
            reduce_seconds=reduce_seconds,
            map_cores=map_cores,
            reduce_cores=reduce_cores,
            user=kind.user,
            pool=kind.pool,
            deadline=deadline if reserved and deadline > 0 else None,
            state=DONE,
            line=1,
        )


def _tasks(tasks: Optional[_Tasks], rng: random.Random, left: int) -> tuple[int, float, float]:
    if tasks is None:
        return 0, 0.0, 1.0
    count = round(tasks.amount(rng))
    if count > left:
        raise At(("workloads",), f"more than {MOST_TASKS} tasks would be drawn; lower num_jobs or the numbers of tasks")
    if count <= 0:
        return 0, 0.0, 1.0
    seconds = sum(tasks.seconds(rng) for _ in range(count)) / count
    return count, seconds, max(0.0, tasks.cores(rng))


def _workload(value: Any, path: Path) -> _Workload:
    if not isinstance(value, dict):
        raise At(path, "a workload is no object")
    listed = member(value, "job_classes", list, path)
    pool = str(value.get("queue_name", ""))
    classes = [_class(each, pool, (*path, "job_classes", at)) for at, each in enumerate(listed)]
    moments = member(value, "time_distribution", list, path)
    begins = [_number(each, (*path, "time_distribution", at), "time", 0, MOST_SECONDS) for at, each in enumerate(moments)]
    times = list(zip(begins, [*begins[1:], *begins[-1:]]))
    for at, (begin, end) in enumerate(times):
        if end < begin:
            raise At((*path, "time_distribution", at + 1), f"time is {end:g}, before the one above")
    return _Workload(
        classes,
        _weights(listed, (*path, "job_classes"), "class_weight"),
        times,
        _weights(moments, (*path, "time_distribution"), "weight", 0),
    )


def _class(value: Any, pool: str, path: Path) -> _Class:
    if not isinstance(value, dict):
        raise At(path, "a class of jobs is no object")
    name, user = str(value.get("class_name", "job")), str(value.get("user_name", "default"))
    if "tasks" not in value:
        maps, reduces = _old(value, path, "m", "map"), _old(value, path, "r", "reduce")
        duration, factor = _mean(value, path, "dur"), _mean(value, path, "deadline_factor")
        return _Class(name, user, pool, maps, reduces, duration, factor, _constant(_number(value, path, "chance_of_reservation", 0, 1, 0)))
    tasks: dict[str, _Tasks] = {}
    for at, each in enumerate(member(value, "tasks", list, path)):
        where = (*path, "tasks", at)
        kind = each.get("type") if isinstance(each, dict) else None
        if kind not in ("map", "reduce") or kind in tasks:
            raise At(where, f"type is {kind!r}, and a job has one entry of type map and one of type reduce")
        tasks[kind] = _Tasks(_sample(each, where, "count"), _sample(each, where, "time"), _sample(each, where, "max_vcores", 1))
    if "map" not in tasks:
        raise At((*path, "tasks"), "tasks has no entry of type map")
    others = (_sample(value, path, key, 0) for key in ("duration", "deadline_factor", "reservation"))
    return _Class(name, user, pool, tasks["map"], tasks.get("reduce"), *others)


def _old(value: dict[str, Any], path: Path, letter: str, kind: str) -> Optional[_Tasks]:
    if letter == "r" and not value.get("rtasks_avg"):
        return None
    cores = _mean(value, path, f"{kind}_max_vcores") if f"{kind}_max_vcores_avg" in value else _constant(1)
    return _Tasks(_mean(value, path, f"{letter}tasks", True), _mean(value, path, f"{letter}time", True), cores)


def _mean(value: dict[str, Any], path: Path, key: str, required: bool = False) -> Draw:
    mean = _number(value, path, f"{key}_avg", 0, MOST_SECONDS, None if required else 0)
    return _log_normal(mean, _number(value, path, f"{key}_stddev", 0, MOST_SECONDS, 0))


def _sample(value: dict[str, Any], path: Path, key: str, default: Optional[float] = None) -> Draw:
    """Returns the draw of {"val": 5}, {"val": 5, "std": 1, "dist": "NORM"} or {"discrete": [...], "weights": [...]}."""
    if key not in value and default is not None:
        return _constant(default)
    given = member(value, key, dict, path)
    where = (*path, key)
    if "discrete" in given:
        listed = member(given, "discrete", list, where)
        values = [_number({"discrete": each}, where, "discrete", 0, MOST_SECONDS) for each in listed]
        raw = given.get("weights", [1] * len(values))
        weights = _weights([{"weights": each} for each in raw] if isinstance(raw, list) else [], (), "weights", where=where)
        if len(weights) != len(values):
            raise At(where, f"there are {len(values)} values and {len(weights)} weights")
        return lambda rng: rng.choices(values, cum_weights=weights)[0]
    mean = _number(given, where, "val", 0, MOST_SECONDS)
    if "std" not in given:
        return _constant(mean)
    deviation = _number(given, where, "std", 0, MOST_SECONDS)
    if given.get("dist", "LOGNORM") == "NORM":
        return lambda rng: max(0.0, rng.gauss(mean, deviation or mean / 6))
    if given.get("dist", "LOGNORM") != "LOGNORM":
        raise At((*where, "dist"), f"dist is {str(given['dist'])[:40]!r}, not LOGNORM or NORM")
    return _log_normal(mean, deviation)


def _constant(value: float) -> Draw:
    return lambda rng: value


def _log_normal(mean: float, deviation: float) -> Draw:
    if mean <= 0:
        return _constant(0)
    variance = math.log1p(((deviation or mean / 6) / mean) ** 2)
    return lambda rng: rng.lognormvariate(math.log(mean) - variance / 2, math.sqrt(variance))


def _weights(listed: list[Any], path: Path, key: str, default: Optional[float] = None, where: Path = ()) -> list[float]:
    """Returns the sums of the weights up to each, from which `choices` draws."""
    weights = list(itertools.accumulate(_number(each, where or (*path, at), key, 0, 1e12, default) for at, each in enumerate(listed)))
    if not weights or weights[-1] <= 0:
        raise At(where or path, f"{(where or path)[-1]} is empty, or no {key} is above 0")
    return weights


def _number(value: Any, path: Path, key: str, least: float, most: float, default: Optional[float] = None) -> float:
    if not isinstance(value, dict):
        raise At(path, f"an entry is {str(value)[:40]!r}, which is no object")
    try:
        got = number(value.get(key, default), key, least, most)
        return whole(value.get(key, default), key, int(least), int(most)) if key in ("num_jobs", "num_nodes", "rand_seed") else got
    except Odd as odd:
        raise At((*path, key), odd.what) from None
