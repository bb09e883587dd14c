#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Jobs in the order of a weighted sum of what is known of each, the smallest first. With these weights it is fifo without priorities;
evolve.py searches for better ones."""

import math

import millrace

WEIGHTS = {"age": -1.0, "work": 0.0, "tasks": 0.0, "slots": 0.0, "share": 0.0, "progress": 0.0}


def features(job, cluster, kind):
    """What the weights are for, each of about the size of 1."""
    seconds = sum(job.remaining(of) * (job.task_time(of) or 5_000_000) for of in ("map", "reduce")) / 1e6
    held = job.running("map") + job.running("reduce")
    pool = [other for other in cluster.jobs_by_id.values() if other.pool == job.pool]
    tasks = job.maps + job.reduces
    return {
        "age": (cluster.now - job.submitted) / 60e6,
        "work": math.log1p(seconds) / 5,
        "tasks": math.log1p(job.remaining(kind)) / 3,
        "slots": held / max(1, cluster.slots["map"] + cluster.slots["reduce"]),
        "share": sum(other.running(kind) for other in pool) / max(1, cluster.slots[kind]),
        "progress": (job.maps_done + job.reduces_done) / max(1, tasks),
    }


class Weighted(millrace.Policy):
    def order(self, cluster, kind):
        def rank(job):
            found = features(job, cluster, kind)
            return sum(WEIGHTS[name] * found[name] for name in WEIGHTS), job.order

        return sorted(cluster.jobs, key=rank)


if __name__ == "__main__":
    millrace.serve(Weighted)
