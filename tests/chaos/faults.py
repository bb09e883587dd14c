# SPDX-License-Identifier: Apache-2.0
"""The faults. A kind is a callable of the ground and a source of random numbers: it does something bad and gives a Fault, or None
when there is nothing to hit just now. No kind does what no system could survive: of each block a whole replica is left.

Thread rule: the thread of the spell."""

import os
import signal
import subprocess


class Fault:
    """One that holds: heal() is called once, at the latest when the spell ends."""

    def __init__(self, what, seconds, heal):
        self.what, self.seconds, self.heal = what, seconds, heal


def _signal(pids, number):
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass


def _stop(what, pids, seconds):
    _signal(pids, signal.SIGSTOP)
    return Fault(f"{what} stopped for {seconds:.1f} s", seconds, lambda: _signal(pids, signal.SIGCONT))


def kill_master(ground, rng):
    with ground.lock:
        if ground.master.poll() is not None:
            return None
        ground.kill_master()
    down = rng.choice([0, 0, 0.5, 2, 6])
    return Fault(f"master killed, back after {down} s", down, ground.start_master)


def kill_worker(ground, rng):
    n = rng.randrange(ground.worker_count)
    with ground.lock:
        if ground.workers[n].poll() is not None:
            return None
        ground.kill_worker(n)
    down = rng.choice([0, 0, 1, 4, 8])
    return Fault(f"worker {n} killed, back after {down} s", down, lambda: ground.start_worker(n, wait=False))


def kill_task(ground, rng):
    tasks = sorted(ground.tasks())
    if not tasks:
        return None
    pid = rng.choice(tasks)
    _signal([pid], signal.SIGKILL)
    return Fault("task killed", 0, lambda: None)


def stop_task(ground, rng):
    tasks = sorted(ground.tasks())
    return _stop("task", [rng.choice(tasks)], rng.uniform(1, 15)) if tasks else None


def stop_worker(ground, rng):
    n = rng.randrange(ground.worker_count)
    return _stop(f"worker {n}", [ground.workers[n].pid], rng.uniform(0.5, 10)) if ground.workers[n].poll() is None else None


def stop_master(ground, rng):
    return _stop("master", [ground.master.pid], rng.uniform(0.5, 8)) if ground.master.poll() is None else None


def stop_client(ground, rng):
    with ground.clients_lock:
        clients = sorted(ground.clients.items())
    if not clients:
        return None
    pid, words = rng.choice(clients)
    return _stop(f"client ({' '.join(words[:2])})", [pid], rng.uniform(1, 12))


def full_disk(ground, rng):
    n = rng.randrange(ground.worker_count)
    filler = ground.path(f"worker{n}", "filler")
    if not ground.private or os.path.exists(filler):
        return None
    leave = rng.choice([0, 0, 1 << 20, 40 << 20])
    with open(filler, "wb") as f:
        free = os.fstatvfs(f.fileno())
        try:
            os.posix_fallocate(f.fileno(), 0, max(1, free.f_bavail * free.f_bsize - leave))
        except OSError:
            pass  # somebody wrote meanwhile: what was taken is full enough
    seconds = rng.uniform(2, 12)
    return Fault(f"disk of worker {n} filled but for {leave >> 20} MiB, for {seconds:.1f} s", seconds, lambda: os.unlink(filler))


def cut_link(ground, rng):
    if not ground.private:
        return None
    n, way, seconds = rng.randrange(ground.worker_count), rng.choice(["from", "to", "both"]), rng.uniform(0.5, 9)
    inside, drop = ground.links.inside(n), ["root", "bfifo", "limit", "1"]  # a queue of one byte takes no packet
    ends = [end for end, ways in (([*inside, "tc", "qdisc", "{}", "dev", "wire"], ("from", "both")),
                                  (["tc", "qdisc", "{}", "dev", f"port{n}"], ("to", "both"))) if way in ways]

    def change(verb, rest):
        for end in ends:
            subprocess.run([word.format(verb) for word in end] + rest, check=False, stderr=subprocess.DEVNULL)

    change("replace", drop)
    return Fault(f"link of worker {n} cut ({way}) for {seconds:.1f} s", seconds, lambda: change("del", ["root"]))


