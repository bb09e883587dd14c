#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fifo as a program: the highest priority first, then the earliest submission. It decides as the built-in one does."""

import millrace

PRIORITIES = ("VERY_HIGH", "HIGH", "NORMAL", "LOW", "VERY_LOW")


class Fifo(millrace.Policy):
    kind = "assignment"

    def order(self, cluster, kind):
        return sorted(cluster.jobs, key=lambda job: (PRIORITIES.index(job.priority), job.order))


if __name__ == "__main__":
    millrace.serve(Fifo)
