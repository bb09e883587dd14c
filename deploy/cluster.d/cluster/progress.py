# SPDX-License-Identifier: Apache-2.0
"""How far a transfer is: a line that is written again on a terminal, and a line every ten seconds in a pipe."""

import sys
import time


def in_bytes(count):
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"


class Progress:
    SILENT = 8 << 20  # bytes that are not worth a word

    def __init__(self, verb, total, out=sys.stderr, clock=time.monotonic):
        self.verb, self.total, self.out, self.clock = verb, total, out, clock
        self.terminal = out.isatty()
        self.done, self.shown_at, self.began, self.what, self.written = 0, clock(), clock(), "", False

    def name(self, what):
        self.what = what

    def add(self, count):
        self.done += count
        now = self.clock()
        if self.total < self.SILENT or now - self.shown_at < (0.2 if self.terminal else 10):
            return
        self.shown_at = now
        rate = self.done / max(now - self.began, 0.001)
        left = (self.total - self.done) / max(rate, 1)
        # What a name has that could drive the terminal is not shown.
        what = "".join(c if c.isprintable() else "?" for c in self.what)[:40]
        text = f"{self.verb} {what}: {in_bytes(self.done)} of {in_bytes(self.total)} ({100 * self.done // self.total}%), {in_bytes(rate)}/s, {left:.0f} s left"
        self.out.write(f"\r{text}\x1b[K" if self.terminal else f"{text}\n")
        self.out.flush()
        self.written = True

    def end(self):
        if self.terminal and self.written:
            self.out.write("\r\x1b[K")
            self.out.flush()
