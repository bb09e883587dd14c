# SPDX-License-Identifier: Apache-2.0
"""Rates, times and sizes as people write them. Rates are bits/s in powers of 1000, as networks have them; "none" is None."""

import re

_BITS = {"bit": 1, "Kbit": 10**3, "Mbit": 10**6, "Gbit": 10**9}
_BYTES = {"B/s": 1, "KB/s": 10**3, "MB/s": 10**6, "GB/s": 10**9, "KiB/s": 1 << 10, "MiB/s": 1 << 20, "GiB/s": 1 << 30}
_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0}


def _number_with(units, text, example):
    match = re.fullmatch(r"(\d+(?:\.\d+)?) ?([A-Za-z/]+)", text) if isinstance(text, str) else None
    if not match or match[2] not in units:
        raise ValueError(f"{text!r} is not a number with {', '.join(units)}, as in {example!r}")
    return float(match[1]) * units[match[2]]


def bits_per_second(text):
    """Returns an int, or None for "none". Raises ValueError."""
    return None if text == "none" else round(_number_with(_BITS, text, "200Mbit"))


def bytes_per_second(text):
    """Returns an int, or None for "none". Raises ValueError."""
    return None if text == "none" else round(_number_with(_BYTES, text, "40MB/s"))


def seconds(text):
    """Returns a float. Raises ValueError."""
    return _number_with(_SECONDS, text, "10ms")


def format_rate(bits):
    """The inverse of bits_per_second, with four digits."""
    if bits is None:
        return "none"
    unit = max((u for u in _BITS if _BITS[u] <= bits), key=_BITS.get, default="bit")
    return f"{bits / _BITS[unit]:.4g}{unit}"


def format_delay(delay):
    return f"{delay * 1000:.3g}ms"
