# SPDX-License-Identifier: Apache-2.0
"""A trace that is read: its lines, what is odd in them, and what the reader has to say about what it made of them.

Files may be compressed by gzip, which their first bytes tell. Lines are read one by one, and none may be longer than MOST_LINE, so that
memory is bounded whatever the file is. Thread rule: one thread.
"""

from __future__ import annotations

import collections
import gzip
import io
import math
import sys
import zlib
from collections.abc import Iterator
from typing import BinaryIO, Callable, NoReturn, Optional, Union, cast

from ..errors import MillraceError
from .job import Cluster

MOST_LINE = 1 << 20
MOST_DOCUMENT = 64 << 20  # bytes of a format that has to be read as a whole


class TraceError(MillraceError):
    """A trace, or a request for one, that cannot be served. The message is one line: where, what, why and what to do."""


class Odd(Exception):
    """A line is not what its format says. `what` says which thing is wrong and why."""

    def __init__(self, what: str, line: int = 0) -> None:
        super().__init__(what)
        self.what, self.line = what, line


class Notes:
    """What a reader tells its user: what is assumed, and how many of which were left out."""

    def __init__(self, skip_odd: bool = False) -> None:
        self.skip_odd = skip_odd
        self.cluster: Optional[Cluster] = None
        self.odd_lines, self.first_odd = 0, ""
        self.assumed: collections.Counter[str] = collections.Counter()
        self.left_out: collections.Counter[str] = collections.Counter()
        self.facts: list[str] = []

    def fact(self, what: str) -> None:
        """Notes something that the trace says of itself."""
        self.facts.append(what)

    def assume(self, what: str, jobs: int = 1) -> None:
        """Notes an assumption, and for how many jobs more it was made."""
        self.assumed[what] += jobs

    def leave_out(self, what: str, number: int = 1) -> None:
        """Notes so many more things that were left out; `what` follows their number: "jobs of which the run time is not known"."""
        self.left_out[what] += number

    def lines(self) -> list[str]:
        told = list(self.facts)
        if self.odd_lines:
            told.append(f"{self.odd_lines} odd lines left out; the first is {self.first_odd}")
        told += [f"{number} {what}" for what, number in self.left_out.items()]
        return told + [f"assumed, for {number} of the jobs read: {what}" for what, number in self.assumed.items()]


class Source:
    """A file, or "-" for standard input. `name` is how messages call it."""

    def __init__(self, path: str, notes: Notes) -> None:
        self.name = "standard input" if path == "-" else path
        self._notes = notes
        try:
            if path == "-" and sys.stdin is None:
                raise TraceError("standard input is closed; name a file")
            raw = sys.stdin.buffer if path == "-" else open(path, "rb")  # noqa: SIM115  (read to its end, in one process)
            head = raw.peek(2)[:2] if isinstance(raw, io.BufferedReader) else b""
        except OSError as error:
            raise TraceError(f"{path} cannot be read: {error.strerror}") from None
        self._raw = raw
        self._stream = cast(BinaryIO, gzip.GzipFile(fileobj=raw)) if head == b"\x1f\x8b" else raw

    def __enter__(self) -> Source:
        return self

    def __exit__(self, *failure: object) -> None:
        if self._raw is not sys.stdin.buffer:
            self._raw.close()

    def begins_with(self, text: str) -> bool:
        """Whether the first line that is read next begins so, spaces left aside. Nothing is consumed."""
        head = self._read(lambda: cast(io.BufferedReader, self._stream).peek(1024))
        return head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(text.encode())

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yields the number and text of each line, without its end. Raises TraceError for a line that is too long or is no UTF-8, and
        for a file that has none."""
        number = 0
        while True:
            data = self._read(lambda: self._stream.readline(MOST_LINE + 1))
            if not data:
                break
            number += 1
            if len(data) > MOST_LINE:
                self.refuse(number, f"the line is longer than {MOST_LINE} bytes; is this file a trace of this format?")
            yield number, self._text(data, number).rstrip("\r\n")
        if number == 0:
            self.refuse(1, "the file is empty; name a file with jobs")

    def document(self) -> str:
        """Returns the whole text, of MOST_DOCUMENT bytes at most."""
        data = self._read(lambda: self._stream.read(MOST_DOCUMENT + 1))
        if len(data) > MOST_DOCUMENT:
            raise TraceError(
                f"{self.name}: it has more than {MOST_DOCUMENT >> 20} MiB, which is the most for a format that is one JSON text"
            )
        if not data.strip():
            self.refuse(1, "the file is empty; name a file with jobs")
        return self._text(data, 1)

    def refuse(self, line: int, what: str) -> NoReturn:
        raise TraceError(f"{self.name}:{line}: {what}")

    def odd(self, line: int, what: str) -> None:
        """Refuses the line, or counts it if odd lines are skipped."""
        if not self._notes.skip_odd:
            self.refuse(line, f"{what}; mend the line, or give --skip-odd to leave such lines out")
        self._notes.odd_lines += 1
        self._notes.first_odd = self._notes.first_odd or f"{self.name}:{line}: {what}"

    def _read(self, take: Callable[[], bytes]) -> bytes:
        try:
            return take()
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise TraceError(f"{self.name}: the compressed file is damaged or cut off ({error}); fetch it again") from None
        except OSError as error:
            raise TraceError(f"{self.name} cannot be read: {error.strerror}") from None

    def _text(self, data: bytes, line: int) -> str:
        try:
            return data.decode("utf-8-sig" if line == 1 else "utf-8")
        except UnicodeDecodeError as error:
            self.refuse(
                line + data.count(b"\n", 0, error.start), f"byte 0x{data[error.start]:02x} is no UTF-8; convert the file first, as by iconv"
            )


def number(text: Union[str, int, float, None], field: str, least: float = 0, most: float = 1e300) -> float:
    """Returns the number that a field has. Raises Odd, which names the field, for text, NaN and what is out of range."""
    try:
        if text is None or isinstance(text, bool):
            raise ValueError
        if isinstance(text, str) and ("_" in text or not text.isascii()):
            raise ValueError
        value = float(text)
    except (ValueError, TypeError, OverflowError):
        raise Odd(f"{field} is {shown(text)}, not a number") from None
    if not math.isfinite(value) or not least <= value <= most:
        bounds = f"from {_bound(least)} to {_bound(most)}" if most < 1e300 else f"of at least {_bound(least)}"
        raise Odd(f"{field} is {shown(text)}, not a number {bounds}")
    return value


def _bound(value: float) -> str:
    return f"{value:.0f}" if abs(value) < 1e15 and value == int(value) else f"{value:g}"


def whole(text: Union[str, int, float, None], field: str, least: int = 0, most: int = 1 << 63) -> int:
    """Returns the whole number that a field has: "4" and "4.0" are, "4.5" is not."""
    value = number(text, field, least, most)
    if value != int(value):
        raise Odd(f"{field} is {shown(text)}, not a whole number")
    exact = isinstance(text, int) or (isinstance(text, str) and text.isdecimal())  # beyond 2**53 a float has lost digits
    return int(cast(Union[str, int], text)) if exact else int(value)


def printable(text: str) -> str:
    """Returns the text as one line for a terminal: what is no letter, mark or space, such as an escape, is shown as in a Python text."""
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in " ".join(text.split()))


def shown(value: object) -> str:
    text = repr(value)
    return "missing" if value is None or value == "" else text if len(text) <= 60 else text[:57] + "..."
