# SPDX-License-Identifier: Apache-2.0
"""Values as bytes: short forms for plain values, pickle for all others.

    (nothing)    None
    i            an int: its bytes, little-endian, in two's complement
    s            a str: its UTF-8 (a lone surrogate as UTF-8 would encode it)
    b            bytes, as they are
    f            a float: 8 bytes, little-endian
    T, F         True, False
    p            anything else: pickle, protocol 5, which Python 3.8 and later read

A subclass of a plain type is pickled, so each value comes back with the type that it had. Whoever can write such bytes can
run code where they are decoded: decode only what your own jobs wrote.
"""

from __future__ import annotations

import pickle
import struct
from typing import Any

PICKLE_PROTOCOL = 5

_float = struct.Struct("<d")
_small = {value: b"i" + value.to_bytes(2, "little", signed=True)[: 1 + (value > 127)] for value in range(-128, 1024)}
small_bytes = _small.get


def encode(value: Any) -> bytes:
    """Returns the bytes of a value. Raises TypeError if it cannot be pickled."""
    kind = type(value)
    if kind is int:
        return small_bytes(value) or b"i" + value.to_bytes((value.bit_length() >> 3) + 1, "little", signed=True)
    if kind is str:
        try:
            return b"s" + value.encode()  # type: ignore[no-any-return]
        except UnicodeEncodeError:
            return b"s" + value.encode("utf-8", "surrogatepass")  # type: ignore[no-any-return]
    if kind is float:
        return b"f" + _float.pack(value)
    if value is None:
        return b""
    if kind is bytes:
        return b"b" + value  # type: ignore[no-any-return]
    if kind is bool:
        return b"T" if value else b"F"
    try:
        return b"p" + pickle.dumps(value, PICKLE_PROTOCOL)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise TypeError(f"a value is what can be pickled, and {kind.__name__} cannot be: {error}") from error


def decode(data: bytes) -> Any:
    """Returns the value that `encode` made these bytes of. Raises ValueError if it cannot have."""
    if not data:
        return None
    tag = data[0]
    if tag == 105:  # i
        return int.from_bytes(data[1:], "little", signed=True)
    if tag == 115:  # s
        try:
            return data[1:].decode()
        except UnicodeDecodeError:
            return data[1:].decode("utf-8", "surrogatepass")
    if tag == 102 and len(data) == 9:  # f
        return _float.unpack_from(data, 1)[0]
    if tag == 98:  # b
        return data[1:]
    if tag == 112:  # p
        return pickle.loads(memoryview(data)[1:])
    if data == b"T":
        return True
    if data == b"F":
        return False
    raise ValueError(f"these bytes are no value of a Python job: {data[:40]!r}")
