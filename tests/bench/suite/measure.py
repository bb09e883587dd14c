# SPDX-License-Identifier: Apache-2.0
"""What a run costs: wall time, CPU time and memory of trees of processes.

CPU: user and system time from /proc/PID/stat of every process below the roots, with that of their ended children, so that
nothing is lost when a task process ends. Memory: the sum of RssAnon and RssShmem (pages of mapped files are the page
cache's) over the same processes, sampled every 50 ms; the peak of the sums.
"""

import mmap
import os
import subprocess
import tempfile
import threading
import time

_TICK = os.sysconf("SC_CLK_TCK")


def _stat(pid):
    """(parent, CPU seconds with ended children), or None when the process is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as f:
            fields = f.read().rpartition(b")")[2].split()
    except OSError:
        return None
    return int(fields[1]), sum(int(x) for x in fields[11:15]) / _TICK


def _tree(roots):
    """CPU seconds by pid, of the roots and all below them."""
    stats = {int(name): _stat(name) for name in os.listdir("/proc") if name.isdigit()}
    stats = {pid: stat for pid, stat in stats.items() if stat}
    children = {}
    for pid, (parent, _) in stats.items():
        children.setdefault(parent, []).append(pid)
    found, todo = {}, [pid for pid in roots if pid in stats]
    while todo:
        pid = todo.pop()
        if pid not in found:
            found[pid] = stats[pid][1]
            todo += children.get(pid, [])
    return found


def cpu_seconds(roots):
    """Of the processes with these ids and all below them, with that of their ended children."""
    return sum(_tree(roots).values())


def _private_bytes(pid):
    total = 0
    try:
        with open(f"/proc/{pid}/status", "rb") as f:
            for line in f:
                if line.startswith((b"RssAnon:", b"RssShmem:")):
                    total += int(line.split()[1]) * 1024
    except OSError:
        pass
    return total


class _Sampler(threading.Thread):
    def __init__(self, roots):
        super().__init__(daemon=True)
        self.roots, self.peak, self.done = roots, 0, threading.Event()

    def run(self):
        while True:
            self.peak = max(self.peak, sum(_private_bytes(pid) for pid in _tree(self.roots)))
            if self.done.wait(0.05):
                return


def timed(commands, daemons=(), env=None, cwd=None):
    """Runs the commands (argument lists; a string is a shell's) at once and to their end; what they and the daemons cost.

    A command that fails ends the benchmark with what it said.
    """
    before = cpu_seconds(daemons)
    started = time.monotonic()
    running = [subprocess.Popen(c, shell=isinstance(c, str), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=env, cwd=cwd)
               for c in commands]
    sampler = _Sampler([*daemons, *(p.pid for p in running)])
    sampler.start()
    cpu = 0.0
    for process, command in zip(running, commands):
        said = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        cpu += usage.ru_utime + usage.ru_stime
        if process.returncode != 0:
            raise SystemExit(f"{command}: exit status {process.returncode}\n{said.decode(errors='replace')}")
    wall = time.monotonic() - started
    sampler.done.set()
    sampler.join()
    cpu += cpu_seconds(daemons) - before
    return {"wall": wall, "cpu": cpu, "memory": sampler.peak}


def settle(paths, reserve):
    """Before a timed run, which is to go on in `with`: what it reads is in the page cache, and there are `reserve` bytes of Warm memory."""
    buffer = bytearray(1 << 20)
    for path in paths:
        try:
            with open(path, "rb", buffering=0) as f:
                while f.readinto(buffer):
                    pass
        except FileNotFoundError:  # a block of a file that was removed
            pass
    return Warm(reserve)


class Warm:
    """Memory for a run that the host has given us, handed out while it goes on.

    A virtual machine gives free memory back to its host, and the first touch after that goes at 0.4 to 0.7 GB/s where others go at 20. It
    does so two seconds after memory became free. So touching before the run is enough for a run of a second; for a longer one memory
    that was touched is held and becomes free piece by piece.
    """
    _PIECE, _FIRST, _EVERY = 128 << 20, 2 << 30, 0.2

    def __init__(self, reserve):
        self._pieces, self._done = [], threading.Event()
        for _ in range(reserve // self._PIECE):
            piece = mmap.mmap(-1, self._PIECE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)  # shared memory takes ten times as long to free
            piece.madvise(mmap.MADV_HUGEPAGE)
            for at in range(0, self._PIECE, mmap.PAGESIZE):
                piece[at] = 1
            self._pieces.append(piece)
        self._thread = threading.Thread(target=self._hand_out, daemon=True)

    def _hand_out(self):
        while self._pieces and not self._done.wait(self._EVERY):
            self._pieces.pop().close()

    def __enter__(self):
        for _ in range(min(len(self._pieces), self._FIRST // self._PIECE)):
            self._pieces.pop().close()
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._done.set()
        self._thread.join()
        while self._pieces:
            self._pieces.pop().close()


def warm_for(size):
    """Bytes of Warm memory for a run with so many bytes of input."""
    half = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    return min(24 * size, 6 << 30, half)


def bytes_below(directory):
    """Of all files there."""
    total = 0
    for at, _, names in os.walk(directory):
        for name in names:
            try:
                total += os.stat(os.path.join(at, name)).st_size
            except FileNotFoundError:  # removed while we look
                pass
    return total


PROGRAMS = 64 << 20  # what a run may leave: executables of jobs, journals, logs
_CALM, _CALM_SYNCS, _PATIENCE = 0.05, 3, 60.0


def forget(directory, left):
    """Returns when at most `left` bytes are below the directory, whose owners remove the others, and the disk has done with them.

    A file system that discards what was freed does so at a later commit, for a second a GB, and whoever syncs waits for it: without
    this the removal of one run's output is paid by the next run. So small files are synced until that takes no time.
    """
    started, calm = time.monotonic(), 0
    while bytes_below(directory) > left:
        if time.monotonic() - started > _PATIENCE:
            raise SystemExit(f"{directory}: more than {left} bytes are still there {_PATIENCE:.0f} s after they were removed")
        time.sleep(0.05)
    os.sync()
    while calm < _CALM_SYNCS and time.monotonic() - started < _PATIENCE:
        before = time.monotonic()
        with tempfile.TemporaryFile(dir=directory) as probe:
            probe.write(b"x")
            probe.flush()
            os.fsync(probe.fileno())
        calm = calm + 1 if time.monotonic() - before < _CALM else 0
