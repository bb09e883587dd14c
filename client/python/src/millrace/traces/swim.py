# SPDX-License-Identifier: Apache-2.0
"""SWIM traces, as lab/workload/swim.h reads them: a line a job with its name, submission and gap in whole seconds, and bytes of map input,
shuffle and output. They have bytes and no tasks, so a trace that has times needs a rate to become one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TextIO

from .job import MOST_BYTES, TraceJob
from .source import Notes, TraceError


def write(jobs: Iterable[TraceJob], rate: float, out: TextIO, notes: Notes) -> None:
    """Writes the jobs, which come in order of submission. With a rate in bytes a second, the times of tasks stand for bytes where a
    trace has none. Raises TraceError for a job whose bytes are not known, and for a name that the format cannot hold."""
    before = 0
    for job in jobs:
        if any(mark in job.name for mark in "\t\r\n") or job.name.startswith("#") or not job.name:
            raise TraceError(f"the job {job.name!r}: a SWIM trace cannot hold this name; write TOML (--to toml)")
        submit = int(job.submit)
        if submit != job.submit:
            notes.assume("times of submission are cut to whole seconds, which are all that a SWIM trace has")
        sizes = (job.input_bytes, job.shuffle_bytes if job.reduces or job.shuffle_bytes else 0, job.output_bytes)
        if job.input_bytes is None or (job.reduces and job.shuffle_bytes is None):
            if rate <= 0:
                raise TraceError(
                    f"the job {job.name!r}: its bytes are not known, and a SWIM trace has nothing else; write TOML, or "
                    "say by --rate for how many bytes a second of a task stands"
                )
            notes.assume(f"a second of a task stands for {rate:g} bytes, all of a reduce's being shuffled")
            sizes = (round(job.maps * job.map_seconds * rate), round(job.reduces * job.reduce_seconds * rate), 0)
        texts = [str(min(size or 0, MOST_BYTES)) for size in sizes]
        out.write("\t".join((job.name, str(submit), str(submit - before), *texts)) + "\n")
        before = submit
