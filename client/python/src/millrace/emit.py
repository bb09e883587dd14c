# SPDX-License-Identifier: Apache-2.0
"""Where what the functions of a job give goes: to the shuffle, through a combiner, or to the files of the output.

A sink has `add(items)`, `took(bytes)` for how much input they come from, and `end()`.
"""

from __future__ import annotations

import collections
import inspect
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Callable, Optional

from . import formats, keys, values, wire
from .jobs import Function, Job, To

FOLD_VALUES = 1 << 18  # how many values wait for the combiner, at most
FOLD_BYTES = 64 << 20  # how much input they come from, at most
ITEMS = 4096  # how many items of output are encoded together


def producer(function: Function, pairs: bool) -> Function:
    """Returns a function that calls this one and returns an iterable of items, whatever way that one gives them.

    A generator gives them as they are; None is none; a list or any other iterable is many; a tuple, str, bytes, number, To or
    table is one. A dict is one, too, unless `pairs`: then its items are pairs.
    """
    if inspect.isgeneratorfunction(function):
        return function

    def call(*args: Any) -> Iterable[Any]:
        result = function(*args)
        if result is None:
            return ()
        if isinstance(result, Mapping):
            return result.items() if pairs else (result,)
        if isinstance(result, (tuple, str, bytes, int, float, To)) or hasattr(result, "schema") or not hasattr(result, "__iter__"):
            return (result,)
        return result  # type: ignore[no-any-return]

    return call


def converter(annotation: Any) -> Callable[[Any], Any]:
    """Returns what makes a decoded key the type that its annotation says: a number lost whether it was a float or a bool."""
    if annotation is float:
        return lambda key: float(key) if type(key) is int else key
    if annotation is bool:
        return lambda key: bool(key) if type(key) is int else key
    parts = getattr(annotation, "__args__", ())
    if getattr(annotation, "__origin__", None) is tuple and (float in parts or bool in parts) and ... not in parts:
        each = [converter(part) for part in parts]

        def convert(key: Any) -> Any:
            fits = type(key) is tuple and len(key) == len(each)
            return tuple([one(part) for one, part in zip(each, key)]) if fits else key

        return convert
    return lambda key: key


def _pair(item: Any) -> tuple[Any, Any]:
    if isinstance(item, (tuple, list)) and len(item) == 2:
        return item[0], item[1]
    if isinstance(item, To):
        raise TypeError("only a reduce, or a map of a job without reduces, writes to a named output (millrace.To)")
    raise TypeError(f"the map of a job with a reduce yields pairs of key and value, and not {item!r:.80}")


class Shuffle:
    """Encodes pairs and sends them as O; in a job with group= as Q, and with partition= as P."""

    def __init__(self, job: Job, send: wire.Send, reduces: int) -> None:
        self._group, self._partition, self._send, self._reduces = job.group, job.partition, send, reduces
        self._kind = wire.PLACED if job.partition else wire.GROUPED if job.group else wire.OUT
        self._parts: list[bytes] = []
        self._size = 0

    def took(self, size: int) -> None:
        pass

    def add(self, pairs: Iterable[Any]) -> None:
        if self._kind != wire.OUT:
            self._add_marked(pairs)
            return
        parts, size = self._parts, self._size
        encode_key, encode_value, small, pack = keys.encode, values.encode, values.small_bytes, wire.pack_two
        for item in pairs:
            if item.__class__ is not tuple or len(item) != 2:
                item = _pair(item)
            key, value = item
            plain = key.__class__ is str and key.isascii() and key >= "\x04"
            key = key.encode() if plain else encode_key(key)
            value = (small(value) if value.__class__ is int else None) or encode_value(value)
            parts += (pack(len(key), len(value)), key, value)
            size += len(key) + len(value) + 8
            if size >= wire.BATCH_BYTES:
                self._flush()
                size = 0
        self._size = size

    def _add_marked(self, pairs: Iterable[Any]) -> None:
        for item in pairs:
            key, value = item if item.__class__ is tuple and len(item) == 2 else _pair(item)
            encoded, mark = keys.encode_group(key, self._group) if self._group else (keys.encode(key), 0)
            if self._partition is not None:
                mark = self._place(key)
            self._parts.append(wire.pack_marked(encoded, mark, values.encode(value)))
            self._size += len(self._parts[-1])
            if self._size >= wire.BATCH_BYTES:
                self._flush()

    def _place(self, key: Any) -> int:
        assert self._partition is not None
        place = self._partition(key, self._reduces)
        if not isinstance(place, int) or not 0 <= place < self._reduces:
            raise ValueError(
                f"partition= gives the number of a reduce, from 0 to {self._reduces - 1}, and for the key {key!r:.80} it gave {place!r:.80}"
            )
        return int(place)

    def _flush(self) -> None:
        if self._parts:
            self._send(self._kind, *self._parts)
            self._parts.clear()
            self._size = 0

    def end(self) -> None:
        self._flush()


