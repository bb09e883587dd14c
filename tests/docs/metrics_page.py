# SPDX-License-Identifier: Apache-2.0
"""The tables of docs/operate/metrics.md, for test_monitoring.py and tests/cluster/test_metrics.py."""

import os
import re
from typing import Dict, NamedTuple, Optional, Tuple

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGE = os.path.join(ROOT, "docs", "operate", "metrics.md")


class Metric(NamedTuple):
    type: str
    labels: Dict[str, Optional[Tuple[str, ...]]]  # the values of each; None: the page does not list them
    help: str


def text():
    with open(PAGE, encoding="utf-8") as f:
        return f.read()


def metrics(daemon):
    """The metrics of a "master" or a "worker", by name."""
    section = re.search(rf"^## Of a {daemon}\n(.*?)(?=^## )", text(), re.M | re.S)[1]
    found = {}
    for name, kind, labels, meaning in re.findall(r"^\| `(\w+)` \| (\w+) \| (.*?) ?\| (.*) \|$", section, re.M):
        assert name not in found, name
        values = {}
        for label, listed in re.findall(r"`(\w+)`(?:: ([^;`]+))?", labels):
            values[label] = None if not listed or listed.startswith("those") else tuple(listed.rstrip(", ").split(", "))
        found[name] = Metric(kind, values, meaning)
    return found


def alerts():
    return re.findall(r"^\| `(Millrace\w+)` \| ", text(), re.M)
