# SPDX-License-Identifier: Apache-2.0
"""Counts n-grams of words that a side file does not list (files=["stop.txt"]); the keys are tuples of words."""

from collections import Counter

import millrace

stop: set[str] = set()


@millrace.job(options={"n": 2, "least": 1})
def ngrams(lines: list[str]):
    n = millrace.option("n")
    counts = Counter()
    for line in lines:
        words = [word for word in line.lower().split() if word not in stop]
        counts.update(zip(*(words[i:] for i in range(n))))
    return counts


@ngrams.start
def begin():
    if not stop:
        stop.update(millrace.file("stop.txt").read_text().split())


@ngrams.combine
def add(words, counts):
    yield words, sum(counts)


@ngrams.reduce
def total(words, counts):
    count = sum(counts)
    if count >= millrace.option("least"):
        yield " ".join(words), count
