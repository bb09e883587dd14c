#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kills the master at a random moment of a job's map phase and starts it again at once, many times over.

Each round is a wordcount of 28 maps of 1 MiB and 4 reduces on 4 workers: when a random number of its maps is done the master is killed with SIGKILL. The
job has to end within the limit, with the output of the undisturbed run. Prints one line a round and a summary; exit status 1
if a round hung or went wrong.

  MILLRACE_BIN=build/release/bin tests/chaos/master_kills.py [--times N] [--seed S] [--limit SECONDS]
"""

import argparse
import json
import os
import random
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cluster"))
from cluster import Cluster, words  # noqa: E402

MAPS, REDUCES, WORKERS = 28, 4, 4


def result(cluster, out):
    return b"".join(sorted(line for part in cluster.output(out).values() for line in part.splitlines(keepends=True)))


def submit(cluster, out):
    # Blocks are packed into maps otherwise.
    answer, _ = cluster.run("run", "wordcount", "/text", "-o", out, "--reducers", str(REDUCES), "-D", "job.pack=0", "--detach")
    return answer.split()[-1].decode()


def status(cluster, job):
    return json.loads(cluster.run("job", "status", "--json", job)[0])


def await_maps(cluster, job, wanted):
    """Returns when so many maps are done, or the job has ended."""
    while True:
        now = status(cluster, job)
        if now["maps"]["done"] >= wanted or now["state"] not in ("waiting", "running"):
            return now["maps"]["done"]


def await_end(cluster, job, limit):
    """True if the job succeeded within the limit; None if it did not end."""
    waiting = cluster.start("job", "wait", job)
    try:
        waiting.communicate(timeout=limit)
        return waiting.returncode == 0
    except subprocess.TimeoutExpired:
        waiting.kill()
        waiting.communicate()
        return None


def play(cluster, number, rng, limit, right):
    out = f"/out{number}"
    job = submit(cluster, out)
    wanted = rng.randrange(MAPS)
    done = await_maps(cluster, job, wanted)
    cluster.kill_master()
    begin = time.monotonic()
    cluster.start_master()
    ended = await_end(cluster, job, limit)
    seconds = time.monotonic() - begin
    verdict = "ok"
    if ended is None:
        verdict = "HUNG: " + json.dumps(status(cluster, job))
        cluster.run("job", "kill", job)
    elif not ended:
        verdict = "FAILED"
    elif result(cluster, out) != right:
        verdict = "WRONG OUTPUT"
    print(f"{number}: killed with {done} maps done (drawn {wanted}); {seconds:.1f} s to the end; {verdict}", flush=True)
    if ended is not None:
        cluster.run("fs", "rm", "-r", out)
    return verdict, seconds


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--times", type=int, default=25)
    arguments.add_argument("--seed", type=int, default=int(time.time()))
    arguments.add_argument("--limit", type=float, default=120, help="seconds after which a job that has not ended hangs")
    given = arguments.parse_args()
    print(f"seed {given.seed}", flush=True)
    rng = random.Random(given.seed)
    verdicts = []
    with Cluster(workers=WORKERS, map_slots=2, reduce_slots=2) as cluster:
        with open(cluster.path("text"), "wb") as text:
            text.write(words(given.seed, MAPS << 20)[: MAPS << 20])
        cluster.run("fs", "put", "--block-size", "1M", "--replication", "2", cluster.path("text"), "/text")
        cluster.run("job", "wait", submit(cluster, "/right"))
        right = result(cluster, "/right")
        for number in range(given.times):
            verdicts.append(play(cluster, number, rng, given.limit, right))
    bad = [verdict for verdict, _ in verdicts if verdict != "ok"]
    seconds = sorted(seconds for verdict, seconds in verdicts if verdict == "ok") or [0]
    print(f"{len(verdicts)} rounds, {len(bad)} bad ({sum(v.startswith('HUNG') for v in bad)} hung); "
          f"median {seconds[len(seconds) // 2]:.1f} s, longest {seconds[-1]:.1f} s")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
