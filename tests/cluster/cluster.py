# SPDX-License-Identifier: Apache-2.0
"""A cluster of real daemons in a temporary directory, for tests that see Millrace as its users do.

Ports are picked by the kernel, readiness is waited for by event (inotify), and everything is stopped and removed at the end.
The program under test is $MILLRACE_BIN/millrace (set by CTest).
"""

import ctypes
import os
import random
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile

import cgroups

BIN = os.environ.get("MILLRACE_BIN") or sys.exit("set MILLRACE_BIN to the directory of the millrace program")
MILLRACE = os.path.realpath(os.path.join(BIN, "millrace"))
BIN = os.path.dirname(MILLRACE)  # which has the jobs, too, as bin of a build has not
LIMIT_SECONDS = 240  # on anything that a test waits for

_libc = ctypes.CDLL(None, use_errno=True)
_IN_MOVED_TO, _IN_CREATE, _IN_CLOSE_WRITE, _IN_MODIFY = 0x80, 0x100, 0x8, 0x2


def await_file(path, process):
    """Returns when `path` exists; fails if `process` ends before."""
    directory = os.path.dirname(path)
    fd = _libc.inotify_init1(os.O_CLOEXEC)
    try:
        if _libc.inotify_add_watch(fd, directory.encode(), _IN_MOVED_TO | _IN_CREATE | _IN_CLOSE_WRITE) < 0:
            raise OSError(ctypes.get_errno(), "inotify")
        pid = os.pidfd_open(process.pid)
        try:
            poll = select.poll()
            poll.register(fd, select.POLLIN)
            poll.register(pid, select.POLLIN)
            while not os.path.exists(path):
                ready = dict(poll.poll(LIMIT_SECONDS * 1000))
                if not ready or (pid in ready and not os.path.exists(path)):
                    raise AssertionError(f"{path} did not appear (exit status {process.poll()})")
                if fd in ready:
                    os.read(fd, 65536)
        finally:
            os.close(pid)
    finally:
        os.close(fd)


def await_line(path, text, seen=0):
    """Returns when the file holds `text` after its first `seen` bytes."""
    fd = _libc.inotify_init1(os.O_CLOEXEC)
    try:
        if _libc.inotify_add_watch(fd, path.encode(), _IN_MODIFY) < 0:
            raise OSError(ctypes.get_errno(), "inotify")
        poll = select.poll()
        poll.register(fd, select.POLLIN)
        while True:
            with open(path, "rb") as f:
                f.seek(seen)
                if text in f.read():
                    return
            if not poll.poll(LIMIT_SECONDS * 1000):
                raise AssertionError(f"{path} does not say {text!r}")
            os.read(fd, 65536)
    finally:
        os.close(fd)


