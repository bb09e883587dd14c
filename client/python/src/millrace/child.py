# SPDX-License-Identifier: Apache-2.0
"""Runs the functions of a job in a task process: attempts begin, read messages of the child protocol and send others (wire)."""

from __future__ import annotations

import contextlib
import gc
import itertools
import json
import os
import platform
import socket
import sys
import time
import traceback
from collections.abc import Iterable, Iterator, Mapping
from operator import itemgetter
from typing import Any, Callable, Optional

from . import context, formats, keys, tables, values, wire
from .emit import Combining, Output, Shuffle, converter, producer
from .errors import FAILURE_MARK
from .jobs import File, Function, Job, Mapper, key_type

ALIVE_SECONDS = 2.0  # between signs of life


class Session:
    """The attempts of one job, one after another. `send` takes what goes to the parent.

    `files` says where side files are, by name. `keep`, if it is given, is called with each item of output and its output's name.
    """

    def __init__(
        self,
        job: Job,
        send: wire.Send,
        files: Optional[Mapping[str, str]] = None,
        keep: Optional[Callable[[str, Any], None]] = None,
    ) -> None:
        job.check()
        self._job, self._send, self._files, self._keep = job, send, dict(files or {}), keep
        self.failure: Optional[BaseException] = None  # of the last attempt

    def hello(self) -> None:
        self._send(wire.HELLO, wire.pack_json({"version": wire.VERSION, "language": f"python {platform.python_version()}"}))

    def serve(self, messages: Iterator[wire.Message]) -> None:
        """Runs an attempt for each J, until the messages end. Exceptions of the job's functions are sent and go no further."""
        for kind, payload in messages:
            if kind == wire.BEGIN:  # others are what an attempt that failed did not take
                self._attempt(json.loads(payload), _within(messages))

    def _attempt(self, header: dict[str, Any], messages: Iterator[wire.Message]) -> None:
        self.failure = None
        given = {name: text for name, text in (header.get("options") or {}).items() if name in self._job.options}
        attempt: Optional[Attempt] = None
        before = context.current()
        try:
            this = context.Task(header, self._job.set_options(given), self._files, self._say)
            context.set_current(this)
            attempt = Attempt(self._job, this, self._send, self._keep)
            attempt.run(messages)
        except wire.ChannelClosed:
            raise
        except BaseException as error:
            self.failure = error
            self._tell(describe(error, attempt.place if attempt else Place()))
        else:
            _flush()
            self._send(wire.DONE)
        finally:
            context.set_current(before)

    def _say(self, text: str) -> None:
        self._send(wire.STATUS, text.encode("utf-8", "replace"))

    def _tell(self, failure: dict[str, Any]) -> None:
        if self._keep is None:  # in a task; the log is read by whoever submitted the job
            print("\n".join(failure["traceback"]), file=sys.stderr)
            print(FAILURE_MARK + json.dumps(failure), file=sys.stderr)
        _flush()
        self._send(wire.FAILED, wire.pack_json(failure))


def _within(messages: Iterator[wire.Message]) -> Iterator[wire.Message]:
    """Returns the messages of an attempt; they end with E. Raises ChannelClosed if they end before."""
    for message in messages:  # noqa: UP028 (`yield from` would close the messages together with this)
        yield message
    raise wire.ChannelClosed("the attempt was abandoned")


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()


class Place:
    """What an attempt is at, for the report of a failure."""

    def __init__(self) -> None:
        self.path = ""
        self.find: Callable[[], tuple[Any, Optional[int]]] = lambda: (None, None)  # the record and its offset


def describe(error: BaseException, place: Place) -> dict[str, Any]:
    """Returns the JSON of X for an exception: its type, message, the last 20 lines of the traceback from the job's code on."""
    try:
        record, offset = place.find()
        shown = "" if record is None else repr(record)
    except Exception as broken:  # of a __repr__, say
        shown, offset = f"(its repr failed: {type(broken).__name__})", None
    frames = list(traceback.walk_tb(error.__traceback__))
    while len(frames) > 1 and frames[0][0].f_globals.get("__name__", "").startswith("millrace."):
        frames.pop(0)
    lines = traceback.format_list(traceback.StackSummary.extract(iter(frames)))
    text = "".join(["Traceback (most recent call last):\n", *lines, *traceback.format_exception_only(type(error), error)])
    return {
        "type": type(error).__name__,
        "message": str(error),
        "traceback": text.splitlines()[-20:],
        "record": shown if len(shown) <= 500 else shown[:497] + "...",
        "path": place.path,
        "offset": offset,
    }


