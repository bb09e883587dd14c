# SPDX-License-Identifier: Apache-2.0
"""Output formats: how what a job yields becomes bytes of its output files, and how these are read again.

An item is what a reduce, or a map without reduces, yields: mostly a pair of key and value. A format is a class with the
methods of `Format`; an instance of it writes one file of one attempt. `output="text"`, "json", "csv", "records", "bytes" and
"parquet" name those below; a class of your own does as well.
"""

from __future__ import annotations

import csv
import io
import json
import os
import struct
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO, ClassVar, Union

from . import keys, values
from .errors import UsageError


class Format:
    """What a format has. `encode` and `end` return bytes, which are written one after another as they are."""

    name: ClassVar[str] = ""

    def encode(self, items: list[Any]) -> bytes:
        """Returns the bytes of these items. Bytes may be kept back for a later call."""
        raise NotImplementedError

    def end(self) -> bytes:
        """Returns what is left to write. It is called once, and not for a file without items unless it is the part file."""
        return b""

    @classmethod
    def read(cls, stream: BinaryIO) -> Iterator[Any]:
        """Returns what one file holds."""
        raise NotImplementedError


class Text(Format):
    """Lines: key TAB value, as native jobs write them.

    A tuple is its elements with TABs between them, tuples in it included; a None at the end of an item is left out. Numbers
    are written by value, in the shortest way that reads back as the same number (1.0 is `1`), and a bool is `true` or
    `false`. bytes are written as they are, a str as UTF-8, anything else as its str(). Reads tuples of str.
    """

    name = "text"

    def encode(self, items: list[Any]) -> bytes:
        lines: list[str] = []
        for item in items:
            if item.__class__ is tuple and len(item) == 2:
                key, value = item
                if key.__class__ is str:
                    if value.__class__ is int:
                        lines.append(f"{key}\t{value}\n")
                        continue
                    if value.__class__ is str:
                        lines.append(f"{key}\t{value}\n")
                        continue
            lines.append(_columns(item) + "\n")
        return "".join(lines).encode("utf-8", "surrogateescape")

    @classmethod
    def read(cls, stream: BinaryIO) -> Iterator[Any]:
        for line in stream:
            yield tuple(line.rstrip(b"\n").decode("utf-8", "surrogateescape").split("\t"))


def _columns(item: Any) -> str:
    if isinstance(item, (tuple, list)):
        parts = list(item)
        while len(parts) > 1 and parts[-1] is None:
            parts.pop()
        return "\t".join(map(_columns, parts))
    if isinstance(item, str):
        return item
    if isinstance(item, bool):
        return "true" if item else "false"
    if isinstance(item, float):
        return number_text(item)
    if isinstance(item, (bytes, bytearray)):
        return item.decode("utf-8", "surrogateescape")
    return "" if item is None else str(item)


def number_text(value: float) -> str:
    """Returns the shortest text of a float that reads back as it, plain or with an exponent, plain if both are as long."""
    text = float.__repr__(value)
    if "n" in text:  # nan, inf
        return text
    sign = "-" if text[0] == "-" else ""
    mantissa, _, exponent = text.lstrip("-").partition("e")
    whole, _, part = mantissa.partition(".")
    digits = (whole + part).lstrip("0")
    if not digits:
        return sign + "0"
    power = int(exponent or 0) + len(whole) - 1 if whole != "0" else int(exponent or 0) - 1 - (len(part) - len(part.lstrip("0")))
    digits = digits.rstrip("0")
    scientific = f"{digits[0]}{'.' if len(digits) > 1 else ''}{digits[1:]}e{'-' if power < 0 else '+'}{abs(power):02}"
    if power < 0:
        plain = "0." + "0" * (-power - 1) + digits
    elif power + 1 >= len(digits):
        plain = str(int(abs(value)))
    else:
        plain = digits[: power + 1] + "." + digits[power + 1 :]
    return sign + (plain if len(plain) <= len(scientific) else scientific)


class Json(Format):
    """A JSON value a line: an item as it is, so yield dicts; a pair becomes an array. Reads what the lines hold."""

    name = "json"

    def encode(self, items: list[Any]) -> bytes:
        return "".join([json.dumps(item, ensure_ascii=False) + "\n" for item in items]).encode("utf-8", "surrogatepass")

    @classmethod
    def read(cls, stream: BinaryIO) -> Iterator[Any]:
        for line in stream:
            yield json.loads(line)


class Csv(Format):
    """Rows with commas and quotes (RFC 4180, lines end with \\n): an item is a list or tuple of cells, tuples in it spread out,
    or a dict, of which the values are taken. There is no heading. Reads lists of str."""

    name = "csv"

    def encode(self, items: list[Any]) -> bytes:
        out = io.StringIO()
        csv.writer(out, lineterminator="\n").writerows(map(_cells, items))
        return out.getvalue().encode("utf-8", "surrogateescape")

    @classmethod
    def read(cls, stream: BinaryIO) -> Iterator[Any]:
        yield from csv.reader(io.TextIOWrapper(stream, "utf-8", "surrogateescape", newline=""))