class Cluster:
    """with Cluster(workers=3) as c: c.run("fs", "ls", "/")"""

    def __init__(self, workers=3, racks=1, map_slots=1, reduce_slots=1, settings=(), datacenters=1, cgroups_of_workers=False):
        """cgroups_of_workers: each worker is started in a cgroup of its own, if that can be."""
        self.worker_count = workers
        self.racks = racks
        self.datacenters = datacenters
        self.settings = list(settings)
        # Archived logs are blocks that come some time after a job has ended; a test that counts blocks or bytes wants none of them.
        if not any(setting.startswith("master.job_logs_keep=") for setting in self.settings):
            self.settings.append("master.job_logs_keep=0")
        self.slots = (map_slots, reduce_slots)
        self.cgroups_of_workers = cgroups_of_workers
        self.directory = tempfile.mkdtemp(prefix="millrace-test-")
        os.environ["XDG_STATE_HOME"] = self.directory  # what commands remember of clusters ends with this one
        self.address = None
        self.master = None
        self.workers = {}

    def path(self, *parts):
        return os.path.join(self.directory, *parts)

    def __enter__(self):
        try:
            if self.cgroups_of_workers:
                cgroups.make_room()
            self.id = self.init_master()
            self.start_master()
            for n in range(self.worker_count):
                self.start_worker(n)
        except BaseException:
            self.__exit__(*sys.exc_info())
            raise
        return self

    def __exit__(self, kind, value, trace):
        processes = [p for p in [*self.workers.values(), self.master] if p is not None]
        for process in processes:
            if process.poll() is None:
                process.terminate()
        for process in processes:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        if kind is not None:
            for name in sorted(os.listdir(self.directory)):
                if name.endswith(".log"):
                    with open(self.path(name), errors="replace") as log:
                        print(f"---- {name}\n{log.read()[-6000:]}", file=sys.stderr)
        subprocess.run(["rm", "-rf", self.directory], stderr=subprocess.DEVNULL, check=False)  # shutil gives up at a thousand levels

    def _spawn(self, name, args, cgroup=None):
        with open(self.path(name + ".log"), "ab") as log:
            return subprocess.Popen(cgroups.within(cgroup, [MILLRACE, *args]), stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def _set(self, prefixes):
        out = []
        for setting in self.settings:
            if setting.split(".")[0] in prefixes:
                out += ["--set", setting]
        return out

    def init_master(self, directory=None, status=0):
        """Makes a new cluster; gives its id, or what was said against it."""
        done = subprocess.run([MILLRACE, "master", "--init", "--set", f"master.directory={directory or self.path('master')}"], capture_output=True,
                              stdin=subprocess.DEVNULL, timeout=LIMIT_SECONDS)
        assert done.returncode == status, (done.returncode, done.stdout, done.stderr)
        return (done.stdout if status == 0 else done.stderr).decode().strip()

    def start_master(self):
        file = self.path("address")
        if os.path.exists(file):
            os.unlink(file)
        bind = self.address or "127.0.0.1:0"  # after a restart the same port, so that workers find it
        args = ["master", "--set", f"master.bind={bind}", "--set", f"master.directory={self.path('master')}", "--set", f"master.address_file={file}"]
        self.master = self._spawn("master", args + self._set(("master", "dfs", "access", "audit", "metrics", "trace")))
        await_file(file, self.master)
        with open(file) as f:
            self.address = f.read().strip()

    def start_worker(self, n, settings=(), wait=True):
        """wait: until the master has taken the worker in."""
        ready = self.path(f"ready{n}")
        if os.path.exists(ready):
            os.unlink(ready)
        options = {
            "worker.master": self.address,
            "worker.port": 0,
            "worker.directory": self.path(f"worker{n}"),
            "worker.rack": f"/rack{n % self.racks}",
            "worker.datacenter": f"dc{n % self.datacenters}",
            "worker.map_slots": self.slots[0],
            "worker.reduce_slots": self.slots[1],
            "worker.ready_file": ready,
            "worker.sandbox": "off",  # jobs of tests leave marks in files around them; tests/worker/hostile confines
        }
        args = ["worker"]
        for key, value in options.items():
            args += ["--set", f"{key}={value}"]
        for setting in settings:
            args += ["--set", setting]
        cgroup = cgroups.for_daemon(os.path.basename(self.directory) + f"-worker{n}") if self.cgroups_of_workers else None
        self.workers[n] = self._spawn(f"worker{n}", args + self._set(("worker", "task", "metrics")), cgroup)
        if wait:
            await_file(ready, self.workers[n])

    def stop_master(self, with_signal=signal.SIGTERM):
        """Asks it to stop; gives its exit status."""
        self.master.send_signal(with_signal)
        return self.master.wait(LIMIT_SECONDS)

    def log(self, name):
        with open(self.path(name + ".log"), errors="replace") as f:
            return f.read()

    def kill_master(self):
        self.master.send_signal(signal.SIGKILL)
        self.master.wait()

    def kill_worker(self, n):
        self.workers[n].send_signal(signal.SIGKILL)
        self.workers[n].wait()

    def environment(self):
        return {**os.environ, "MILLRACE_MASTER": self.address, "LC_ALL": "C", "PATH": os.environ["PATH"] + os.pathsep + BIN}

    def run(self, *args, status=0, input=None, cwd=None):
        """Runs millrace; checks its exit status, unless that may be any (None); gives (stdout, stderr) as bytes."""
        done = subprocess.run([MILLRACE, *args], env=self.environment(), input=input, capture_output=True, timeout=LIMIT_SECONDS, cwd=cwd,
                              stdin=None if input is not None else subprocess.DEVNULL)
        if status is not None and done.returncode != status:
            raise AssertionError(f"millrace {args}: exit status {done.returncode}, not {status}\n{done.stdout.decode(errors='replace')}{done.stderr.decode(errors='replace')}")
        return done.stdout, done.stderr

    def start(self, *args):
        return subprocess.Popen([MILLRACE, *args], env=self.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def start_writer(self, path, *flags):
        """A put from standard input that has the file open when this returns, and waits for more."""
        writer = subprocess.Popen([MILLRACE, "fs", "put", "--progress", "plain", *flags, "-", path], env=self.environment(), stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        writer.stdin.write(b"begin")
        writer.stdin.flush()
        line = writer.stderr.readline()
        assert b"writing" in line, line
        return writer

    def output(self, directory):
        """All part files of a job's output, each by name."""
        target = self.path("got-" + directory.strip("/").replace("/", "_"))
        self.run("fs", "get", directory, target)
        parts = {}
        for name in sorted(os.listdir(target)):
            if name.startswith("part-"):
                with open(os.path.join(target, name), "rb") as f:
                    parts[name] = f.read()
        assert os.path.exists(os.path.join(target, "_SUCCESS"))
        shutil.rmtree(target)
        return parts


def shell(command, cwd=None):
    """What coreutils and mawk make of the same files."""
    return subprocess.run(["sh", "-c", command], env={**os.environ, "LC_ALL": "C"}, cwd=cwd, stdout=subprocess.PIPE, check=True, timeout=LIMIT_SECONDS).stdout


def words(seed, count, vocabulary=5000):
    """Lines of random words: bytes, about 7 a word."""
    rng = random.Random(seed)
    lexicon = ["".join(rng.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(rng.randint(1, 12))) for _ in range(vocabulary)]
    out = []
    while count > 0:
        line = [lexicon[min(int(rng.paretovariate(0.8)) - 1, vocabulary - 1)] for _ in range(rng.randint(0, 12))]
        count -= len(line) + 1
        out.append(" ".join(line))
    return ("\n".join(out) + "\n").encode()