class Attempt:
    """One attempt of a task."""

    def __init__(self, job: Job, this: context.Task, send: wire.Send, keep: Optional[Callable[[str, Any], None]]) -> None:
        self._job, self._task, self._send = job, this, send
        self.place = Place()
        self._records = 0
        self._told = time.monotonic()
        self._keep = keep

    def run(self, messages: Iterator[wire.Message]) -> None:
        job, kind = self._job, self._task.kind
        if job.start_hook is not None and kind != "combine":
            job.start_hook()
        if kind == "map":
            self._map(messages, job, Shuffle(job, self._send, self._task.reduces))
        elif kind == "map_only":
            self._map(messages, job, Output(job, self._send, self._keep))
        elif kind == "combine":
            self._combine(messages, Shuffle(job, self._send, self._task.reduces))
        elif kind == "reduce":
            self._reduce(messages, job, Output(job, self._send, self._keep))
        else:
            raise ValueError(f"an attempt of the kind {kind!r}: this package is older than the program that starts it")
        self._tell_counters()

    # Maps ----------------------------------------------------------------------------------------------------------
    def _map(self, messages: Iterator[wire.Message], job: Job, sink: Any) -> None:
        if job.combiner is not None:
            sink = Combining(producer(job.combiner, pairs=True), sink)
        pairs = job.reducer is not None
        functions = [producer(mapper.function, pairs) for mapper in job.mappers]
        mapper, function = job.mappers[0], functions[0]
        pieces: Optional[list[bytes]] = None  # of a whole file
        for kind, payload in messages:
            if kind == wire.FILE:
                if pieces is None:
                    raise ValueError("a piece of a file came outside of an input")
                pieces.append(payload[8:])
                continue
            if pieces is not None:
                self._whole_file(mapper, function, b"".join(pieces), sink)
                pieces = None
            if kind == wire.LINES:
                self._lines(mapper, function, payload, sink)
            elif kind == wire.RECORDS:
                self._map_records(mapper, function, payload, sink)
            elif kind == wire.INPUT:
                about = json.loads(payload)
                mapper, function = self._begin_input(about, functions)
                if about.get("ranges"):
                    self._asked_tables(function, about, messages, sink)
                elif mapper.reads.unit in ("files", "tables"):
                    pieces = []
            elif kind == wire.END:
                break
            else:
                raise ValueError(f"a message of the kind {kind!r} came to a map")
        self.place.find = lambda: (None, None)
        if job.finish_hook is not None:
            sink.add(producer(job.finish_hook, pairs)())
        sink.end()

    def _begin_input(self, about: dict[str, Any], functions: list[Function]) -> tuple[Mapper, Function]:
        this, mappers = self._task, self._job.mappers
        this.path, this.index, this.offset = about.get("path") or about.get("name", ""), about.get("index", 0), about.get("offset", 0)
        self.place.path = this.path
        which = this.index if len(mappers) > 1 else 0
        if which >= len(mappers):
            raise ValueError(f"the job has a map for each of {len(mappers)} inputs, and {this.path} belongs to input {which + 1}")
        return mappers[which], functions[which]

    def _lines(self, mapper: Mapper, function: Function, payload: bytes, sink: Any) -> None:
        reads, this = mapper.reads, self._task
        if reads.unit != "lines":
            raise ValueError(f"the map takes {reads.unit}, and lines came")
        this.offset = wire.unpack_u64(payload)
        lines: list[Any] = payload[8:].split(b"\n") if reads.raw else payload[8:].decode("utf-8", "surrogateescape").split("\n")
        if not lines[-1]:
            lines.pop()
        sink.took(len(payload))
        if reads.batch:
            self.place.find = lambda: (lines, this.offset)
            sink.add(function(lines))
            self._count(len(lines))
            return
        left = iter(lines)

        def find() -> tuple[Any, int]:
            at = len(lines) - left.__length_hint__() - 1  # type: ignore[attr-defined]
            before = lines[: max(at, 0)]
            size = sum(map(len, before)) if reads.raw else sum(len(line.encode("utf-8", "surrogateescape")) for line in before)
            return lines[max(at, 0)], this.offset + size + len(before)

        self.place.find = find
        self._each(map(function, left), len(lines), sink)

    def _each(self, results: Iterator[Iterable[Any]], count: int, sink: Any) -> None:
        """Gives the sink what each of `count` results has, with signs of life between."""
        step, done = 64, 0
        while done < count:
            begun = time.monotonic()
            sink.add(itertools.chain.from_iterable(itertools.islice(results, step)))
            done += step
            self._count(min(step, count - done + step))
            took = time.monotonic() - begun
            step = step * 2 if took < 0.1 else max(1, step // 4) if took > ALIVE_SECONDS else step

    def _map_records(self, mapper: Mapper, function: Function, payload: bytes, sink: Any) -> None:
        if mapper.reads.unit != "records":
            raise ValueError(f"the map takes {mapper.reads.unit}, and records came: a map of records takes key and value")
        sink.took(len(payload))
        records: list[tuple[Any, Any]] = list(wire.unpack_records((payload,)))
        if not mapper.reads.raw:
            records = [(keys.decode(key), values.decode(value)) for key, value in records]
        left = iter(records)
        self.place.find = lambda: (records[max(len(records) - left.__length_hint__() - 1, 0)], None)  # type: ignore[attr-defined]
        self._each(itertools.starmap(function, left), len(records), sink)

    def _whole_file(self, mapper: Mapper, function: Function, data: bytes, sink: Any) -> None:
        this = self._task
        self.place.find = lambda: (None, 0)
        sink.took(len(data))
        if mapper.reads.unit == "files":
            sink.add(function(File(this.path, data)))
            self._count(1)
            return
        self._tables(function, formats.tables(data, this.path), sink)

    def _tables(self, function: Function, found: Iterable[Any], sink: Any) -> None:
        for table in found:
            sink.add(function(table))
            self._count(table.num_rows)

    def _asked_tables(self, function: Function, about: dict[str, Any], messages: Iterator[wire.Message], sink: Any) -> None:
        """Maps the tables of a split, reading no more of its file than they need."""

        def ask(offset: int, length: int) -> bytes:
            self._send(wire.ASK, wire.pack_u64(offset), wire.pack_u64(length))
            pieces, left = [], length
            while left > 0:
                kind, payload = next(messages)
                if kind != wire.FILE:
                    raise ValueError(f"a message of the kind {kind!r} came in place of a range of {self._task.path}")
                pieces.append(payload[8:])
                left -= len(payload) - 8
            sink.took(length)
            return b"".join(pieces)

        self.place.find = lambda: (None, about["offset"])
        found = tables.of_split(ask, self._task.path, about["offset"], about["length"], about["file_length"])
        self._tables(function, found, sink)
        self._send(wire.ENOUGH)

    # Combine and reduce --------------------------------------------------------------------------------------------
    def _combine(self, messages: Iterator[wire.Message], sink: Any) -> None:
        if self._job.combiner is None:
            raise ValueError("the job has no combiner")
        function = producer(self._job.combiner, pairs=True)
        for key_bytes, group in itertools.groupby(self._arriving(messages), itemgetter(0)):
            sink.add(function(self._at_key(keys.decode(key_bytes)), Values(map(values.decode, map(itemgetter(1), group)))))
        sink.end()

    def _reduce(self, messages: Iterator[wire.Message], job: Job, output: Output) -> None:
        assert job.reducer is not None, "a job with reduces has a reduce"
        function = producer(job.reducer, pairs=False)
        as_annotated = converter(key_type(job.reducer))
        arriving = self._arriving(messages)
        done = 0
        groups = self._grouped(arriving, job.group) if job.group else self._keyed(arriving)
        for key, group in groups:
            key = self._at_key(as_annotated(key))
            output.add(function(key, group))
            done += 1
            if done & 63 == 0:
                self._count(64)
        self._count(done & 63)
        self.place.find = lambda: (None, None)
        if job.finish_reduce_hook is not None:
            output.add(producer(job.finish_reduce_hook, pairs=False)())
        output.end()

    def _at_key(self, key: Any) -> Any:
        self.place.find = lambda: (key, None)
        return key

    def _arriving(self, messages: Iterator[wire.Message]) -> Iterator[tuple[bytes, bytes]]:
        def payloads() -> Iterator[bytes]:
            for kind, payload in messages:
                if kind == wire.END:
                    return
                if kind != wire.RECORDS:
                    raise ValueError(f"a message of the kind {kind!r} came to a {self._task.kind}")
                self._count(0)
                yield payload

        return wire.unpack_records(payloads())

    @staticmethod
    def _keyed(records: Iterator[tuple[bytes, bytes]]) -> Iterator[tuple[Any, Values]]:
        for key, group in itertools.groupby(records, itemgetter(0)):
            yield keys.decode(key), Values(map(values.decode, map(itemgetter(1), group)))

    @staticmethod
    def _grouped(records: Iterator[tuple[bytes, bytes]], size: int) -> Iterator[tuple[Any, Values]]:
        def decoded() -> Iterator[tuple[Any, Any]]:
            last, key = None, None
            for key_bytes, value in records:
                if key_bytes is not last:
                    last, key = key_bytes, keys.decode(key_bytes)
                yield key, values.decode(value)

        for group, pairs in itertools.groupby(decoded(), lambda pair: pair[0][:size]):
            yield group[0] if size == 1 else group, Values(pairs)

    # Signs of life -------------------------------------------------------------------------------------------------
    def _count(self, records: int) -> None:
        self._records += records
        now = time.monotonic()
        if now - self._told >= ALIVE_SECONDS:
            self._told = now
            self._send(wire.ALIVE, wire.pack_u64(self._records))
            self._tell_counters()

    def _tell_counters(self) -> None:
        changed = self._task.take_counters()
        if changed:
            self._send(wire.COUNTERS, wire.pack_json(changed))


class Values:
    """The values of a key, in an iterator that can be begun once; `list(values)` keeps them."""

    __slots__ = ("_begun", "_values")

    def __init__(self, source: Iterator[Any]) -> None:
        self._values, self._begun = source, False

    def __iter__(self) -> Iterator[Any]:
        if self._begun:
            raise RuntimeError("the values of a key can be iterated over only once: keep them with values = list(values)")
        self._begun = True
        return self._values

    def __next__(self) -> Any:
        return next(self._values)


def main(load: Callable[[], tuple[Job, dict[str, str]]]) -> None:
    """Serves the channel of the environment, with the job that `load` returns. A job that cannot be loaded fails each attempt."""
    sock = socket.socket(fileno=int(os.environ.pop(wire.CHANNEL)))
    sock.set_inheritable(False)
    channel = wire.Channel(sock)
    try:
        job, files = load()
        session = Session(job, channel.send, files)
    except BaseException as error:
        refuse(channel, describe(error, Place()))
        return
    gc.freeze()  # what was imported is not looked at again
    gc.set_threshold(20_000, 20, 50)  # many values wait in lists: looking at them less often saves a tenth of a word count
    session.hello()
    with contextlib.suppress(wire.ChannelClosed):  # an attempt was abandoned
        session.serve(channel.messages())


def refuse(channel: wire.Channel, failure: dict[str, Any]) -> None:
    """Says hello, and fails each attempt in this way."""
    channel.send(wire.HELLO, wire.pack_json({"version": wire.VERSION, "language": f"python {platform.python_version()}"}))
    print("\n".join(failure["traceback"]), file=sys.stderr)
    print(FAILURE_MARK + json.dumps(failure), file=sys.stderr, flush=True)
    with contextlib.suppress(wire.ChannelClosed):
        for kind, _ in channel.messages():
            if kind == wire.BEGIN:
                channel.send(wire.FAILED, wire.pack_json(failure))
