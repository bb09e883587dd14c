# SPDX-License-Identifier: Apache-2.0
"""Runs a whole job without a cluster: maps, a shuffle that sorts by the bytes of keys, reduces.

An attempt is run by a `Runner`. `InThisProcess` calls the job's functions here, for `Job.test`; `InChild` speaks the child protocol
with a process that was started as a task would start it, so the tests of this package use all that runs on a cluster but the
programs of Millrace.
"""

from __future__ import annotations

import bz2
import collections
import gzip
import io
import json
import os
import shutil
import socket
import subprocess
import tempfile
import threading
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Callable, NamedTuple, Optional, Union

from . import formats, keys, values, wire
from .child import Session
from .errors import JobFailed, UsageError, job_failed
from .jobs import File, Job, Reads


class Split(NamedTuple):
    """The input of a map: the number of the INPUT it belongs to, the name of its file, and its messages between I and E."""

    input: int
    path: str
    messages: list[wire.Message]


class Finished(NamedTuple):
    """What a job left: its files by name, its counters by (group, name), and the last status of each attempt."""

    files: dict[str, bytes]
    counters: dict[tuple[str, str], int]
    statuses: dict[str, str]


Runner = Callable[[dict[str, Any], Iterable[wire.Message]], Iterable[wire.Message]]


class InThisProcess:
    """Runs attempts here. The exception of a job's function is the cause of the JobFailed that is raised."""

    def __init__(self, job: Job, files: Mapping[str, str], keep: Callable[[str, Any], None]) -> None:
        self._answers: list[wire.Message] = []
        self._session = Session(job, lambda kind, *parts: self._answers.append((kind, b"".join(parts))), files, keep)

    def __call__(self, header: dict[str, Any], messages: Iterable[wire.Message]) -> Iterable[wire.Message]:
        self._answers.clear()
        self._session.serve(iter([(wire.BEGIN, wire.pack_json(header)), *messages]))
        if self._session.failure is not None:
            cause = self._session.failure
            if not isinstance(cause, Exception):
                raise cause  # Ctrl-C, or the end of the program
            raise job_failed(failure_of(self._answers), cause=cause)
        return self._answers


class InChild:
    """Runs attempts in one process, which is started with `command` and ends with `close`."""

    def __init__(self, command: Sequence[str], cwd: Optional[str] = None, env: Optional[Mapping[str, str]] = None, log: Any = None) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                list(command),
                cwd=cwd,
                env={**(os.environ if env is None else env), wire.CHANNEL: str(theirs.fileno())},
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        self._channel = wire.Channel(ours)
        self._incoming = self._channel.messages()
        self.hello = next(self._incoming, None)

    def __call__(self, header: dict[str, Any], messages: Iterable[wire.Message]) -> Iterable[wire.Message]:
        def write() -> None:
            try:
                for kind, payload in [(wire.BEGIN, wire.pack_json(header)), *messages]:
                    self._channel.send(kind, payload)
            except wire.ChannelClosed:
                pass  # the child has ended; the reader says so

        writer = threading.Thread(target=write)
        writer.start()
        answers: list[wire.Message] = []
        for message in self._incoming:
            answers.append(message)
            if message[0] in (wire.DONE, wire.FAILED):
                break
        else:
            self._process.wait()
            raise JobFailed(f"the child ended with status {self._process.returncode} before the attempt {header['attempt']} did")
        writer.join()
        if answers[-1][0] == wire.FAILED:
            raise job_failed(failure_of(answers))
        return answers

    def close(self) -> int:
        """Closes the channel, waits for the process and returns its exit status."""
        self._channel.close()
        return self._process.wait()

    def __enter__(self) -> InChild:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def failure_of(answers: Sequence[wire.Message]) -> dict[str, Any]:
    """Returns the JSON of the X among what a child has sent."""
    failures: list[dict[str, Any]] = [json.loads(payload) for kind, payload in answers if kind == wire.FAILED]
    return failures[-1]


