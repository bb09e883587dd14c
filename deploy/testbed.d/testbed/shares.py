# SPDX-License-Identifier: Apache-2.0
"""Checks that a worker gets no more of the processor and of the disk than the file declares. Also a program, which is run within a
worker's control groups and prints what it got:

    shares.py cpu CORES SECONDS     as many processes as CORES compute; prints cores
    shares.py disk FILE SECONDS     writes past the kernel's cache; prints bytes/s

Less than declared is no fault of the limit, but of a machine that is busy or has less, so it is shown and nothing more.
"""

import dataclasses
import math
import mmap
import os
import subprocess
import sys
import time

CPU_SECONDS, DISK_SECONDS = 0.6, 1.0
DISK_CHUNK, DISK_FILE_BYTES = 256 << 10, 64 << 20
LIMIT_SECONDS = 60


@dataclasses.dataclass(frozen=True)
class Share:
    """what: "cores" or "disk, MB/s"."""
    worker: str
    what: str
    declared: float
    measured: float

    def line(self):
        return f"{self.worker}, {self.what}: declared {self.declared:.3g}, measured {self.measured:.3g}"

    def complaint(self, tolerance):
        if self.measured <= self.declared * (1 + tolerance):
            return None
        return f"{self.line()}, so the limit does not hold; see docs/schedulers/testbed.md for what this kernel lacks, or leave it out of the file"


def sampled(cluster):
    """Returns the first worker of every shape that has a limit."""
    first = {}
    for worker in cluster.workers:
        if worker.shape.cpus is not None or worker.shape.disk is not None:
            first.setdefault(worker.shape, worker)
    return list(first.values())


def _run(join, *args):
    done = subprocess.run([sys.executable, "-I", os.path.abspath(__file__), *map(str, args)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                          check=True, timeout=LIMIT_SECONDS, preexec_fn=join)
    return float(done.stdout)


def measure(worker, join, directory):
    """Returns the Shares of a worker. join: called in a child, moves it into the worker's groups."""
    shares = []
    if worker.shape.cpus is not None:
        shares.append(Share(worker.name, "cores", worker.shape.cpus, _run(join, "cpu", worker.shape.cpus, CPU_SECONDS)))
    if worker.shape.disk is not None:
        file = os.path.join(directory, "disk-check")
        rate = _run(join, "disk", file, DISK_SECONDS)
        shares.append(Share(worker.name, "disk, MB/s", worker.shape.disk / 1e6, rate / 1e6))
    return shares


def spin(cores, seconds):
    begin, before = time.monotonic(), os.times()
    children = []
    for _ in range(min(math.ceil(cores), os.cpu_count())):
        child = os.fork()
        if child == 0:
            while time.monotonic() - begin < seconds:
                pass
            os._exit(0)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)
    after = os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return used / (time.monotonic() - begin)


def write(file, seconds):
    chunk = mmap.mmap(-1, DISK_CHUNK)  # aligned, as direct writes want it
    fd = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_DIRECT, 0o600)
    try:
        begin, written = time.monotonic(), 0
        while time.monotonic() - begin < seconds:
            written += os.pwrite(fd, chunk, written % DISK_FILE_BYTES)
        return written / (time.monotonic() - begin)
    finally:
        os.close(fd)
        os.unlink(file)


if __name__ == "__main__":
    if sys.argv[1] == "cpu":
        print(spin(float(sys.argv[2]), float(sys.argv[3])))
    else:
        print(write(sys.argv[2], float(sys.argv[3])))
