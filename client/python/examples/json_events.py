# SPDX-License-Identifier: Apache-2.0
"""Mean duration of events by kind, from JSON lines of which some are broken: these are counted, and kept in an output of their own."""

import json

import millrace

bad = millrace.counter("events", "bad")


@millrace.job(output="json", outputs={"broken": "text"})
def json_events(line: str):
    try:
        event = json.loads(line)
        yield event["kind"], (float(event["seconds"]), 1)
    except (ValueError, KeyError, TypeError):
        bad.add()
        yield None, line


@json_events.combine
def add(kind, parts):
    if kind is None:
        for line in parts:
            yield kind, line
        return
    parts = list(parts)
    yield kind, (sum(seconds for seconds, _ in parts), sum(count for _, count in parts))


@json_events.reduce
def mean(kind, parts):
    if kind is None:
        for line in parts:
            yield millrace.To("broken", line)
        return
    parts = list(parts)
    count = sum(count for _, count in parts)
    yield {"kind": kind, "count": count, "mean": round(sum(seconds for seconds, _ in parts) / count, 6)}