def run(job: Job, splits: Sequence[Split], runner: Runner, *, reducers: int = 1, options: Optional[Mapping[str, Any]] = None) -> Finished:
    """Runs a map for each split and then the reduces, one after another. Raises JobFailed."""
    job.check()
    reduces = reducers if job.reducer is not None else 0
    given = {name: str(value) for name, value in (options or {}).items()}
    finished = Finished({}, collections.defaultdict(int), {})
    partitions: list[list[tuple[bytes, bytes]]] = [[] for _ in range(reduces)]

    def attempt(kind: str, number: int, messages: Iterable[wire.Message]) -> None:
        name = f"job1.{kind[0]}.{number}.0"
        with tempfile.TemporaryDirectory(prefix="millrace-scratch-") as scratch:
            header = {"kind": kind, "attempt": name, "partition": number, "reduces": reduces, "maps": len(splits), "job": job.name,
                      "options": given, "scratch": scratch}  # fmt: skip
            for sent, payload in runner(header, messages):
                _take(sent, payload, name, number, partitions, finished)

    for number, split in enumerate(splits):
        about = {"path": split.path, "name": os.path.basename(split.path), "index": split.input, "number": number, "offset": 0,
                 "length": sum(len(payload) for _, payload in split.messages)}  # fmt: skip
        attempt("map" if reduces else "map_only", number, [(wire.INPUT, wire.pack_json(about)), *split.messages, (wire.END, b"")])
    for number, records in enumerate(partitions):
        records.sort(key=lambda record: record[0])
        attempt("reduce", number, [*((wire.RECORDS, payload) for payload in wire.pack_sorted(records)), (wire.END, b"")])
    return finished


def _take(kind: bytes, payload: bytes, attempt: str, number: int, partitions: list[list[tuple[bytes, bytes]]], finished: Finished) -> None:
    if kind == wire.OUT:
        for key, value in wire.unpack_records((payload,)):
            partitions[zlib.crc32(key) % len(partitions)].append((key, value))
    elif kind == wire.GROUPED:
        for key, group, value in wire.unpack_marked(payload):
            partitions[zlib.crc32(key[:group]) % len(partitions)].append((key, value))
    elif kind == wire.PLACED:
        for key, place, value in wire.unpack_marked(payload):
            partitions[place].append((key, value))
    elif kind == wire.WRITE:
        name, data = wire.unpack_write(payload)
        file = f"{name or 'part'}-{'r' if partitions else 'm'}-{number:05}"
        finished.files[file] = finished.files.get(file, b"") + data
    elif kind == wire.COUNTERS:
        for group, name, delta in json.loads(payload):
            finished.counters[group, name] += delta
    elif kind == wire.STATUS:
        finished.statuses[attempt] = payload.decode()


# Inputs --------------------------------------------------------------------------------------------------------------
def line_messages(text: bytes, offset: int = 0, size: int = wire.BATCH_BYTES) -> Iterator[wire.Message]:
    """Returns messages of L for a text, cut at ends of lines into pieces of about `size` bytes."""
    at = 0
    while at < len(text):
        end = text.rfind(b"\n", at, at + size) + 1 or text.find(b"\n", at + size) + 1 or len(text)
        if at + size >= len(text):
            end = len(text)
        yield wire.LINES, wire.pack_u64(offset + at) + text[at:end]
        at = end


def content_messages(data: bytes, reads: Reads) -> list[wire.Message]:
    """Returns the messages for the whole content of a file, as a map that reads so gets them; decompressed, but for record files."""
    if reads.unit == "records":
        return [(wire.RECORDS, payload) for payload in wire.pack_sorted(formats.raw_records(io.BytesIO(data)))]
    data = _decompressed(data)
    if reads.unit == "lines":
        return list(line_messages(data))
    return [(wire.FILE, wire.pack_u64(at) + data[at : at + wire.BATCH_BYTES]) for at in range(0, len(data), wire.BATCH_BYTES)]


