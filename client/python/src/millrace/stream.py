# SPDX-License-Identifier: Apache-2.0
"""A job where lines are all that is carried: as a mapper and reducer of Hadoop Streaming, and in Spark (spark.py).

    python3 JOB.zip --millrace-stream map|reduce [NAME=VALUE...]

A record between map and reduce is a line, as those of native jobs are (client/export/record_lines.h):

    [PLACE] KEY TAB VALUE

KEY and VALUE are the bytes of `keys.encode` and `values.encode`, in which bytes that would end a line or a field are escaped so that
the order of the bytes stays that of the keys. PLACE is two characters that name the reduce, if there are several.
"""

from __future__ import annotations

import contextlib
import fnmatch
import itertools
import json
import os
import re
import sys
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, BinaryIO, Callable, Optional

from . import wire
from .child import Session
from .errors import JobFailed, MillraceError, UsageError, job_failed
from .jobs import Job

Record = tuple[int, bytes, bytes]  # the reduce, a key and a value

_SPECIAL = re.compile(rb"[\x08\t\n\x0c\r]")
_ESCAPES = {b"\x08": b"\x08\x01", b"\t": b"\x08\x02", b"\n": b"\x08\x03", b"\x0c": b"\x0c\x01", b"\r": b"\x0c\x02"}
_ESCAPED = re.compile(rb"[\x08\x0c](.?)", re.DOTALL)
_MEANT = {escaped: byte for byte, escaped in _ESCAPES.items()}
_FIRST, _LAST = ord("!"), ord("~")  # the characters of a place
MOST_REDUCES = 1000
_LINES = ("text", "json", "csv")  # formats of an output that is lines


# Lines ---------------------------------------------------------------------------------------------------------------
def escape(data: bytes) -> bytes:
    return _SPECIAL.sub(lambda found: _ESCAPES[found[0]], data) if _SPECIAL.search(data) else data


def unescape(text: bytes) -> bytes:
    """Returns what was escaped. Raises UsageError if `escape` cannot have made the text."""
    if b"\x08" not in text and b"\x0c" not in text:
        return text
    try:
        return _ESCAPED.sub(lambda found: _MEANT[found[0]], text)
    except KeyError:
        raise UsageError(f"a line on standard input is none that this job writes: {text[:80]!r}") from None


