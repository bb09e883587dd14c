# SPDX-License-Identifier: Apache-2.0
"""test_monitoring.py: each query of deploy/monitoring asks for metrics, labels and values that docs/operate/metrics.md has (that a daemon has
them is in tests/cluster/test_metrics.py), and the page lists the alerts that there are."""

import json
import os
import re
import shutil
import subprocess
import unittest

import metrics_page

DIRECTORY = os.path.join(metrics_page.ROOT, "deploy", "monitoring")
KNOWN = {**metrics_page.metrics("master"), **metrics_page.metrics("worker")}
FUNCTIONS = {"sum", "by", "without", "rate", "increase", "histogram_quantile", "and", "ignoring"}
TARGET_LABELS = {"job", "instance"}


def alerts():
    """The alerts of the file: name, expression and texts. A small reader of this file's own form of YAML, so that the test needs no library."""
    with open(os.path.join(DIRECTORY, "alerts.yml"), encoding="utf-8") as f:
        text = f.read()
    for block in re.split(r"^      - alert: ", text, flags=re.M)[1:]:
        yield block.split("\n")[0], re.search(r"^        expr: (.*)$", block, re.M)[1], block


def queries():
    for name, expression, _ in alerts():
        yield name, expression
    with open(os.path.join(DIRECTORY, "dashboard.json"), encoding="utf-8") as f:
        for panel in json.load(f)["panels"]:
            for target in panel["targets"]:
                yield panel["title"], target["expr"]


def wrong_in(query):
    """What the query names that does not exist."""
    wrong = []
    for name, matchers in re.findall(r"(?<![\w\"$])([a-z_]\w*)(?:\{([^}]*)\})?", re.sub(r"\[\w+\]|\b(?:by|without|ignoring) \([\w, ]*\)|\b(?:by|without|ignoring)\([\w, ]*\)", "", query)):
        if name in FUNCTIONS:
            continue
        metric = KNOWN.get(name)
        if metric is None and name != "up":
            base = re.sub(r"_(bucket|sum|count)$", "", name)
            metric = KNOWN.get(base)
            if metric is None or metric.type != "histogram" or base == name:
                wrong.append(name)
                continue
        for label, sign, value in re.findall(r'(\w+)(=~|!=|=)"([^"]*)"', matchers):
            if label in TARGET_LABELS:
                continue
            if label not in metric.labels:
                wrong.append(f"{name}{{{label}}}")
            elif metric.labels[label] is not None:
                wrong += [f'{name}{{{label}="{each}"}}' for each in value.split("|") if each not in metric.labels[label]]
    return wrong


class MonitoringTest(unittest.TestCase):
    def test_queries_ask_for_what_there_is(self):
        asked = list(queries())
        self.assertGreater(len(asked), 25)
        for where, query in asked:
            with self.subTest(where=where):
                self.assertEqual(wrong_in(query), [], query)
                self.assertEqual(query.count("("), query.count(")"))

    def test_the_check_finds_what_is_wrong(self):
        self.assertEqual(wrong_in('sum by (kind) (rate(millrace_slot{state="busy"}[5m])) > 0'), ["millrace_slot"])
        self.assertEqual(wrong_in('millrace_slots{state="idle"}'), ['millrace_slots{state="idle"}'])
        self.assertEqual(wrong_in('millrace_slots{color="red"}'), ["millrace_slots{color}"])
        self.assertEqual(wrong_in("millrace_slots_bucket"), ["millrace_slots_bucket"])

    def test_labels_that_are_grouped_by_exist(self):
        labels = {label for metric in KNOWN.values() for label in metric.labels} | {"le", "instance", "job"}
        for where, query in queries():
            for group in re.findall(r"\b(?:by|without|ignoring) ?\(([\w, ]*)\)", query):
                with self.subTest(where=where):
                    self.assertLessEqual({label.strip() for label in group.split(",")}, labels)

    def test_codes_of_notices_exist(self):
        with open(os.path.join(metrics_page.ROOT, "base", "notice.cc"), encoding="utf-8") as f:
            codes = set(re.findall(r'NoticeCode::\w+, "([\w-]+)"', f.read()))
        for where, query in queries():
            for value in re.findall(r'code=~?"([^"]*)"', query):
                self.assertLessEqual(set(value.split("|")), codes, where)

    def test_the_page_lists_the_alerts(self):
        self.assertEqual(metrics_page.alerts(), [name for name, _, _ in alerts()])
        for name, _, block in alerts():
            with self.subTest(alert=name):
                for key in ("for: ", "labels: ", "summary: ", "description: "):
                    self.assertIn(key, block)

    def test_each_metric_is_looked_at(self):
        """A metric of the master that neither the dashboard nor an alert shows is one that nobody looks at."""
        shown = " ".join(query for _, query in queries())
        self.assertEqual([name for name in KNOWN if name not in shown and not name.endswith(("_info", "_up_seconds", "_events_total", "_file_bytes", "_worker_slots", "_worker_blocks"))], [])

    @unittest.skipUnless(shutil.which("promtool"), "promtool is not installed (Debian's package prometheus)")
    def test_promtool_takes_the_rules(self):
        done = subprocess.run(["promtool", "check", "rules", os.path.join(DIRECTORY, "alerts.yml")], capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
