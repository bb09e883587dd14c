# SPDX-License-Identifier: Apache-2.0
"""Carries frames between pairs of taps, each frame after a delay. A program: relay.py SECONDS NEAR FAR [NEAR FAR]...

Kernels need not have netem, and this does the same on all of them. A tap hands over what the kernel has not cut into segments yet, up to
64 KiB at a time with its offload header, and takes it back like that, so that few calls carry much. Rates are not its business: the
token buckets of the taps are passed before a frame gets here. It prints "ready" once frames are carried.
"""

import collections
import contextlib
import fcntl
import os
import select
import struct
import sys
import time

TUNSETIFF, TUNSETOFFLOAD = 0x400454CA, 0x400454D0
IFF_TAP, IFF_NO_PI, IFF_VNET_HDR = 0x2, 0x1000, 0x4000
OFFLOAD_CHECKSUM, OFFLOAD_TSO4, OFFLOAD_TSO6, OFFLOAD_ECN = 1, 2, 4, 8
FRAME_BYTES = 70_000
NICENESS = -10  # a wire does not wait for the tasks of a busy machine
FRAMES_AT_ONCE = 16  # of one tap, before the others and the clock are looked at


def open_tap(name):
    fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(fd, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TAP | IFF_NO_PI | IFF_VNET_HDR))
    fcntl.ioctl(fd, TUNSETOFFLOAD, OFFLOAD_CHECKSUM | OFFLOAD_TSO4 | OFFLOAD_TSO6 | OFFLOAD_ECN)
    return fd


class Relay:
    """pairs: descriptors of frames, both ends of each link. The delay is the same for all frames, so they come due in order."""

    def __init__(self, pairs, delay, clock=time.monotonic):
        self.other = {a: b for pair in pairs for a, b in (pair, pair[::-1])}
        self.delay, self.clock = delay, clock
        self.waiting = collections.deque()  # (due, descriptor to write to, frame)

    def take(self, fd):
        """Reads what has come, as far as it is not too much at once."""
        for _ in range(FRAMES_AT_ONCE):
            try:
                frame = os.read(fd, FRAME_BYTES)
            except BlockingIOError:
                return
            self.waiting.append((self.clock() + self.delay, self.other[fd], frame))

    def give(self):
        """Writes what is due. Returns the seconds until the next frame is, or None."""
        while self.waiting:
            due, fd, frame = self.waiting[0]
            left = due - self.clock()
            if left > 0:
                return left
            self.waiting.popleft()
            try:
                os.write(fd, frame)
            except OSError:
                pass  # the other side is down or full: the frame is lost, as on a wire
        return None


def main():
    delay, names = float(sys.argv[1]), sys.argv[2:]
    with contextlib.suppress(OSError):  # not every root may
        os.setpriority(os.PRIO_PROCESS, 0, NICENESS)
    fds = [open_tap(name) for name in names]
    relay = Relay(list(zip(fds[::2], fds[1::2])), delay)
    print("ready", flush=True)
    while True:
        ready, _, _ = select.select(fds, [], [], relay.give())
        for fd in ready:
            relay.take(fd)


if __name__ == "__main__":
    main()