def place_of(reduce: int, reduces: int) -> bytes:
    """Returns the two characters for which Hadoop's KeyFieldBasedPartitioner with -k1.1,1.2 chooses this reduce."""
    least = 31 * _FIRST + _FIRST
    hashed = least + (reduce - least) % reduces
    first = max(_FIRST, (hashed - _LAST + 30) // 31)
    return bytes((first, hashed - 31 * first))


def not_in_lines(job: Job) -> str:
    """Returns why lines are not enough for the job; "" if they are."""
    if any(mapper.reads.unit != "lines" for mapper in job.mappers):
        return "its input is not lines of text"
    if job.outputs:
        return "it writes named outputs beside its part files"
    if job.output not in _LINES:
        return "its output is not lines of text"
    return ""


# Attempts ------------------------------------------------------------------------------------------------------------
class Taker:
    """Takes what an attempt gives: `records` for the reduces, `output` bytes of the part file, and what it reports."""

    def records(self, records: Iterable[Record]) -> None:
        raise ValueError("the attempt gives no records")

    def output(self, data: bytes) -> None:
        raise ValueError("the attempt gives no output")

    def counters(self, changed: Iterable[tuple[str, str, int]]) -> None:
        """Takes [group, name, amount] of each counter that has changed."""

    def status(self, text: str) -> None:
        """Takes the status of the task."""


def run_map(job: Job, files: dict[str, str], header: dict[str, Any], about: dict[str, Any], lines: Iterable[bytes], taker: Taker) -> None:
    """Maps whole lines, in blocks of any size. Without reduces, what the map yields is output. Raises JobFailed."""

    def messages() -> Iterator[wire.Message]:
        offset = about.get("offset", 0)
        yield wire.INPUT, wire.pack_json(about)
        for block in lines:
            yield wire.LINES, wire.pack_u64(offset) + block
            offset += len(block)
        yield wire.END, b""

    _attempt(job, files, {**header, "kind": "map" if header["reduces"] else "map_only"}, messages(), taker)


def run_sorted(job: Job, files: dict[str, str], header: dict[str, Any], records: Iterable[tuple[bytes, bytes]], taker: Taker) -> None:
    """Reduces, or combines, sorted records: header["kind"] says which. Raises JobFailed."""

    def messages() -> Iterator[wire.Message]:
        for payload in wire.pack_sorted(records):
            yield wire.RECORDS, payload
        yield wire.END, b""

    _attempt(job, files, header, messages(), taker)


def _attempt(job: Job, files: dict[str, str], header: dict[str, Any], messages: Iterator[wire.Message], taker: Taker) -> None:
    reduces = header["reduces"]
    failures: list[dict[str, Any]] = []

    def take(kind: bytes, *parts: bytes) -> None:
        payload = b"".join(parts)
        if kind == wire.OUT:
            if reduces == 1:
                taker.records((0, key, value) for key, value in wire.unpack_records((payload,)))
            else:
                taker.records((zlib.crc32(key) % reduces, key, value) for key, value in wire.unpack_records((payload,)))
        elif kind == wire.GROUPED:
            taker.records((zlib.crc32(key[:group]) % reduces, key, value) for key, group, value in wire.unpack_marked(payload))
        elif kind == wire.PLACED:
            taker.records((place, key, value) for key, place, value in wire.unpack_marked(payload))
        elif kind == wire.WRITE:
            taker.output(wire.unpack_write(payload)[1])
        elif kind == wire.COUNTERS:
            taker.counters(json.loads(payload))
        elif kind == wire.STATUS:
            taker.status(payload.decode("utf-8", "replace"))
        elif kind == wire.FAILED:
            failures.append(json.loads(payload))

    wrong: list[MillraceError] = []

    def given() -> Iterator[wire.Message]:
        try:
            yield from messages
        except MillraceError as error:  # of the lines, not of the job
            wrong.append(error)
            raise wire.ChannelClosed from None

    with tempfile.TemporaryDirectory(prefix="millrace-scratch-") as scratch:
        session = Session(job, take, files)
        attempt = f"job0.{header['kind'][0]}.{header['partition']}.0"
        begin = wire.pack_json({"attempt": attempt, "job": job.name, "scratch": scratch, **header})
        with contextlib.suppress(wire.ChannelClosed):
            session.serve(itertools.chain([(wire.BEGIN, begin)], given()))
    if wrong:
        raise wrong[0]
    if failures:
        raise job_failed(failures[-1])


# Hadoop Streaming ----------------------------------------------------------------------------------------------------
def blocks_of_lines(stream: BinaryIO, size: int = wire.BATCH_BYTES) -> Iterator[bytes]:
    """Returns what a stream holds in blocks of whole lines; the last one may lack its \\n."""
    rest = b""
    while block := stream.read(size):
        end = block.rfind(b"\n") + 1
        if end:
            yield rest + block[:end]
            rest = block[end:]
        else:
            rest += block
    if rest:
        yield rest


class _Lines(Taker):
    """Writes records as lines, and reports as Hadoop Streaming reads reports."""

    def __init__(self, out: BinaryIO, reduces: int) -> None:
        self._out = out
        self._places = [place_of(each, reduces) for each in range(reduces)] if reduces > 1 else [b""]

    def records(self, records: Iterable[Record]) -> None:
        places, special = self._places, _SPECIAL.search
        self._out.writelines(
            [
                b"%b%b\t%b\n" % (places[place], escape(key) if special(key) else key, escape(value) if special(value) else value)
                for place, key, value in records
            ]
        )

    def output(self, data: bytes) -> None:
        self._out.write(data)

    def counters(self, changed: Iterable[tuple[str, str, int]]) -> None:
        for group, name, amount in changed:
            print(f"reporter:counter:{group.replace(',', ' ')},{name.replace(',', ' ')},{amount}", file=sys.stderr, flush=True)

    def status(self, text: str) -> None:
        print("reporter:status:" + " ".join(text.split()), file=sys.stderr, flush=True)


def records_in(stream: Iterable[bytes], place: bytes = b"") -> Iterator[tuple[bytes, bytes]]:
    """Returns the sorted records of lines, all of which belong to a reduce. Raises UsageError if they do not, or are not sorted."""
    last, key, cut = b"", b"", len(place)
    first = True
    for line in stream:
        text, _, value = line.rstrip(b"\n").partition(b"\t")
        if first or text != last:
            if not text.startswith(place):
                raise UsageError(
                    f"the line with the key {text[:80]!r} is another reduce's: use KeyFieldBasedPartitioner with the option -k1.1,1.2, "
                    "as `millrace export hadoop` does"
                )
            if text < last:
                raise UsageError(
                    f"the lines are not sorted: {text[:80]!r} comes after {last[:80]!r}; sort them by the bytes of the key, "
                    "as LC_ALL=C sort does"
                )
            last, key, first = text, unescape(text[cut:]), False
        yield key, unescape(value)


def find_map_file(file: str, inputs: str) -> Optional[tuple[str, str, int]]:
    """Returns path, name and number of the INPUT of a map's file, by mapreduce.map.input.file and the inputs of the job (paths or
    patterns with commas between them); None if it belongs to none."""
    path = _path_in(file)
    names = path.strip("/").split("/") if path else []
    for index, each in enumerate(re.sub(r"\\,", "\0", inputs).split(",") if inputs else []):
        patterns = [name for name in _path_in(each.replace("\0", ",")).split("/") if name]
        if len(patterns) <= len(names) and all(a == b or fnmatch.fnmatchcase(b, a) for a, b in zip(patterns, names)):
            return path, "/".join(names[min(len(patterns), len(names) - 1) :]), index
    return None


def _path_in(location: str) -> str:
    return re.sub(r"^(?:[a-zA-Z][a-zA-Z0-9+.-]*:(?://[^/]*)?)?", "", location)


def _about(job: Job, environment: Mapping[str, str]) -> dict[str, Any]:
    """Returns what is known of the file that this map reads."""
    file, inputs = environment.get("mapreduce_map_input_file", ""), environment.get("mapreduce_input_fileinputformat_inputdir", "")
    offset = int(environment.get("mapreduce_map_input_start") or 0)
    found = find_map_file(file, inputs)
    if environment.get("millrace_input_name"):
        found = (file, environment["millrace_input_name"], int(environment.get("millrace_input_index", 0)))
    if found is None and (inputs or len(job.mappers) > 1):
        raise UsageError(
            f"it is not known which INPUT this map reads: mapreduce_map_input_file is {file!r} and "
            f"mapreduce_input_fileinputformat_inputdir is {inputs!r} in the environment"
        )
    path, name, index = found or (file, os.path.basename(file), 0)
    return {"path": path, "name": name, "index": index, "number": 0, "offset": offset, "length": 0}


def main(words: Sequence[str], load: Callable[[], tuple[Job, dict[str, str]]]) -> int:
    """Runs the task that the words name, on standard input and output. What the job prints goes to standard error."""
    out = os.fdopen(os.dup(1), "wb", 1 << 16)
    os.dup2(2, 1)
    try:
        with out:
            _run(list(words), load, sys.stdin.buffer, out)
    except JobFailed as failed:
        print(failed, file=sys.stderr)  # its traceback has been told
        return 1
    except MillraceError as error:
        print(f"millrace: {error}", file=sys.stderr)
        return 1
    return 0


def _run(words: list[str], load: Callable[[], tuple[Job, dict[str, str]]], stdin: BinaryIO, out: BinaryIO) -> None:
    if not words or words[0] not in ("map", "reduce"):
        raise UsageError("--millrace-stream is followed by map or reduce")
    job, files = load()
    if not_in_lines(job):
        raise UsageError(f"the job {job.name} cannot run on lines: {not_in_lines(job)}")
    environment = os.environ
    reduces = int(environment.get("mapreduce_job_reduces") or 1) if job.reducer is not None else 0
    if reduces > MOST_REDUCES:
        raise UsageError(f"mapreduce_job_reduces is {reduces}, and there are {MOST_REDUCES} at most")
    options = dict(word.split("=", 1) for word in words[1:])
    partition = int(environment.get("mapreduce_task_partition") or 0)
    header = {"partition": partition, "reduces": reduces, "maps": int(environment.get("mapreduce_job_maps") or 1), "options": options}
    taker = _Lines(out, reduces)
    if words[0] == "map":
        run_map(job, files, header, _about(job, environment), blocks_of_lines(stdin), taker)
    else:
        place = place_of(partition, reduces) if reduces > 1 else b""
        run_sorted(job, files, {**header, "kind": "reduce"}, records_in(stdin, place), taker)
