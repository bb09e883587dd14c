# SPDX-License-Identifier: Apache-2.0
"""A job on Spark: the same maps, order, groups, parts and formats, made of RDDs. It needs pyspark and this package, and no more.

`millrace export spark JOB.py` prints a program that calls `main`. What a map leaves for the reduces is sorted by Spark as the bytes of
its keys, whose order is Python's own (keys.py), so an exported job gives what the job gives.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from . import stream
from .errors import UsageError
from .jobs import Job

_BLOCK = 4096  # lines that go to the job together


class _Kept(stream.Taker):
    """Keeps what an attempt gives."""

    def __init__(self) -> None:
        self.kept: list[Any] = []

    def records(self, records: Iterable[stream.Record]) -> None:
        self.kept += [((place, key), value) for place, key, value in records]

    def output(self, data: bytes) -> None:
        self.kept.append(data)


def _lines_of(data: Iterable[bytes]) -> Iterator[bytes]:
    text = b"".join(data)
    return iter(text.removesuffix(b"\n").split(b"\n") if text else ())


def _mapper(job: Job, index: int, reduces: int, options: dict[str, str]) -> Any:
    def run(partition: int, lines: Iterator[bytes]) -> Iterator[Any]:
        def blocks() -> Iterator[bytes]:
            while block := list(itertools.islice(lines, _BLOCK)):
                yield b"\n".join(block) + b"\n"

        taker = _Kept()
        header = {"partition": partition, "reduces": reduces, "maps": 0, "options": options}
        about = {"path": "", "name": "", "index": index, "number": 0, "offset": 0, "length": 0}
        stream.run_map(job, {}, header, about, blocks(), taker)
        return iter(taker.kept) if reduces else _lines_of(taker.kept)

    return run


def _reducer(job: Job, reduces: int, options: dict[str, str]) -> Any:
    def run(partition: int, records: Iterator[tuple[tuple[int, bytes], bytes]]) -> Iterator[bytes]:
        taker = _Kept()
        header = {"kind": "reduce", "partition": partition, "reduces": reduces, "maps": 0, "options": options}
        stream.run_sorted(job, {}, header, ((key, value) for (_, key), value in records), taker)
        return _lines_of(taker.kept)

    return run


def run(context: Any, job: Job, inputs: Sequence[str], output: str, reducers: int = 1, options: dict[str, str] | None = None) -> None:
    """Runs the job in a SparkContext and writes the lines of its output to the directory `output`, a part for each reduce.

    What a map gives is in memory until Spark has it. Raises UsageError if the job cannot run so.
    """
    job.check()
    why = not_for_spark(job)
    if why:
        raise UsageError(f"the job {job.name} cannot run on Spark: {why}")
    if len(job.mappers) > 1 and len(inputs) != len(job.mappers):
        raise UsageError(f"the job {job.name} has {len(job.mappers)} maps, so it takes as many inputs, and not {len(inputs)}")
    job.set_options(options)
    given, reduces = options or {}, reducers if job.reducer is not None else 0
    mapped = [
        context.textFile(path, use_unicode=False).mapPartitionsWithIndex(_mapper(job, index, reduces, given), preservesPartitioning=False)
        for index, path in enumerate(inputs)
    ]
    records = mapped[0] if len(mapped) == 1 else context.union(mapped)
    if reduces:
        placed = records.repartitionAndSortWithinPartitions(reduces, partitionFunc=lambda key: key[0])
        records = placed.mapPartitionsWithIndex(_reducer(job, reduces, given))
    records.saveAsTextFile(output)


def not_for_spark(job: Job) -> str:
    """Returns why the job cannot run on Spark; "" if it can."""
    if job.archives or [path for path in job.files if not path.endswith(".py")]:
        return "it reads side files"
    return stream.not_in_lines(job)


def main(job: Job) -> None:
    """The main of an exported program: reads its words, and runs the job in a Spark of their cluster."""
    from pyspark.sql import SparkSession

    parser = argparse.ArgumentParser(description=f"The job {job.name} on Spark.")
    parser.add_argument("inputs", nargs="+", metavar="IN")
    parser.add_argument("output", metavar="OUT")
    parser.add_argument("-r", "--reducers", type=int, default=1)
    parser.add_argument("-D", dest="options", action="append", default=[], metavar="NAME=VALUE")
    words = parser.parse_intermixed_args()
    session = SparkSession.builder.appName(job.name).getOrCreate()
    try:
        run(session.sparkContext, job, words.inputs, words.output, words.reducers, dict(word.split("=", 1) for word in words.options))
    finally:
        session.stop()
