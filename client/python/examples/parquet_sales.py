# SPDX-License-Identifier: Apache-2.0
"""Sales by shop, Parquet in and out, by pyarrow: a map gets tables, groups each by itself, and the reduce adds the groups."""

from __future__ import annotations

import pyarrow as pa

import millrace


@millrace.job(output="parquet")
def parquet_sales(batch: pa.RecordBatch):
    groups = pa.Table.from_batches([batch]).group_by("shop").aggregate([("amount", "sum"), ("amount", "count")])
    for row in groups.to_pylist():
        yield row["shop"], (row["amount_sum"], row["amount_count"])


@parquet_sales.combine
def add(shop, parts):
    yield shop, tuple(map(sum, zip(*parts)))


@parquet_sales.reduce
def total(shop, parts):
    amount, sales = map(sum, zip(*parts))
    yield {"shop": shop, "amount": amount, "sales": sales}
