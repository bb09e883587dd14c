# SPDX-License-Identifier: Apache-2.0
"""JSON texts of traces: several in a row, as YARN's simulator has them, and the line at which a value stands.

Texts are parsed by `json`; a line is looked for when there is something to say of it. Depth is bounded, so that a text of brackets only
is refused and does not end the program.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Union

from .source import MOST_DOCUMENT, Odd, Source

MOST_DEPTH = 60
Path = tuple[Union[str, int], ...]

_MARKS = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?|[{}\[\]]')
_TOO_DEEP = f"there are more than {MOST_DEPTH} brackets within each other, and no trace of this format has so many"
_SPACE = re.compile(r"[ \t\r\n]*")


class At(Odd):
    """A value of a JSON text is odd; `path` leads to it: ("job.tasks", 3)."""

    def __init__(self, path: Path, what: str) -> None:
        super().__init__(what)
        self.path = path


def parse(text: str, line: int = 1) -> Any:
    """Returns the value of a text that begins at this line of its file. Raises Odd."""
    depth = 0
    for mark in _MARKS.finditer(text):
        depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(mark[0], 0)
        if depth > MOST_DEPTH:
            raise Odd(_TOO_DEEP, line + text.count("\n", 0, mark.start()))
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise Odd(f"this is no JSON ({error.msg}, column {error.colno}); is the file cut off?", line + error.lineno - 1) from None
    except ValueError as error:  # NaN, or digits without end
        raise Odd(f"this is no JSON ({str(error)[:80]})", line) from None


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")


def texts(source: Source) -> Iterator[tuple[int, str]]:
    """Yields the objects of a file that has one after another, as texts with the line at which each begins. Only one is in memory."""
    held: list[str] = []
    begin, depth, size = 0, 0, 0
    for line, text in source.lines():
        at = 0
        for mark in _MARKS.finditer(text):
            opens, closes = mark[0] in "{[", mark[0] in "}]"
            if depth == 0 and not opens:
                source.refuse(line, f"{text[mark.start() :][:40]!r} stands between two objects; each job is one {{...}}")
            if depth == 0:
                _check_gap(source, line, text[at : mark.start()])
                begin, at = line, mark.start()
            depth += opens - closes
            if depth > MOST_DEPTH:
                source.refuse(line, _TOO_DEEP)
            if depth == 0:
                yield begin, "\n".join([*held, text[at : mark.end()]])
                held, size, at = [], 0, mark.end()
        if depth == 0:
            _check_gap(source, line, text[at:])
        else:
            held.append(text[at:])
            size += len(text)
            if size > MOST_DOCUMENT:
                source.refuse(begin, f"the object that begins here has more than {MOST_DOCUMENT >> 20} MiB; is a bracket missing?")
    if depth:
        source.refuse(begin, "the object that begins here does not end; the file is cut off, or a bracket is missing")


def _check_gap(source: Source, line: int, text: str) -> None:
    if text.strip(" \t,"):
        source.refuse(line, f"{text.strip()[:40]!r} stands between two objects; each job is one {{...}}, without comments")


def line_of(text: str, path: Path, line: int = 1) -> int:
    """Returns the line of the value to which the path leads, or of the last one on the way that is there."""
    decoder, at = json.JSONDecoder(), _skip(text, 0)
    for step in path:
        found = _step(decoder, text, at, step)
        if found < 0:
            break
        at = found
    return line + text.count("\n", 0, at)


def _step(decoder: json.JSONDecoder, text: str, at: int, step: Union[str, int]) -> int:
    """Returns where the member or element of the value at `at` begins, -1 if there is none."""
    is_object = text[at] == "{"
    if text[at] not in "{[" or is_object != isinstance(step, str):
        return -1
    at, index = _skip(text, at + 1), 0
    while text[at] not in "]}":
        name: Union[str, int] = index
        if is_object:
            name, at = decoder.raw_decode(text, at)
            at = _skip(text, _skip(text, at) + 1)  # the ":"
        if name == step:
            return at
        at = _skip(text, decoder.raw_decode(text, at)[1])
        if text[at] == ",":
            at = _skip(text, at + 1)
        index += 1
    return -1


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def member(value: dict[str, Any], key: str, kind: type, path: Path = ()) -> Any:
    """Returns the list, object or text of a key. Raises At if it is missing or of another type."""
    got = value.get(key)
    if not isinstance(got, kind):
        raise At((*path, key), f"{key} is {'missing' if key not in value else f'no {_NAMES[kind]}'}")
    return got


_NAMES: dict[type, str] = {dict: "object", list: "list", str: "text"}
