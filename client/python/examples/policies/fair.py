#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fair as a program, for pools without settings: slots are shared fairly among the pools that can use them, and a pool's share among its
jobs by priority. It decides as the built-in one does (docs/schedulers/policies.md#fair)."""

from fractions import Fraction

import millrace

WEIGHTS = {"VERY_HIGH": 4, "HIGH": 2, "NORMAL": 1, "LOW": Fraction(1, 2), "VERY_LOW": Fraction(1, 4)}  # of a job in its pool
UNIT = 65536  # shares of a pool's jobs are counted in these parts of a slot


class Claim:
    """What somebody runs and could run, and what part of the slots is his."""

    def __init__(self, name, weight, demand, running):
        self.name, self.weight, self.demand, self.running = name, weight, demand, running
        self.share = Fraction(0)

    def rank(self):
        return (self.running / self.share if self.share else float("inf"), self.name)


def share_out(capacity, claims):
    """Raises the level of all until the slots are given out; who needs less than his part gets what he needs."""
    level, left, fixed = Fraction(0), sum((claim.weight for claim in claims), Fraction(0)), Fraction(0)
    for claim in sorted(claims, key=lambda claim: Fraction(claim.demand) / claim.weight):
        if left * claim.demand > (capacity - fixed) * claim.weight:
            break
        fixed += claim.demand
        left -= claim.weight
        claim.share = Fraction(claim.demand)
    if left:
        level = (capacity - fixed) / left
    for claim in claims:
        claim.share = min(Fraction(claim.demand), level * claim.weight) if left else Fraction(claim.demand)
    return sorted(claims, key=Claim.rank)


class Fair(millrace.Policy):
    kind = "assignment"

    def order(self, cluster, kind):
        pools = {}
        for job in cluster.jobs:
            pools.setdefault(job.pool, []).append(job)
        claims = [Claim(name, Fraction(1), sum(job.demand(kind) for job in jobs), sum(job.running(kind) for job in jobs)) for name, jobs in pools.items()]
        for pool in share_out(Fraction(cluster.slots[kind]), claims):
            slots = Fraction(int(pool.share * UNIT), UNIT)
            jobs = [Claim(int(job.id[3:]), Fraction(WEIGHTS[job.priority]), job.demand(kind), job.running(kind)) for job in pools[pool.name]]
            for claim in share_out(slots, jobs):
                yield f"job{claim.name}"


if __name__ == "__main__":
    millrace.serve(Fair)
