#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The job with the fewest tasks left first."""

import millrace


class Shortest(millrace.Policy):
    def order(self, cluster, kind):
        return sorted(cluster.jobs, key=lambda job: (job.remaining("map") + job.remaining("reduce"), job.order))


if __name__ == "__main__":
    millrace.serve(Shortest)