def splits_of(index: int, given: Any, reads: Reads, pieces: int = 1) -> list[Split]:
    """Returns the splits of one input of `Job.test`. Raises UsageError if it does not suit the map."""
    if isinstance(given, os.PathLike):
        return [Split(index, str(path), content_messages(path.read_bytes(), reads)) for path in files_below(Path(given))]
    if isinstance(given, Mapping):
        return [Split(index, name, content_messages(_bytes(content), reads)) for name, content in given.items()]
    if isinstance(given, (str, bytes)):
        return [Split(index, f"input-{index}", content_messages(_bytes(given), reads))]
    if hasattr(given, "schema"):
        file = formats.Parquet()
        data = file.encode([given]) + file.end()
        return [Split(index, f"input-{index}.parquet", content_messages(data, reads))]
    items = list(given)
    if reads.unit in ("files", "tables"):
        if not all(isinstance(item, File) for item in items):
            raise UsageError("a map of whole files takes a dict of contents by name, millrace.File, or a pathlib.Path")
        return [Split(index, item.path, content_messages(item.data, reads)) for item in items]
    size = max(1, -(-len(items) // pieces))
    splits = []
    for at in range(0, max(len(items), 1), size):
        piece = items[at : at + size]
        if reads.unit == "records":
            pairs = [(keys.encode(key), values.encode(value)) if not reads.raw else (key, value) for key, value in piece]
            messages = [(wire.RECORDS, payload) for payload in wire.pack_sorted(pairs)]
        else:
            messages = list(line_messages(b"".join(map(_line, piece))))
        splits.append(Split(index, f"input-{index}", messages))
    return splits


def files_below(path: Path) -> list[Path]:
    """Returns a file, or the files of a directory as a job reads them: in order, without names that begin with . or _."""
    if not path.is_dir():
        return [path]
    return sorted(each for each in path.iterdir() if each.is_file() and each.name[0] not in "._")


def _decompressed(data: bytes) -> bytes:
    """Returns what a file holds, by its first bytes, as on a cluster. Raises UsageError for zstd, which Python has not had before 3.14."""
    if data[:3] == b"\x1f\x8b\x08":
        return gzip.decompress(data)
    if data[:3] == b"BZh" and data[4:10] in (b"1AY&SY", b"\x17\x72\x45\x38\x50\x90"):
        return bz2.decompress(data)
    if data[:4] == b"\x28\xb5\x2f\xfd":
        raise UsageError("Job.test does not open files that zstd has compressed: give it what is in them; on a cluster they are opened")
    return data


def _bytes(content: Any) -> bytes:
    return content.encode("utf-8", "surrogateescape") if isinstance(content, str) else bytes(content)


def _line(line: Any) -> bytes:
    if not isinstance(line, (str, bytes)):
        raise UsageError(f"a map of lines takes a list of str, and {line!r:.60} is none")
    data = _bytes(line)
    if b"\n" in data[:-1]:
        raise UsageError(f"a line has one \\n at most, at its end: {line!r:.60}; give a text as one str")
    return data if data.endswith(b"\n") else data + b"\n"


class TestRun(list[Any]):
    """What `Job.test` returns: a list of the items of the output, in order of the parts.

    outputs   items of named outputs, by name
    files     the content of the output's files, by name
    counters  by (group, name)
    """

    __test__ = False  # no test of pytest

    def __init__(self, items: Iterable[Any], outputs: dict[str, list[Any]], finished: Finished) -> None:
        super().__init__(items)
        self.outputs, self.files, self.counters, self.statuses = outputs, finished.files, dict(finished.counters), finished.statuses

    @property
    def text(self) -> str:
        """The part files together."""
        return b"".join(self.files[name] for name in sorted(self.files) if name.startswith("part-")).decode("utf-8", "surrogateescape")


def test(
    job: Job,
    inputs: Sequence[Any],
    *,
    options: Optional[Mapping[str, Any]] = None,
    reducers: int = 1,
    splits: int = 1,
    files: Optional[Mapping[str, Union[str, bytes, os.PathLike[str]]]] = None,
) -> TestRun:
    """See `Job.test`."""
    job.check()
    job.set_options(options)
    if len(job.mappers) > 1 and len(inputs) != len(job.mappers):
        raise UsageError(f"the job {job.name} has {len(job.mappers)} maps, so it takes as many inputs, and not {len(inputs)}")
    outputs: dict[str, list[Any]] = {name: [] for name in ("", *job.outputs)}
    made: list[Split] = []
    for index, given in enumerate(inputs):
        made += splits_of(index, given, job.mappers[index if len(job.mappers) > 1 else 0].reads, splits)
    with tempfile.TemporaryDirectory(prefix="millrace-test-") as place:
        runner = InThisProcess(job, side_files(job, place, files), lambda name, item: outputs[name].append(item))
        finished = run(job, made, runner, reducers=reducers, options=options)
    return TestRun(outputs.pop(""), outputs, finished)


def side_files(job: Job, place: str, given: Optional[Mapping[str, Any]] = None) -> dict[str, str]:
    """Returns where the side files of a job are, by name: those given, else those that the job names; archives are unpacked."""
    found = {os.path.basename(path): os.path.abspath(path) for path in job.files if not path.endswith(".py")}
    for archive in job.archives:
        if os.path.basename(archive) not in (given or {}):
            found[os.path.basename(archive)] = os.path.join(place, os.path.basename(archive))
            shutil.unpack_archive(archive, found[os.path.basename(archive)])
    for name, content in (given or {}).items():
        if isinstance(content, os.PathLike):
            found[name] = os.path.abspath(content)
        else:
            found[name] = os.path.join(place, name)
            Path(found[name]).write_bytes(_bytes(content))
    return found
