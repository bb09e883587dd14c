# SPDX-License-Identifier: Apache-2.0
"""A job of a trace, as all formats are read into and written from."""

from __future__ import annotations

import math
from typing import NamedTuple, Optional

# What the simulator takes (schedulers/events/limits.h, lab/workload/job_classes.cc).
MOST_JOBS = 1_000_000
MOST_MAPS = 1 << 24
MOST_REDUCES = 1 << 20
MOST_SLOTS = 1 << 16
MOST_NODES = 100_000
MOST_BYTES = 1 << 60
MOST_SECONDS = 9e9
MOST_CORES = 10_000
MOST_NAME = 1000

DONE, FAILED, KILLED, UNKNOWN = "succeeded", "failed", "killed", "unknown"
PRIORITIES = ("VERY_HIGH", "HIGH", "NORMAL", "LOW", "VERY_LOW")


class TraceJob(NamedTuple):
    """Times are in seconds; `submit` counts from wherever the trace's clock does. What a trace does not say is None or empty."""

    name: str
    submit: float
    maps: int
    map_seconds: float  # of each map, on average
    reduces: int = 0
    reduce_seconds: float = 0.0  # of each reduce: its compute phase
    map_cores: float = 1.0
    reduce_cores: float = 1.0
    user: str = ""
    pool: str = ""
    priority: str = ""  # one of PRIORITIES
    deadline: Optional[float] = None  # after the submission
    estimate: Optional[float] = None  # for how long the user said that a map takes
    input_bytes: Optional[int] = None
    shuffle_bytes: Optional[int] = None
    output_bytes: Optional[int] = None
    state: str = UNKNOWN
    line: int = 0  # where it begins in its file; 0: its reader has checked it


class Cluster(NamedTuple):
    """The machines for which a trace was made, as far as it says."""

    nodes: int
    racks: int = 0  # 0: not said
    map_slots: int = 0
    reduce_slots: int = 0


_WHOLE = {"maps": MOST_MAPS, "reduces": MOST_REDUCES, "input_bytes": MOST_BYTES, "shuffle_bytes": MOST_BYTES, "output_bytes": MOST_BYTES}
_REAL = {
    "map_seconds": MOST_SECONDS,
    "reduce_seconds": MOST_SECONDS,
    "deadline": MOST_SECONDS,
    "estimate": MOST_SECONDS,
    "map_cores": MOST_CORES,
    "reduce_cores": MOST_CORES,
}


def fault_of(job: TraceJob) -> str:
    """Returns why the simulator would not take the job, in words that name the field; empty if it would."""
    for field, most in (*_WHOLE.items(), *_REAL.items()):
        value = getattr(job, field)
        if value is not None and not (math.isfinite(value) and 0 <= value <= most):
            return f"{field} is {value}, not a number from 0 to {most:.0f}"
    if not math.isfinite(job.submit) or abs(job.submit) > MOST_SECONDS:
        return f"submit is {job.submit}, which is no time in seconds"
    if job.maps < 1:
        return "maps is 0, and a job has one at least"
    if job.priority and job.priority not in PRIORITIES:
        return f"priority is {job.priority!r}, not one of {', '.join(PRIORITIES)}"
    for field in ("name", "user", "pool"):
        if len(getattr(job, field)) > MOST_NAME:
            return f"{field} has {len(getattr(job, field))} characters, and {MOST_NAME} are the most"
    return ""
