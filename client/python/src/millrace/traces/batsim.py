# SPDX-License-Identifier: Apache-2.0
"""The workloads of Batsim, one JSON text of jobs and profiles (its page "Workload"), and its table of results, jobs.csv (its page
"Jobs").

A profile says what a job does. Of a delay the time is known; of computations it depends on the speed of a host, which the user gives
(--flops); of transfers between hosts it depends on the network of Batsim's platform, which no workload has.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator
from typing import Any, Optional, TextIO

from .job import DONE, FAILED, KILLED, MOST_NODES, MOST_SECONDS, UNKNOWN, Cluster, TraceJob, fault_of
from .jsons import At, line_of, member, parse
from .run import RunJob, plain, width
from .source import Notes, Odd, Source, number, shown, whole
from .swf import RIGID

# Batsim's names of version 5 and those before.
_KINDS = {
    "DelayProfile": "delay",
    "ParallelTaskProfile": "parallel",
    "ParallelTaskHomogeneousProfile": "parallel_homogeneous",
    "SequentialCompositionProfile": "composed",
    "msg_par": "parallel",
    "msg_par_hg": "parallel_homogeneous",
    "sequence": "composed",
}
_MOST_DEPTH = 20
COLUMNS = (
    "job_id",
    "workload_name",
    "profile",
    "submission_time",
    "requested_number_of_resources",
    "requested_time",
    "success",
    "final_state",
    "starting_time",
    "execution_time",
    "finish_time",
    "waiting_time",
    "turnaround_time",
    "stretch",
    "consumed_energy",
    "allocated_resources",
    "metadata",
)
_FINAL = {DONE: "COMPLETED_SUCCESSFULLY", FAILED: "COMPLETED_FAILED", KILLED: "COMPLETED_KILLED", UNKNOWN: ""}


def read(source: Source, notes: Notes, flops: float = 0) -> Iterator[TraceJob]:
    text = source.document()
    try:
        file = parse(text)
        if not isinstance(file, dict):
            raise Odd("the file is a list, and the format is one object with jobs and profiles")
        profiles, jobs = member(file, "profiles", dict), member(file, "jobs", list)
        if "nb_res" in file:
            notes.cluster = Cluster(nodes=whole(file["nb_res"], "nb_res", 1, MOST_NODES), map_slots=1, reduce_slots=1)
    except At as odd:
        source.refuse(line_of(text, odd.path), odd.what)
    except Odd as odd:
        source.refuse(odd.line or line_of(text, ("nb_res",)), odd.what)
    known = set[str]()
    times: dict[str, float] = {}
    for at, value in enumerate(jobs):
        try:
            job = _job(value, profiles, times, flops, notes)
            if job.name in known:
                raise Odd(f"id {job.name!r} is that of a job above, too")
        except Odd as odd:
            source.odd(line_of(text, odd.path if isinstance(odd, At) else ("jobs", at)), odd.what)
            continue
        known.add(job.name)
        notes.assume(RIGID)
        yield job


def _job(value: Any, profiles: dict[str, Any], times: dict[str, float], flops: float, notes: Notes) -> TraceJob:
    if not isinstance(value, dict):
        raise Odd(f"a job is {shown(value)}, which is no object")
    if "id" not in value:
        raise Odd("the job has no id")
    resources = whole(value.get("res"), "res", 1, MOST_NODES)
    profile = value.get("profile")
    took = _seconds(str(profile), profiles, times, flops, notes, 0)
    wall = number(value.get("walltime", -1), "walltime", -1, MOST_SECONDS)
    if 0 <= wall < took:
        notes.assume("a job that would reach its walltime runs until then, as Batsim has it")
        took = wall
    job = TraceJob(
        name=str(value["id"]),
        submit=number(value.get("subtime"), "subtime", 0, MOST_SECONDS),
        maps=resources,
        map_seconds=took,
        estimate=wall if wall > 0 else None,
        state=DONE,
    )
    fault = fault_of(job)
    if fault:
        raise Odd(fault)
    return job


def _seconds(name: str, profiles: dict[str, Any], times: dict[str, float], flops: float, notes: Notes, depth: int) -> float:
    """Returns how long a job of this profile runs; `times` has those that are known. Raises At, at the profile, if that cannot be known."""
    if name in times:
        return times[name]
    if name not in profiles:
        raise Odd(f"profile {name!r} is not among the profiles")
    profile, path = profiles[name], ("profiles", name)
    if not isinstance(profile, dict):
        raise At(path, f"the profile {name!r} is no object")
    try:
        if _KINDS.get(str(profile.get("type")), profile.get("type")) == "composed":
            parts = member(profile, "seq", list, path)
            if depth >= _MOST_DEPTH:
                raise Odd(f"the profile {name!r} has too many profiles within each other, or is a part of itself")
            repeat = whole(profile.get("repeat", 1), "repeat", 0, 1_000_000)
            times[name] = repeat * sum(_seconds(str(part), profiles, times, flops, notes, depth + 1) for part in parts)
        else:
            times[name] = _plain_seconds(name, profile, flops, notes)
    except At:
        raise
    except Odd as odd:
        raise At(path, odd.what) from None
    return times[name]


def _plain_seconds(name: str, profile: dict[str, Any], flops: float, notes: Notes) -> float:
    kind = _KINDS.get(str(profile.get("type")), profile.get("type"))
    if kind == "delay":
        return number(profile.get("delay"), "delay", 0, MOST_SECONDS)
    if kind not in ("parallel", "parallel_homogeneous"):
        raise Odd(f"the profile {name!r} is of type {shown(profile.get('type'))}, whose time depends on Batsim's platform")
    work, sent = profile.get("cpu", 0), profile.get("com", 0)
    most = max((number(each, "cpu") for each in work), default=0) if isinstance(work, list) else number(work, "cpu")
    if most > 0 and flops <= 0:
        raise Odd(f"the profile {name!r} computes {most:g} operations; say by --flops how many a host does in a second")
    if any(sent) if isinstance(sent, list) else sent:
        notes.fact(f"assumed: the transfers of the profile {name!r} take no time")
    return most / flops if most > 0 else 0.0


def write(jobs: Iterable[RunJob], out: TextIO, notes: Notes) -> None:
    """Writes a workload whose profiles are delays: as many hosts as a job can use slots, for the time of its maps and reduces."""
    listed, profiles = [], {}
    for job in jobs:
        ran = sum(max(times, default=0) for times in (job.map_times, job.reduce_times)) / 1000
        took = job.planned if job.planned >= 0 else ran
        profile = f"delay-{plain(took)}"
        profiles[profile] = {"type": "delay", "delay": _number(took)}
        made = {"id": job.name, "subtime": _number(job.submit), "res": width(job), "profile": profile}
        listed.append({**made, "walltime": _number(job.estimate)} if job.estimate else made)
        notes.assume("a job holds as many hosts as the larger of its numbers of maps and reduces, until both are done")
    out.write(json.dumps({"nb_res": max((job["res"] for job in listed), default=1), "jobs": listed, "profiles": profiles}, indent=1) + "\n")


def _number(value: float) -> Any:
    return int(value) if value == int(value) else round(value, 6)


def write_results(jobs: Iterable[RunJob], out: TextIO, notes: Notes) -> None:
    """Writes the columns of Batsim's jobs.csv. Resources are the numbers of nodes; energy and the time that was asked for are not
    known, -1 for the latter."""
    table = csv.writer(out, lineterminator="\n")
    table.writerow(COLUMNS)
    for job in jobs:
        state = _FINAL[job.state] if job.start is not None else "" if job.end is None else "REJECTED"
        start, end = job.start, job.end
        ran = end - start if start is not None and end is not None else None
        turnaround = end - job.submit if end is not None else None
        row = [
            str(job.number),
            "millrace",
            job.group,
            plain(job.submit),
            str(width(job)),
            plain(job.estimate) if job.estimate else "-1",
            "1" if job.state == DONE else "0",
            state,
            _known(start),
            _known(ran),
            _known(end),
            _known(start - job.submit if start is not None else None),
            _known(turnaround),
            _known(turnaround / ran if turnaround is not None and ran else None),
            "",
            _intervals(job.nodes),
            "",
        ]
        table.writerow(row)
    notes.fact("the resources are nodes, of which several jobs may have slots at the same time")


def _known(value: Optional[float]) -> str:
    return "" if value is None else plain(value)


def _intervals(numbers: set[int]) -> str:
    """Returns the numbers as Batsim writes sets: "0-2 5"."""
    spans: list[list[int]] = []
    for each in sorted(numbers):
        if spans and each == spans[-1][1] + 1:
            spans[-1][1] = each
        else:
            spans.append([each, each])
    return " ".join(str(first) if first == last else f"{first}-{last}" for first, last in spans)
