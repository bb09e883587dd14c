# SPDX-License-Identifier: Apache-2.0
"""The ground that chaos is let loose on: a Cluster of tests/cluster whose workers have, where root may make them, a link and a
small disk of their own, whose daemons have a wall clock that can be moved, and whose processes can be found again."""

import os
import shutil
import struct
import subprocess
import sys
import threading
import uuid

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "cluster"), os.path.join(HERE, "..", "bench")]
import cluster  # noqa: E402
from secure_cluster import SecureCluster  # noqa: E402
from suite import links  # noqa: E402

MARK = "MILLRACE_CHAOS"  # in the environment of every process of one run
INSIDE = "MILLRACE_CHAOS_INSIDE"
DISK_BYTES = 1 << 30
WHERE = "127.0.0.1:0"

# Short times, so that a minute sees what a day would.
SETTINGS = ["master.heartbeat=200ms", "master.lost_after=3s", "master.disconnect_grace=500ms", "master.startup_grace=4s",
            "dfs.lease_grace=3s", "dfs.copy_timeout=15s", "worker.copy_stall=5s", "worker.warm_idle=2s", "worker.unfinished_retention=10s", "worker.reserved_bytes=32MiB",
            "worker.executable_cache=64MiB"]


def enter():
    """Runs this program again in namespaces of its own for networks and mounts. Returns whether it is in them: root's alone."""
    if os.environ.get(INSIDE) == "inside":
        return True
    if os.geteuid() != 0 or subprocess.run(["unshare", "--net", "--mount", "true"], stderr=subprocess.DEVNULL).returncode != 0:
        return False
    os.environ[INSIDE] = "inside"
    os.execvp("unshare", ["unshare", "--net", "--mount", sys.executable, "-B", *sys.argv])


class Ground(cluster.Cluster):
    """Requires: a caller that joins threads of clients before it leaves the block."""
    longest_jump = 86400 * 400

    def __init__(self, workers, private, settings):
        super().__init__(workers=workers, racks=2, map_slots=2, reduce_slots=2, settings=SETTINGS + settings)
        self.private = private
        self.links = links.Links(workers, None) if private else None
        if private:
            self.address = f"{links.NETWORK}.1:7700"
        self.mark = uuid.uuid4().hex
        self.lock = threading.RLock()  # over starting and killing daemons
        self.clients = {}  # process id: words, of the commands that run
        self.clients_lock = threading.Lock()
        self.shim, self.sync_shim = self._build_shim("clock"), self._build_shim("sync")
        self._copy_programs()
        self.keep = False
        self.parted = False  # two workers do not reach each other

    def _copy_programs(self):
        """A run uses the programs as they are when it begins: it goes on while others are built."""
        programs = self.path("bin")
        shutil.copytree(cluster.BIN, programs)
        cluster.BIN, cluster.MILLRACE = programs, os.path.join(programs, "millrace")

    def _build_shim(self, name):
        compiler = shutil.which("cc")
        if compiler is None:
            return None
        target = self.path(f"{name}_shim.so")
        subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", target, os.path.join(HERE, f"{name}_shim.c"), "-ldl"], check=True)
        return target

    def __enter__(self):
        if self.private:
            for n in range(self.worker_count):
                os.mkdir(self.path(f"worker{n}"))
                subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "chaos", self.path(f"worker{n}")], check=True)
        return super().__enter__()

    def __exit__(self, kind, value, trace):
        logs = {name: self.path(name) for name in os.listdir(self.directory) if name.endswith(".log")} if self.keep else {}
        kept = {}
        for name, path in logs.items():
            with open(path, "rb") as f:
                kept[name] = f.read()
        super().__exit__(kind, value, trace)
        if self.private:
            for n in range(self.worker_count):
                subprocess.run(["umount", "-l", self.path(f"worker{n}")], check=False)
            shutil.rmtree(self.directory, ignore_errors=True)
            self.links.close()
        if kept:
            os.makedirs(self.keep, exist_ok=True)
            for name, data in kept.items():
                with open(os.path.join(self.keep, name), "wb") as f:
                    f.write(data)

    def _spawn(self, name, args, cgroup=None):
        environment = {**os.environ, MARK: self.mark}
        if self.shim:
            numbers = {"CHAOS_CLOCK": self.path(name + ".clock"), "CHAOS_SYNC": self.path(name + ".sync")}
            for path in numbers.values():
                if not os.path.exists(path):
                    with open(path, "wb") as f:
                        f.write(struct.pack("=q", 0))
            environment |= {"LD_PRELOAD": f"{self.shim} {self.sync_shim}", **numbers}
        command = [cluster.MILLRACE, *args]
        if self.private and name.startswith("worker"):
            n = int(name[len("worker"):])
            address = f"{links.NETWORK}.{10 + n}"
            command = [*self.links.inside(n), *command, "--set", f"worker.host={address}", "--set", f"worker.bind={address}"]
        with open(self.path(name + ".log"), "ab") as log:
            return subprocess.Popen(cluster.cgroups.within(cgroup, command), stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment)

    def move_clock(self, name, seconds):
        self._tell(name + ".clock", seconds)

    def slow_syncs(self, name, seconds):
        self._tell(name + ".sync", seconds)

    def _tell(self, file, seconds):
        with open(self.path(file), "r+b") as f:
            f.write(struct.pack("=q", int(seconds * 1e9)))

    # ---- clients

    def client(self, *words, input=None):
        """Runs millrace, however long it takes; gives (exit status, stdout, stderr). Any thread."""
        process = subprocess.Popen([cluster.MILLRACE, *words], env={**self.environment(), MARK: self.mark},
                                   stdin=subprocess.PIPE if input is not None else subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        with self.clients_lock:
            self.clients[process.pid] = words
        try:
            out, err = process.communicate(input)
        finally:
            with self.clients_lock:
                del self.clients[process.pid]
        return process.returncode, out, err

    # ---- processes

    def tasks(self):
        """Process ids of tasks: the children of the minders that are the children of workers."""
        workers = {p.pid for p in self.workers.values() if p.poll() is None}
        parents = _parents()
        return [pid for pid, parent in parents.items() if parents.get(parent) in workers]

    def marked(self):
        """Process ids of all that this run has started, whoever is their parent now."""
        found = []
        needle = f"{MARK}={self.mark}".encode()
        for pid in _parents():
            try:
                with open(f"/proc/{pid}/environ", "rb") as f:
                    if needle in f.read().split(b"\0"):
                        found.append(pid)
            except OSError:
                pass
        return found


class SecureGround(SecureCluster, Ground):
    """One whose daemons and clients have certificates. All is done by an administrator, who may change schedulers."""
    longest_jump = 3600  # of a clock: certificates end

    def __init__(self, workers, private, settings):
        super().__init__(workers, private, settings, users=["admin"])

    def __enter__(self):
        super().__enter__()
        self.tls = self.certificate_of("admin")
        return self

    def environment(self):
        return {name: value for name, value in super().environment().items() if name != "MILLRACE_WAIT"}  # clients wait, as without TLS


def _parents():
    parents = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as f:
                    fields = f.read().rpartition(b")")[2].split()
                if fields[0] != b"Z":
                    parents[int(name)] = int(fields[1])
            except OSError:
                pass
    return parents
