# SPDX-License-Identifier: Apache-2.0
"""The k largest of "name number": each map sends its k largest when it has read all, and one reduce takes the largest of these."""

import heapq

import millrace

largest: list[tuple[int, str]] = []


@millrace.job(options={"k": 10})
def top_k(line: str):
    name, number = line.rsplit(" ", 1)
    item = (int(number), name)
    if len(largest) < millrace.option("k"):
        heapq.heappush(largest, item)
    else:
        heapq.heappushpop(largest, item)


@top_k.start
def begin():
    largest.clear()  # the process may have run other maps before


@top_k.finish
def send():
    for item in largest:
        yield None, item


@top_k.reduce
def take(_, items):
    for number, name in heapq.nlargest(millrace.option("k"), items):
        yield name, number
