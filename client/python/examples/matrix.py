# SPDX-License-Identifier: Apache-2.0
"""X^T X of a tall matrix by numpy: a line is a row, each batch of rows gives a small matrix, and the reduce adds these."""

import numpy as np

import millrace


@millrace.job(output="json")
def gram(lines: list[str]):
    rows = np.array([line.split() for line in lines], dtype=float)
    yield "gram", rows.T @ rows


@gram.combine
def add(name, parts):
    yield name, sum(parts)


@gram.reduce
def total(name, parts):
    for i, row in enumerate(sum(parts)):
        yield {"row": i, "values": row.tolist()}