class Combining:
    """Keeps pairs by key and folds them with the combiner before they go to `sink`.

    They are folded when FOLD_VALUES wait or FOLD_BYTES of input were taken; if that leaves more than a quarter, what is left goes
    on, so memory is bounded.
    """

    def __init__(self, function: Function, sink: Shuffle) -> None:
        self._function, self._sink = function, sink
        self._waiting: collections.defaultdict[Any, list[Any]] = collections.defaultdict(list)
        self._count = self._bytes = 0

    def took(self, size: int) -> None:
        self._bytes += size
        if self._bytes >= FOLD_BYTES:
            self._fold()

    def add(self, pairs: Iterable[Any]) -> None:
        waiting, left = self._waiting, FOLD_VALUES - self._count
        item: Any = None
        try:
            for item in pairs:
                if item.__class__ is not tuple:
                    item = _pair(item)
                key, value = item
                waiting[key].append(value)
                left -= 1
                if left <= 0:
                    self._fold()
                    waiting, left = self._waiting, FOLD_VALUES - self._count
        except (TypeError, ValueError):
            if item is not None:  # which may be no pair, or have a key that cannot be one
                keys.encode(_pair(item)[0])
            raise
        self._count = FOLD_VALUES - left

    def _folded(self) -> Iterator[Any]:
        function = self._function
        for key, several in self._waiting.items():
            yield from function(key, iter(several)) if len(several) > 1 else ((key, several[0]),)

    def _fold(self) -> None:
        folded: collections.defaultdict[Any, list[Any]] = collections.defaultdict(list)
        count = 0
        for item in self._folded():
            key, value = _pair(item)
            folded[key].append(value)
            count += 1
        self._waiting, self._count, self._bytes = folded, count, 0
        if count > FOLD_VALUES // 4:
            self._pass_on((key, value) for key, several in folded.items() for value in several)

    def _pass_on(self, pairs: Iterable[Any]) -> None:
        self._sink.add(pairs)
        self._waiting = collections.defaultdict(list)
        self._count = 0

    def end(self) -> None:
        self._pass_on(self._folded())
        self._sink.end()


class Output:
    """The output files of an attempt: encodes items in the formats of the job and sends them as W."""

    def __init__(self, job: Job, send: wire.Send, keep: Optional[Callable[[str, Any], None]]) -> None:
        self._send, self._keep = send, keep
        self._kinds = {"": formats.find(job.output), **{name: formats.find(kind) for name, kind in job.outputs.items()}}
        self._files: dict[str, formats.Format] = {}
        self._items: dict[str, list[Any]] = {"": []}
        self._bytes: dict[str, list[bytes]] = {}
        self._sizes: collections.Counter[str] = collections.Counter()

    def took(self, size: int) -> None:
        pass

    def add(self, items: Iterable[Any]) -> None:
        part = self._items[""]
        for item in items:
            if item.__class__ is To:
                self._to(item)
                continue
            part.append(item)
            if len(part) >= ITEMS:
                self._encode("")

    def _to(self, to: To) -> None:
        if to.name not in self._kinds or not to.name:
            known = ", ".join(name for name in self._kinds if name) or "none"
            raise KeyError(f"the job has no output {to.name!r} (it has {known}): name it in outputs=")
        items = self._items.setdefault(to.name, [])
        items.append(to.item)
        if len(items) >= ITEMS:
            self._encode(to.name)

    def _encode(self, name: str) -> None:
        items = self._items[name]
        if not items:
            return
        if self._keep is not None:
            for item in items:
                self._keep(name, item)
        if name not in self._files:
            self._files[name] = self._kinds[name]()
        self._write(name, self._files[name].encode(items))
        items.clear()

    def _write(self, name: str, data: bytes) -> None:
        self._bytes.setdefault(name, []).append(data)
        self._sizes[name] += len(data)
        if self._sizes[name] >= wire.BATCH_BYTES:
            self._flush(name)

    def _flush(self, name: str) -> None:
        data = b"".join(self._bytes.pop(name, []))
        self._sizes[name] = 0
        for at in range(0, len(data), 16 * wire.BATCH_BYTES):
            self._send(wire.WRITE, *wire.pack_write(name, data[at : at + 16 * wire.BATCH_BYTES]))

    def end(self) -> None:
        """Writes what is left. The part file is a whole file of its format even without items."""
        self._files.setdefault("", self._kinds[""]())
        for name in list(self._items):
            self._encode(name)
        for name, file in self._files.items():
            self._write(name, file.end())
            self._flush(name)
