# SPDX-License-Identifier: Apache-2.0
"""Keys as bytes whose order is Python's own.

A key is None, a bool, an int of any size, a float, a str, bytes, or a tuple of keys. For all keys that Python can compare,
`encode(a) < encode(b)` if and only if `a < b`, and `encode(a) == encode(b)` if and only if `a == b`, so the engine sorts
and groups keys without knowing Python. Kinds that Python cannot compare have a fixed order:

    None < numbers < str < bytes < tuple

Numbers are compared by value, whatever their type: `True`, `1` and `1.0` are one key. So the type of a number is not part
of its key: `decode` returns an int if the value is whole, else a float. nan is refused, since it equals nothing.

The encoding, by its first byte:

    00           None
    01           a number: its floor as an integer, then, if there is one, its fraction
    03           an empty str, or one whose first character is below U+0004: UTF-8 follows
    04 to f4     any other str: this is the first byte of its UTF-8 (so that most texts are encoded as native jobs do it)
    fa           bytes: they follow as they are
    fb           a tuple: its elements, then 00

    integer      80 is zero; 80+n, then n bytes: above zero (n <= 100); 80-n, then n complemented bytes: below zero.
                 e4+k or 1c-k, then k bytes of n, then n bytes: of more than 100 bytes. 00 and ff: minus and plus infinity
    fraction     fe, then its binary digits in bytes without zero bytes at the end, escaped, then 00
    element      02 None; 03 number; 04 str; 05 bytes; 06 tuple. Texts and bytes are escaped and end with 00
    escaped      each 00 is written as 00 ff

A lone surrogate of a str (from `surrogateescape`, say) is encoded as UTF-8 would encode it, which keeps the order.
"""

from __future__ import annotations

import math
from typing import Any, Union

Key = Union[None, bool, int, float, str, bytes, tuple["Key", ...]]

_NONE, _NUMBER, _TEXT, _BYTES, _TUPLE = b"\x00", b"\x01", b"\x03", b"\xfa", b"\xfb"
_FRACTION = 0xFE
_LONGEST = 100  # bytes of an integer whose length stands in its first byte
_LESS, _MORE = b"\x00", b"\xff"  # infinities


def encode(key: Any) -> bytes:
    """Returns the bytes of a key. Raises TypeError with advice if it is of another type, ValueError for nan."""
    kind = type(key)
    if kind is str:
        if key >= "\x04":
            try:
                return key.encode()  # type: ignore[no-any-return]
            except UnicodeEncodeError:
                return _text(key)
        return _TEXT + _text(key)
    if kind is int or kind is bool:
        return _NUMBER + _integer(key)
    if kind is tuple:
        return _TUPLE + b"".join(map(_element, key)) + b"\x00"
    if kind is bytes:
        return _BYTES + key  # type: ignore[no-any-return]
    if key is None:
        return _NONE
    if kind is float:
        return _NUMBER + _float(key)
    return encode(_plain(key))


def encode_group(key: Any, size: int) -> tuple[bytes, int]:
    """Returns the bytes of a tuple, and how many of these are its first `size` elements: the group of the key.

    Requires: size > 0. Raises TypeError if the key is not a tuple of more than `size` - 1 elements.
    """
    if not isinstance(key, tuple) or len(key) < size:
        raise TypeError(f"with group={size} a key is a tuple of at least {size} elements, and not {_short(key)}")
    group = _TUPLE + b"".join(map(_element, key[:size]))
    return group + b"".join(map(_element, key[size:])) + b"\x00", len(group)


def decode(data: bytes) -> Any:
    """Returns the key that `encode` made these bytes of; a whole number comes back as an int, a subclass as its base.

    Raises ValueError if `encode` cannot have made them.
    """
    if not data:
        raise ValueError("no bytes: this is no key of a Python job")
    first = data[0]
    if 0x04 <= first <= 0xF4:
        return _decode_text(data)
    try:
        if first == 0x03:
            return _decode_text(data[1:])
        if first == 0xFA:
            return data[1:]
        if first == 0x00 and len(data) == 1:
            return None
        key: Any
        if first == 0x01:
            key, end = _take_number(data, 1)
        elif first == 0xFB:
            key, end = _take_tuple(data, 1)
        else:
            raise ValueError
        if end != len(data):
            raise ValueError
        return key
    except (IndexError, ValueError):
        raise ValueError(f"these bytes are no key of a Python job: {data[:40]!r}") from None