def part_workers(ground, rng):
    """A worker that its master reaches loses some of the other workers, or all."""
    if not ground.private or ground.parted:
        return None
    n = rng.randrange(ground.worker_count)
    others = [m for m in range(ground.worker_count) if m != n]
    others = rng.sample(others, rng.choice([1, len(others), len(others)]))
    seconds = rng.uniform(3, 25)
    ground.parted = True
    ground.links.part(n, others)

    def heal():
        ground.links.part(n, others, apart=False)
        ground.parted = False

    return Fault(f"worker {n} and workers {others} apart for {seconds:.1f} s", seconds, heal)


def slow_disk(ground, rng):
    if not ground.shim:
        return None
    name, delay, seconds = f"worker{rng.randrange(ground.worker_count)}", rng.choice([0.5, 2, 5, 15]), rng.uniform(3, 40)
    ground.slow_syncs(name, delay)
    return Fault(f"each sync of {name} takes {delay} s more for {seconds:.1f} s", seconds, lambda: ground.slow_syncs(name, 0))


def jump_clock(ground, rng):
    if not ground.shim:
        return None
    name = rng.choice(["master", "master", f"worker{rng.randrange(ground.worker_count)}"])
    jump = rng.choice([-ground.longest_jump, -3600, -30, -2, 2, 30, 3600, ground.longest_jump])
    ground.move_clock(name, jump)
    return Fault(f"wall clock of {name} at {jump:+} s", rng.uniform(1, 20), lambda: ground.move_clock(name, 0))


class Rot:
    """Flipped and truncated bytes in block files and checksum files. Remembers what it damaged, until the file is gone or new."""

    def __init__(self):
        self.damaged = {}  # (worker, block): identity of the file that was damaged

    def __call__(self, ground, rng):
        replicas = {}
        for n in range(ground.worker_count):
            for path in _block_files(ground.path(f"worker{n}", "blocks")):
                replicas.setdefault(os.path.basename(path), {})[n] = path
        self.damaged = {key: what for key, what in self.damaged.items() if _identity(replicas.get(key[1], {}).get(key[0])) == what}
        taken = {block for _, block in self.damaged}
        fit = sorted(block for block, at in replicas.items() if len(at) >= 2 and block not in taken)
        if not fit:
            return None
        block = rng.choice(fit)
        n = rng.choice(sorted(replicas[block]))
        path, data = replicas[block][n], rng.random() < 0.7
        try:
            self.damaged[n, block] = _identity(path)
            return Fault(f"replica of block {block} on worker {n}: {_spoil(path if data else path + '.crc', rng)}", 0, lambda: None)
        except OSError:
            return None  # deleted meanwhile


def _block_files(directory):
    for shelf in _list(directory):
        for name in _list(os.path.join(directory, shelf)):
            if "." not in name:
                yield os.path.join(directory, shelf, name)


def _list(directory):
    try:
        return os.listdir(directory)
    except OSError:
        return []


def _identity(path):
    try:
        return os.stat(path).st_ino if path else None
    except OSError:
        return None


def _spoil(path, rng):
    size, name = os.path.getsize(path), "checksums" if path.endswith(".crc") else "data"
    if size == 0 or rng.random() < 0.3:
        os.truncate(path, size * rng.randrange(100) // 100)
        return f"{name} truncated"
    with open(path, "r+b") as f:
        at = rng.randrange(size)
        f.seek(at)
        byte = f.read(1)[0]
        f.seek(at)
        f.write(bytes([byte ^ (1 << rng.randrange(8))]))
    return f"{name} with a bit flipped"


def kinds():
    """All kinds by name. A fresh Rot: what it remembers belongs to one ground."""
    return {"kill-master": kill_master, "kill-worker": kill_worker, "kill-task": kill_task, "stop-master": stop_master,
            "stop-worker": stop_worker, "stop-task": stop_task, "stop-client": stop_client, "full-disk": full_disk, "rot": Rot(),
            "cut-link": cut_link, "jump-clock": jump_clock, "part-workers": part_workers, "slow-disk": slow_disk}


NEED_ROOT = ("full-disk", "cut-link", "part-workers")