def _cells(item: Any) -> list[Any]:
    if isinstance(item, dict):
        return list(item.values())
    if not isinstance(item, (tuple, list)):
        return [item]
    cells: list[Any] = []
    for cell in item:
        cells += _cells(cell) if isinstance(cell, tuple) else [cell]
    return cells


class Bytes(Format):
    """What is yielded is bytes, and written as it is, with nothing between. Reads the content of each file."""

    name = "bytes"

    def encode(self, items: list[Any]) -> bytes:
        return b"".join(items)

    @classmethod
    def read(cls, stream: BinaryIO) -> Iterator[Any]:
        yield stream.read()


class Records(Format):
    """A record file of Millrace (client/format/record_file.h), without compression: pairs of key and value, in the encodings
    of `keys` and `values`. A job whose map takes (key, value) reads it, in many splits. Reads pairs."""

    name = "records"
    _BLOCK = 64 << 10

    def __init__(self) -> None:
        self._marker = os.urandom(16)
        self._raw: list[bytes] = []
        self._size = self._offset = self._previous = self._blocks = self._records = 0

    def encode(self, items: list[Any]) -> bytes:
        out: list[bytes] = []
        for item in items:
            key, value = self.bytes_of(item)
            self._raw += (_varint(len(key)), key, _varint(len(value)), value)
            self._size += len(key) + len(value) + 4
            self._records += 1
            if self._size >= self._BLOCK:
                out.append(self._block(0))
        return b"".join(out)

    def bytes_of(self, item: Any) -> tuple[bytes, bytes]:
        if not (isinstance(item, tuple) and len(item) == 2):
            raise TypeError(f'output="records" takes pairs of key and value, and not {item!r:.60}')
        return keys.encode(item[0]), values.encode(item[1])

    def end(self) -> bytes:
        last = self._block(0) if self._raw else b""
        trailer = struct.pack("<QQ", self._blocks, self._records)
        if not self._offset:
            last = self._header()
        self._raw = [trailer]
        return last + self._block(2)

    def _header(self) -> bytes:
        head = b"MILLRREC" + struct.pack("<I", 1) + self._marker
        head += struct.pack("<I", crc32c(head))
        self._offset = len(head)
        return head

    def _block(self, flags: int) -> bytes:
        head = self._header() if not self._offset else b""
        raw = b"".join(self._raw)
        self._raw.clear()
        self._size = 0
        fields = struct.pack("<QIII", self._previous, len(raw), len(raw), flags)
        checksum = crc32c(raw, crc32c(fields, crc32c(struct.pack("<Q", self._offset))))
        block = b"".join((self._marker, fields, struct.pack("<I", checksum), raw))
        self._previous = self._offset
        self._offset += len(block)
        self._blocks += 1
        return head + block

    @classmethod
    def read(cls, stream: BinaryIO) -> Iterator[Any]:
        for key, value in raw_records(stream):
            yield keys.decode(key), values.decode(value)


def raw_records(stream: BinaryIO) -> Iterator[tuple[bytes, bytes]]:
    """Returns the records of a record file. Raises ValueError if it is damaged, cut off, or compressed and the package
    zstandard is not there."""
    head = stream.read(32)
    if len(head) < 32 or head[:8] != b"MILLRREC" or struct.unpack_from("<I", head, 28)[0] != crc32c(head[:28]):
        raise ValueError("this is no record file of Millrace")
    offset, records = 32, 0
    while True:
        block = stream.read(40)
        if len(block) < 40 or block[:16] != head[12:28]:
            raise ValueError(f"the record file is damaged or cut off at byte {offset}")
        stored, _, flags, checksum = struct.unpack_from("<IIII", block, 24)
        data = stream.read(stored)
        if len(data) < stored or crc32c(data, crc32c(block[16:36], crc32c(struct.pack("<Q", offset)))) != checksum:
            raise ValueError(f"the record file is damaged at byte {offset}")
        offset += 40 + stored
        if flags & 2:
            if struct.unpack("<QQ", data)[1] != records:
                raise ValueError("records are missing from the record file")
            if stream.read(1):
                raise ValueError("the record file goes on behind its end")
            return
        if flags & 1:
            data = _unzstd(data)
        at = 0
        while at < len(data):
            size, at = _take_varint(data, at)
            key, at = data[at : at + size], at + size
            size, at = _take_varint(data, at)
            value, at = data[at : at + size], at + size
            records += 1
            yield key, value


def _unzstd(data: bytes) -> bytes:
    try:
        import zstandard
    except ImportError:
        raise ValueError("the record file is compressed: install the package zstandard to read it here") from None
    return bytes(zstandard.ZstdDecompressor().decompressobj().decompress(data))


def _varint(value: int) -> bytes:
    if value < 0x80:
        return bytes((value,))
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _take_varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


_crc_bytes: list[int] = []
_crc_pairs: list[int] = []  # of two bytes at once


