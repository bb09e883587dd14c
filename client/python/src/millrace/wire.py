# SPDX-License-Identifier: Apache-2.0
"""The child protocol, version 1: what a task process and the Python child that runs the job's functions say to each other.

Descriptor MILLRACE_CHANNEL is a full-duplex unix stream socket. A message is the length of its payload (u32), its kind (one
byte) and its payload; integers are little-endian.

    parent: J begin of an attempt (JSON)     child:  H hello (JSON)
            I begin of an input (JSON)               O records for the shuffle
            L lines: u64 offset, text                Q the same, with the length of the key's group
            R records                                P the same, with the number of the reduce
            F bytes of a file: u64 offset, bytes     W bytes of an output file: u8 length of its name, name, bytes
            E end of the attempt's input             G a range of the file is wanted: u64 offset, u64 length
                                                     N no more of the file is wanted
                                                     C counters (JSON)   S status (text)   A records so far (u64)
                                                     X the attempt failed (JSON)           D the attempt is done

Records are key length (u32), value length (u32), key, value, one after another. In R the key length 0xffffffff means the
key of the record before. If an I has "ranges": true, the child asks for what it needs of the file by G, each of which is
answered by F messages that together are the range, and ends with N. A parent never blocks on writing without reading, so a
child may read a message, compute, and write its answers with blocking calls.
"""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Iterable, Iterator
from typing import Any, Callable

VERSION = 1
CHANNEL = "MILLRACE_CHANNEL"  # the environment variable that holds the number of the descriptor

HELLO, BEGIN, INPUT, LINES, RECORDS, FILE, END = b"H", b"J", b"I", b"L", b"R", b"F", b"E"
ASK, ENOUGH = b"G", b"N"
OUT, GROUPED, PLACED, WRITE, COUNTERS, STATUS, ALIVE, FAILED, DONE = b"O", b"Q", b"P", b"W", b"C", b"S", b"A", b"X", b"D"

SAME_KEY = 0xFFFFFFFF
LARGEST = 0x7FFFFFFF  # bytes of a payload; a longer one means that the stream is not this protocol
BATCH_BYTES = 1 << 20  # about how much goes into one message

Message = tuple[bytes, bytes]
Send = Callable[..., None]  # send(kind, part, part...)

_head = struct.Struct("<IB")
_two = struct.Struct("<II")
pack_two = _two.pack  # lengths of a record of R or O
_three = struct.Struct("<III")
_u64 = struct.Struct("<Q")


class ChannelClosed(Exception):
    """The other end is gone, so what was being done for it is of no use any more."""


class Channel:
    """One end of the socket. Requires: at most one thread reads, and at most one writes."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        self._reader = sock.makefile("rb", 1 << 18)

    def messages(self) -> Iterator[Message]:
        """Returns the messages until the other end closes. Raises ChannelClosed if it closes within one."""
        read = self._reader.read
        while True:
            try:
                head = read(5)
            except ConnectionResetError:
                return
            if not head:
                return
            if len(head) < 5:
                raise ChannelClosed("the channel ended within a message")
            size, kind = _head.unpack(head)
            if size > LARGEST:
                raise ValueError(f"a message of {size} bytes: this is not the child protocol")
            payload = read(size)
            if len(payload) < size:
                raise ChannelClosed("the channel ended within a message")
            yield bytes((kind,)), payload

    def send(self, kind: bytes, *parts: bytes) -> None:
        """Writes a message whose payload is the parts together. Blocks until it is written. Raises ChannelClosed."""
        try:
            self._socket.sendall(b"".join((_head.pack(sum(map(len, parts)), kind[0]), *parts)))
        except (BrokenPipeError, ConnectionResetError) as error:
            raise ChannelClosed("the channel was closed") from error

    def close(self) -> None:
        self._reader.close()
        self._socket.close()


def pack_json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def pack_u64(value: int) -> bytes:
    return _u64.pack(value)


def unpack_u64(payload: bytes) -> int:
    return int(_u64.unpack_from(payload)[0])


def pack_record(key: bytes, value: bytes) -> bytes:
    return b"".join((_two.pack(len(key), len(value)), key, value))


def pack_marked(key: bytes, mark: int, value: bytes) -> bytes:
    """Returns a record of Q or P; `mark` is the length of the group, or the number of the reduce."""
    return b"".join((_three.pack(len(key), mark, len(value)), key, value))


def pack_sorted(records: Iterable[tuple[bytes, bytes]]) -> Iterator[bytes]:
    """Returns payloads of R for sorted records, each of about BATCH_BYTES; a key that repeats is not written again."""
    parts: list[bytes] = []
    size = 0
    last = None
    for key, value in records:
        if key == last:
            parts += (_two.pack(SAME_KEY, len(value)), value)
        else:
            parts += (_two.pack(len(key), len(value)), key, value)
            last = key
        size += 8 + len(key) + len(value)
        if size >= BATCH_BYTES:
            yield b"".join(parts)
            parts.clear()
            size = 0
    if parts:
        yield b"".join(parts)


def unpack_records(payloads: Iterable[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """Returns the records of payloads of R or O; a repeated key is the same object. Raises ValueError for foreign bytes."""
    unpack = _two.unpack_from
    key: bytes | None = None
    for payload in payloads:
        at, end = 0, len(payload)
        try:
            while at < end:
                key_size, value_size = unpack(payload, at)
                at += 8
                if key_size != SAME_KEY:
                    key = payload[at : at + key_size]
                    at += key_size
                value = payload[at : at + value_size]
                at += value_size
                if at > end or key is None:
                    raise ValueError
                yield key, value
        except (struct.error, ValueError):
            raise ValueError("a batch of records is damaged") from None


def unpack_marked(payload: bytes) -> Iterator[tuple[bytes, int, bytes]]:
    """Returns the records of a payload of Q or P: key, length of its group or number of its reduce, value."""
    at = 0
    while at < len(payload):
        key_size, mark, value_size = _three.unpack_from(payload, at)
        at += 12 + key_size + value_size
        yield payload[at - value_size - key_size : at - value_size], mark, payload[at - value_size : at]


def pack_write(name: str, data: bytes) -> tuple[bytes, bytes]:
    """Returns the parts of W: bytes for the output file `name`, or the part file if that is empty."""
    encoded = name.encode()
    return bytes((len(encoded),)) + encoded, data


def unpack_write(payload: bytes) -> tuple[str, bytes]:
    return payload[1 : 1 + payload[0]].decode(), payload[1 + payload[0] :]
