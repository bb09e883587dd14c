# SPDX-License-Identifier: Apache-2.0
"""What has to hold in a quiet spell: the faults are over, and within a bound everything has finished, is right, and has tidied up."""

import json
import os
import time

import faults


def _await(bound, look):
    """Calls `look` until it gives nothing; gives what it gave last when the bound is over."""
    end = time.monotonic() + bound
    while True:
        left = look()
        if not left or time.monotonic() > end:
            return left
        time.sleep(0.2)


def _ask(ground, *words):
    status, out, err = ground.client(*words)
    return (json.loads(out), "") if out else (None, err.decode(errors="replace").strip() or f"exit status {status}")


def workers_are_back(ground, bound):
    def look():
        nodes, why = _ask(ground, "node", "list", "--json")
        if nodes is None:
            return [f"the master does not answer: {why}"]
        alive = sum(node["state"] == "alive" for node in nodes)
        return [f"{alive} of {ground.worker_count} workers are alive"] if alive != ground.worker_count else []
    return _await(bound, look)


def clients_end(ground, threads, bound):
    end = time.monotonic() + bound
    for thread in threads:
        thread.join(max(0, end - time.monotonic()))
    if not any(thread.is_alive() for thread in threads):
        return []
    with ground.clients_lock:
        return [f"after {bound} s without a fault still runs: millrace {' '.join(words)}" for words in ground.clients.values()]


def jobs_end(ground, jobs, bound):
    """A job hangs when nothing of it moves for `bound` seconds. Those that do are killed, so that the next spell starts clean."""
    last, since = None, time.monotonic()
    while left := jobs.unfinished():
        now = [(job["job"], job["maps"], job["reduces"], job["copy_fraction"], job["failed_attempts"], job["killed_attempts"]) for job in left]
        if now != last:
            last, since = now, time.monotonic()
        if time.monotonic() - since > bound:
            break
        time.sleep(0.2)
    wrong = [f"job {job['name']} (job{job['job']}) hangs: nothing of it moves for {bound:.0f} s; {job['state']}, maps {job['maps']['done']} of "
             f"{job['maps']['total']}, reduces {job['reduces']['done']} of {job['reduces']['total']} "
             f"({job['maps']['running']} and {job['reduces']['running']} run)" for job in left]
    for job in left:
        ground.client("job", "kill", str(job["job"]))
    return wrong


def blocks_are_healthy(ground, bound):
    def look():
        health, why = _ask(ground, "fs", "fsck", "--json")
        if health is None:
            return [f"fsck does not answer: {why}"]
        return [f"fsck: {health[key]} {key.replace('_', ' ')}" + (f", the first of {health['unhealthy'][0]['path']}" if health["unhealthy"] else "")
                for key in ("missing", "corrupt_replicas", "under_replicated", "over_replicated", "unknown_blocks") if health[key]]
    return _await(bound, look)


def nothing_is_left(ground, bound):
    def look():
        left = []
        nodes = _ask(ground, "node", "list", "--json")[0] or []
        held = sum(node["blocks"] for node in nodes if node["state"] == "alive")
        files = sum(1 for n in range(ground.worker_count) for _ in faults._block_files(ground.path(f"worker{n}", "blocks")))
        if held != files:
            left.append(f"the master knows of {held} replicas, on the disks are {files}")
        for n in range(ground.worker_count):
            for directory in ("writing", "jobs"):
                found = [os.path.join(at, name) for at, _, names in os.walk(ground.path(f"worker{n}", directory)) for name in names]
                left += [f"left behind: {os.path.relpath(path, ground.directory)}" for path in sorted(found)[:5]]
        daemons = {ground.master.pid, *(worker.pid for worker in ground.workers.values())}
        holders = {holder.pid for holder in ground.links.holders} if ground.links else set()
        for pid in set(ground.marked()) - daemons - holders - {os.getpid()}:
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as f:
                    left.append(f"left behind: process {pid}: {f.read().replace(bytes(1), b' ').decode(errors='replace')}")
            except OSError:
                pass
        return left
    return _await(bound, look)