def crc32c(data: bytes, crc: int = 0) -> int:
    """Returns the CRC-32C of bytes that follow others whose is `crc`. By the package google_crc32c or crc32c if one is there."""
    fast = _fast_crc32c()
    if fast is not None:
        return int(fast(data, crc))
    if not _crc_pairs:
        _make_crc_tables()
    pairs = _crc_pairs
    crc ^= 0xFFFFFFFF
    even = len(data) & ~1
    for two in struct.unpack(f"<{even >> 1}H", data[:even]):
        crc = pairs[(crc ^ two) & 0xFFFF] ^ crc >> 16
    for byte in data[even:]:
        crc = _crc_bytes[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def _make_crc_tables() -> None:
    for byte in range(256):
        entry = byte
        for _ in range(8):
            entry = entry >> 1 ^ (0x82F63B78 if entry & 1 else 0)
        _crc_bytes.append(entry)
    one = _crc_bytes
    for two in range(1 << 16):
        entry = one[two & 0xFF] ^ two >> 8
        _crc_pairs.append(one[entry & 0xFF] ^ entry >> 8)


_fast: list[Any] = []


def _fast_crc32c() -> Any:
    if not _fast:
        try:
            import google_crc32c

            _fast.append(lambda data, crc: google_crc32c.extend(crc, data))
        except ImportError:
            try:
                import crc32c as module

                _fast.append(module.crc32c)
            except ImportError:
                _fast.append(None)
    return _fast[0]


class Parquet(Format):
    """A Parquet file, by pyarrow: an item is a dict, a pyarrow.RecordBatch or a pyarrow.Table. The first 10,000 dicts, or the
    first batch, say which columns there are and of which types. Reads dicts."""

    name = "parquet"
    _ROWS = 10_000

    def __init__(self) -> None:
        self._rows: list[Any] = []
        self._sink = io.BytesIO()
        self._writer: Any = None

    def encode(self, items: list[Any]) -> bytes:
        for item in items:
            if isinstance(item, dict):
                self._rows.append(item)
                if len(self._rows) >= self._ROWS:
                    self._write_rows()
            elif hasattr(item, "schema"):
                self._write_rows()
                self._write(item)
            else:
                raise TypeError(f'output="parquet" takes dicts, RecordBatches and Tables, and not {item!r:.60}')
        return self._taken()

    def end(self) -> bytes:
        import pyarrow as pa

        self._write_rows()
        if self._writer is None:
            self._write(pa.table({}))
        self._writer.close()
        return self._taken()

    def _write_rows(self) -> None:
        if self._rows:
            import pyarrow as pa

            self._write(pa.Table.from_pylist(self._rows, self._writer and self._writer.schema))
            self._rows = []

    def _write(self, table: Any) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        if self._writer is None:
            self._writer = pq.ParquetWriter(_Unclosed(self._sink), table.schema)
        if isinstance(table, pa.RecordBatch):
            table = pa.Table.from_batches([table])
        self._writer.write_table(table)

    def _taken(self) -> bytes:
        data = self._sink.getvalue()
        self._sink.seek(0)
        self._sink.truncate()
        return data

    @classmethod
    def read(cls, stream: BinaryIO) -> Iterator[Any]:
        import pyarrow as pa
        import pyarrow.parquet as pq

        for batch in pq.ParquetFile(pa.BufferReader(stream.read())).iter_batches():
            yield from batch.to_pylist()


class _Unclosed(io.RawIOBase):
    """A sink for pyarrow: counts what was written, keeps it in `to`, and cannot seek."""

    def __init__(self, to: io.BytesIO) -> None:
        self._to, self._at = to, 0

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def write(self, data: Any) -> int:
        self._at += len(data)
        return self._to.write(data)


FORMATS: dict[str, type[Format]] = {kind.name: kind for kind in (Text, Json, Csv, Bytes, Records, Parquet)}
AnyFormat = Union[str, type[Format]]


def find(format: AnyFormat) -> type[Format]:
    """Returns the class of a format. Raises UsageError if there is none, or pyarrow is missing."""
    if isinstance(format, type) and issubclass(format, Format):
        return format
    if format not in FORMATS:
        raise UsageError(f"there is no output format {format!r}: use {', '.join(sorted(FORMATS))}, or a class like Format")
    return FORMATS[str(format)]


def tables(data: bytes, name: str) -> Iterable[Any]:
    """Returns the pyarrow.RecordBatches of a file: Parquet or Arrow by its first bytes, else CSV with a heading, or JSON lines,
    by the end of its name. Raises ValueError if it is none of these."""
    import pyarrow as pa

    buffer = pa.BufferReader(data)
    if data[:4] == b"PAR1":
        import pyarrow.parquet as pq

        return pq.ParquetFile(buffer).iter_batches()  # type: ignore[no-any-return]
    if data[:6] == b"ARROW1":
        reader = pa.ipc.open_file(buffer)
        return (reader.get_batch(i) for i in range(reader.num_record_batches))
    if name.endswith(".csv"):
        import pyarrow.csv

        return pyarrow.csv.read_csv(buffer).to_batches()  # type: ignore[no-any-return]
    if name.endswith((".json", ".jsonl", ".ndjson")):
        import pyarrow.json

        return pyarrow.json.read_json(buffer).to_batches()  # type: ignore[no-any-return]
    raise ValueError(f"{name} is neither Parquet nor Arrow, nor does its name end with .csv, .json, .jsonl or .ndjson")
