# SPDX-License-Identifier: Apache-2.0
"""Joins users ("id name") with their orders ("id item"): a map for each of the two inputs, and values that sort users first."""

import millrace


def users(line: str):
    user, name = line.split(" ", 1)
    yield (user, 0), name


def orders(line: str):
    user, item = line.split(" ", 1)
    yield (user, 1), item


@millrace.job(inputs=[users, orders], group=1)
def orders_join(user, records):
    name = None
    for (_, is_order), text in records:
        if not is_order:
            name = text
        elif name is not None:
            yield name, text
