# SPDX-License-Identifier: Apache-2.0
"""Sums of a CSV file with quotes (city, street, amount), by city and street; the output is CSV again."""

import csv
from decimal import Decimal

import millrace

headings = millrace.counter("csv", "headings")


@millrace.job(output="csv")
def csv_sums(lines: list[str]):
    for row in csv.reader(lines):  # of records without line breaks in them, as a line is what a map gets
        if row == ["city", "street", "amount"]:
            headings.add()
        elif row:
            yield (row[0], row[1]), Decimal(row[2])


@csv_sums.combine
@csv_sums.reduce
def total(place, amounts):
    yield place, sum(amounts, Decimal())