def _text(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _decode_text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("utf-8", "surrogatepass")


def _integer(value: int) -> bytes:
    if value == 0:
        return b"\x80"
    size = (value.bit_length() + 7) >> 3
    if value > 0:
        if size <= _LONGEST:
            return bytes((0x80 + size,)) + value.to_bytes(size, "big")
        wide = (size.bit_length() + 7) >> 3
        return bytes((0xE4 + wide,)) + size.to_bytes(wide, "big") + value.to_bytes(size, "big")
    complement = (value + (1 << (8 * size)) - 1).to_bytes(size, "big")
    if size <= _LONGEST:
        return bytes((0x80 - size,)) + complement
    wide = (size.bit_length() + 7) >> 3
    return bytes((0x1C - wide,)) + ((1 << (8 * wide)) - 1 - size).to_bytes(wide, "big") + complement


def _float(value: float) -> bytes:
    if math.isnan(value):
        raise ValueError("nan cannot be a key, since it equals nothing, not even itself; yield None or leave the record out")
    if math.isinf(value):
        return _MORE if value > 0 else _LESS
    numerator, denominator = value.as_integer_ratio()
    if denominator == 1:
        return _integer(numerator)
    whole, rest = divmod(numerator, denominator)
    bits = denominator.bit_length() - 1
    size = (bits + 7) >> 3
    digits = (rest << (8 * size - bits)).to_bytes(size, "big")
    return _integer(whole) + b"\xfe" + _escaped(digits)


def _escaped(data: bytes) -> bytes:
    return data.replace(b"\x00", b"\x00\xff") + b"\x00"


def _element(key: Any) -> bytes:
    kind = type(key)
    if kind is str:
        return b"\x04" + _escaped(_text(key))
    if kind is int or kind is bool:
        return b"\x03" + _integer(key)
    if kind is float:
        return b"\x03" + _float(key)
    if kind is bytes:
        return b"\x05" + _escaped(key)
    if key is None:
        return b"\x02"
    if kind is tuple:
        return b"\x06" + b"".join(map(_element, key)) + b"\x00"
    return _element(_plain(key))


def _take_escaped(data: bytes, at: int) -> tuple[bytes, int]:
    end = data.index(0, at)
    while data[end + 1 : end + 2] == b"\xff":
        end = data.index(0, end + 2)
    return data[at:end].replace(b"\x00\xff", b"\x00"), end + 1


def _take_number(data: bytes, at: int) -> tuple[int | float, int]:
    head = data[at]
    at += 1
    if head == 0xFF:
        return math.inf, at
    if head == 0x00:
        return -math.inf, at
    if head == 0x80:
        whole = 0
    else:
        negative = head < 0x80
        size = 0x80 - head if negative else head - 0x80
        if size > _LONGEST:
            wide = 0x1C - head if negative else head - 0xE4
            size = int.from_bytes(data[at : at + wide], "big")
            if negative:
                size = (1 << (8 * wide)) - 1 - size
            at += wide
        if at + size > len(data):
            raise ValueError
        whole = int.from_bytes(data[at : at + size], "big")
        if negative:
            whole -= (1 << (8 * size)) - 1
        at += size
    if at == len(data) or data[at] != _FRACTION:
        return whole, at
    digits, at = _take_escaped(data, at + 1)
    bits = 8 * len(digits)
    return ((whole << bits) + int.from_bytes(digits, "big")) / (1 << bits), at


def _take_tuple(data: bytes, at: int) -> tuple[tuple[Any, ...], int]:
    elements: list[Any] = []
    while True:
        tag = data[at]
        at += 1
        element: Any
        if tag == 0x00:
            return tuple(elements), at
        if tag == 0x02:
            element = None
        elif tag == 0x03:
            element, at = _take_number(data, at)
        elif tag == 0x04:
            text, at = _take_escaped(data, at)
            element = _decode_text(text)
        elif tag == 0x05:
            element, at = _take_escaped(data, at)
        elif tag == 0x06:
            element, at = _take_tuple(data, at)
        else:
            raise ValueError
        elements.append(element)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


_ADVICE = {
    "list": "yield tuple(key)",
    "set": "yield tuple(sorted(key))",
    "frozenset": "yield tuple(sorted(key))",
    "dict": "yield tuple(sorted(key.items()))",
    "bytearray": "yield bytes(key)",
    "memoryview": "yield bytes(key)",
    "datetime": "yield key.timestamp() or key.isoformat()",
    "date": "yield key.isoformat()",
    "timedelta": "yield key.total_seconds()",
    "Decimal": "yield str(key), or float(key) if the order matters",
    "Fraction": "yield key.as_integer_ratio(), or float(key) if the order matters",
    "complex": "yield (key.real, key.imag)",
    "UUID": "yield str(key) or key.bytes",
    "float32": "yield float(key)",
    "float16": "yield float(key)",
    "ndarray": "yield tuple(key.tolist())",
}


def _plain(key: Any) -> Key:
    """Returns the key as exactly one of the plain types. Raises TypeError with advice if it is of none."""
    plain: Any
    for plain in (str, bytes, float, tuple):
        if isinstance(key, plain):
            return plain.__new__(plain, key)  # type: ignore[no-any-return]
    if isinstance(key, int) or hasattr(type(key), "__index__"):
        return int(key)
    name = type(key).__name__
    advice = _ADVICE.get(name)
    if advice is None:
        if hasattr(key, "__dataclass_fields__"):
            advice = "yield dataclasses.astuple(key)"
        elif hasattr(key, "_value_") and hasattr(type(key), "__members__"):
            advice = "yield key.value"
        else:
            advice = "yield a tuple of what makes it this key"
    raise TypeError(f"a key is a str, bytes, an int, a float, a bool, None or a tuple of these, and not of the type {name}: {advice}")
