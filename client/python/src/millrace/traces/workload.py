# SPDX-License-Identifier: Apache-2.0
"""Workload files of `millrace sim` (docs/schedulers/simulator.md): jobs of a trace as TOML, and back where the file has plain numbers."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from typing import Any, Optional, TextIO

from .job import Cluster, TraceJob, fault_of
from .run import plain
from .source import Odd, Source, TraceError, number, printable, whole

MOST_FILE = 16 << 20  # lab/workload/simulation_file.cc reads no more
LEAST_SECTION = 100  # bytes of any job

_ESCAPED = re.compile(r'["\\\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]')
_SHORT = {'"': '\\"', "\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}


def quoted(text: str) -> str:
    """Returns the text as a basic string of TOML. Half of a surrogate pair, which no TOML can hold, becomes U+FFFD."""

    def escape(found: re.Match[str]) -> str:
        code = ord(found[0])
        return _SHORT.get(found[0]) or ("\\uFFFD" if 0xD800 <= code <= 0xDFFF else f"\\u{code:04X}")

    return f'"{_ESCAPED.sub(escape, text)}"'


def write(jobs: Iterable[TraceJob], cluster: Optional[Cluster], heading: Iterable[str], name: str, out: TextIO) -> None:
    """Writes a class of one job for each job. `heading` are lines of comments. Raises TraceError if the file gets too large to be read."""
    begin = [*(f"# {printable(line)}" for line in heading), f"name = {quoted(name)}"]
    if cluster is not None:
        begin += ["", "[cluster]", *(f"{key} = {value}" for key, value in cluster._asdict().items() if value)]
    size = 0
    for text in itertools.chain(["\n".join(begin) + "\n"], map(_section, jobs)):
        size += len(text.encode())
        if size > MOST_FILE:
            raise TraceError(
                f"the workload is larger than {MOST_FILE >> 20} MiB, the most that `millrace sim` reads; take fewer jobs by --jobs, --from "
                "and --until"
            )
        out.write(text)


def _section(job: TraceJob) -> str:
    entries = {
        "name": quoted(job.name),
        "arrival": f'{{ kind = "batch", at = {plain(job.submit)} }}',
        "maps": str(job.maps),
        "map_time": plain(job.map_seconds),
    }
    if job.reduces:
        entries["reduces"] = str(job.reduces)
        entries["reduce_time"] = plain(job.reduce_seconds)
    for key, cores in (("map_cores", job.map_cores), ("reduce_cores", job.reduce_cores)):
        if cores != 1:
            entries[key] = plain(cores)
    for key, text in (("user", job.user), ("pool", job.pool), ("priority", job.priority)):
        if text:
            entries[key] = quoted(text)
    if job.deadline:
        entries["deadline"] = plain(job.deadline)
    if job.estimate and job.map_seconds >= 1e-6:
        entries["tell_times"] = "true"
        entries["estimate_bias"] = plain(job.estimate / job.map_seconds)
    entries.update(_data(job))
    return "\n[[jobs]]\n" + "".join(f"{key} = {value}\n" for key, value in entries.items())


def _data(job: TraceJob) -> dict[str, str]:
    """Returns what the job reads and moves. A job of which that is not known reads nothing and moves nothing."""
    if not job.input_bytes:
        return {"located": "false", "split": "1", "map_output": "0"}
    split = max(1, round(job.input_bytes / job.maps))
    shuffle = job.shuffle_bytes or 0
    made = {"split": str(split), "map_output": _ratio(shuffle, split * job.maps)}
    if job.reduces:
        made["reduce_output"] = _ratio(job.output_bytes or 0, shuffle)
    return made


def _ratio(part: int, of: int) -> str:
    return f"{part / of:.12f}".rstrip("0").rstrip(".") if part and of else "0"


def read(path: str, source: Source) -> list[TraceJob]:
    """Returns the jobs of a workload whose classes have plain numbers, as `write` makes them. Raises TraceError for another, which
    has to be simulated first, and where Python is too old to read TOML."""
    try:
        import tomllib  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        raise TraceError(
            f"{path} is TOML, which Python reads from 3.11 on; run `millrace sim {path} -o DIR` and export a directory below DIR, or use "
            "a newer python3"
        ) from None
    try:
        file = tomllib.loads(source.document())
    except tomllib.TOMLDecodeError as error:
        raise TraceError(f"{path}: this is no TOML: {error}") from None
    except RecursionError:
        raise TraceError(f"{path}: there are too many brackets within each other") from None
    sections = file.get("jobs")
    if not isinstance(sections, list) or not sections:
        raise TraceError(f"{path} has no [[jobs]]; name a workload file, or a directory that `millrace sim -o DIR` wrote")
    factors = {"size_factor", "time_factor"} & file.keys()
    if factors or "trace" in file or "arrival" in file:
        raise TraceError(f"{path} has {', '.join(sorted(factors | ({'trace', 'arrival'} & file.keys())))}, {_SIMULATE}")
    jobs: list[TraceJob] = []
    for at, section in enumerate(sections, 1):
        try:
            jobs += _jobs(section)
        except Odd as odd:
            raise TraceError(f"{path}: [[jobs]] number {at}: {odd.what}") from None
    return jobs


_SIMULATE = "so its jobs are known when they are drawn; run `millrace sim` with -o DIR, and export a directory below DIR"
_KEYS = {"name", "count", "arrival", "maps", "map_time", "reduces", "reduce_time", "map_cores", "reduce_cores", "user", "pool", "priority"}
_KEYS |= {"deadline", "tell_times", "estimate_bias", "located", "split", "map_output", "reduce_output"}


def _jobs(section: Any) -> Iterator[TraceJob]:
    if not isinstance(section, dict):
        raise Odd("it is no table")
    others = sorted(section.keys() - _KEYS)
    if others:
        raise Odd(f"it has {others[0]}, {_SIMULATE}")
    for key, value in section.items():
        if isinstance(value, (dict, list)) and key != "arrival":
            raise Odd(f"{key} is drawn, {_SIMULATE}")
    arrival = section.get("arrival")
    if not isinstance(arrival, dict) or arrival.get("kind", "batch") != "batch" or arrival.keys() - {"kind", "at"}:
        raise Odd(f"its arrival is no batch, {_SIMULATE}")
    map_seconds = number(section.get("map_time", 10), "map_time")
    name = str(section.get("name", "job"))
    count = whole(section.get("count", 1), "count", 0, 1_000_000)
    maps = whole(section.get("maps", 1), "maps")
    data = section.get("located", True)
    split, output = number(section.get("split", 0), "split"), number(section.get("map_output", 1), "map_output")
    job = TraceJob(
        name=name,
        submit=number(arrival.get("at", 0), "arrival.at"),
        maps=maps,
        map_seconds=map_seconds,
        reduces=whole(section.get("reduces", 0), "reduces"),
        reduce_seconds=number(section.get("reduce_time", 10), "reduce_time") if section.get("reduces") else 0.0,
        map_cores=number(section.get("map_cores", 1), "map_cores"),
        reduce_cores=number(section.get("reduce_cores", 1), "reduce_cores"),
        user=str(section.get("user", "")),
        pool=str(section.get("pool", "")),
        priority=str(section.get("priority", "")),
        deadline=number(section["deadline"], "deadline") if "deadline" in section else None,
        estimate=map_seconds * number(section.get("estimate_bias", 1), "estimate_bias") if section.get("tell_times") else None,
        input_bytes=round(split * maps) if data and split else None,
        shuffle_bytes=round(split * maps * output) if data and split else None,
        output_bytes=round(split * maps * output * number(section.get("reduce_output", 1), "reduce_output")) if data and split else None,
    )
    fault = fault_of(job)
    if fault:
        raise Odd(fault)
    for copy in range(count):
        yield job if count == 1 else job._replace(name=f"{name}-{copy}")
