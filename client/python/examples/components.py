# SPDX-License-Identifier: Apache-2.0
"""Connected components: every node takes the least label of its neighbours, until a counter says that none has changed.

A line is "node label neighbour neighbour ..." with TABs between; at first a node is its own label. The output of a round is the
input of the next.
"""

import millrace

changed = millrace.counter("components", "changed")


@millrace.job
def components(line: str):
    node, label, *neighbours = line.split("\t")
    yield node, (True, label, neighbours)
    for neighbour in neighbours:
        yield neighbour, (False, label, [])


@components.reduce
def least(node, messages):
    own, neighbours, best = "", [], None
    for is_node, label, around in messages:
        if is_node:
            own, neighbours = label, around
        best = label if best is None else min(best, label)
    if best != own:
        changed.add()
    yield node, (best, *neighbours)


def until_stable(run_round):
    """Calls run_round(number), which runs the job on the output of the round before and returns its counters; returns the rounds."""
    number = 0
    while True:
        number += 1
        if not run_round(number).get(("components", "changed"), 0):
            return number


if __name__ == "__main__":
    import sys

    edges, place = sys.argv[1:3]  # the lines of the first round, and a directory for the rounds

    def on_cluster(number):
        return components.run(edges if number == 1 else f"{place}/{number - 1}", f"{place}/{number}").counters()

    print(f"stable after {until_stable(on_cluster)} rounds, in {place}")
