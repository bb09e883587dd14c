# SPDX-License-Identifier: Apache-2.0
"""docs/use/json.md: test_json_page.py MILLRACE HISTORY_DOC. What it says can be checked without a cluster; tests/cluster/test_json.py
holds what the commands print against it.
"""

import json
import re
import subprocess
import sys
import unittest

from json_page import PAGE, Checker, Page

MILLRACE, HISTORY_DOC = sys.argv[1:3]
METRICS = ("sim", "compare", "advise", "tune")  # their keys are those of metrics


def help_of(*words):
    return subprocess.run([MILLRACE, *words, "--help"], capture_output=True, text=True, check=True, timeout=60).stdout


def commands():
    """(words, help) of each command, as the help lists them."""
    for group in re.findall(r"^  ([a-z]+) ", help_of().split("\nOptions")[0], re.MULTILINE):
        text = help_of(group)
        verbs = [] if "Usage: millrace " + group + " COMMAND" not in text else re.findall(r"^  ([a-z-]+) ", text, re.MULTILINE)
        if not verbs:
            yield group, text
        for verb in verbs:
            yield f"{group} {verb}", help_of(group, verb)


class JsonPage(unittest.TestCase):
    def test_every_command_with_the_option_has_a_section(self):
        with_option = {command for command, text in commands() if re.search(r"^ +--json\b", text, re.MULTILINE)}
        self.assertGreater(len(with_option), 25, "the help has changed its form")
        # A section may be about a verb with some operand or option: "fs safemode get", "run PIPELINE".
        described = {command for command in with_option for title in Page().of_command if (title + " ").startswith(command + " ")}
        self.assertEqual(with_option - described, set(), f"{PAGE} has no section")
        titles = {title for title in Page().of_command if not any((title + " ").startswith(command + " ") for command in with_option)}
        self.assertEqual(titles, set(), "the page describes commands that have no --json")

    def test_names_say_what_is_a_time(self):
        page = Page()
        rows = [(section.title, path, kind) for section in page.sections for path, kind in section.rows
                if not section.commands or not section.commands[0].split()[0] in METRICS]
        rows += [(event, path, kind) for event, fields in page.events.items() for path, kind in fields]
        self.assertGreater(len(rows), 250)
        for title, path, kind in rows:
            name = path.split(".")[-1]
            self.assertEqual(name.endswith("_s"), "seconds" in kind.names, (title, path))
            self.assertEqual(name == "at" or name.endswith("_at"), "instant" in kind.names, (title, path))
            self.assertEqual(name == "fraction" or name.endswith("_fraction") or (name, title) == ("slow_start", "JobSubmitted"), "fraction" in kind.names, (title, path))
            self.assertNotRegex(name, r"_(ms|us|ns|micros|percent|per_mille)$", (title, path))

    def test_every_section_says_its_shape(self):
        self.assertEqual([section.title for section in Page().sections if section.commands and not section.shape], [])
        self.assertEqual([section.title for section in Page().sections if not section.rows], [])

    def test_every_kind_of_event_is_as_described(self):
        printed = subprocess.run([HISTORY_DOC], capture_output=True, text=True, check=True, timeout=60).stdout.splitlines()
        checker = Checker()
        events = checker.check("job history", "[" + ",".join(printed) + "]")
        self.assertEqual(checker.wrong, [])
        self.assertEqual({event["event"] for event in events} - {"woken", "restart"}, set(checker.page.events))
        self.assertTrue(all(event["at"] == 1764374156.123456 for event in events), "no digit of a microsecond is lost")
        by_kind = {event["event"]: event for event in events}
        self.assertEqual(by_kind["AttemptProgressed"]["fraction"], 0.25)
        self.assertEqual(by_kind["JobSubmitted"]["locality_waits_s"], [1764.374156, 0])
        self.assertEqual((by_kind["JobSubmitted"]["name"], by_kind["JobSubmitted"]["name_encoding"]), ("word%20%FF", "percent"))
        self.assertEqual(by_kind["AttemptFailed"]["record"], {"input": 1, "offset": 2, "nth": 3})


class TheCheck(unittest.TestCase):
    """What is wrong is found."""

    def setUp(self):
        self.checker = Checker()
        self.good = {"capacity": 3, "used": 2, "free": 1, "live_workers": 1, "trash": 0}

    def wrong(self, **changes):
        value = {**self.good, **changes}
        self.checker.check("fs df", json.dumps({key: one for key, one in value.items() if one != "gone"}))
        return "\n".join(self.checker.wrong)

    def test_what_is_right_is_right(self):
        self.assertEqual(self.wrong(), "")

    def test_another_field(self):
        self.assertIn("fs df: more: 1 is not on the page", self.wrong(more=1))

    def test_another_type(self):
        self.assertIn('fs df: trash: "2 KiB" is not bytes', self.wrong(trash="2 KiB"))

    def test_null(self):
        self.assertIn("fs df: trash: null", self.wrong(trash=None))

    def test_a_field_less(self):
        self.assertIn("fs df: trash: is not there", self.wrong(trash="gone"))

    def test_another_unit(self):
        row = {"path": "/a", "type": "file", "length": 1, "replication": 1, "block_size": 1, "modified_at": 1764374156123456, "owner": "", "group": "", "mode": "644", "id": 1}
        self.checker.check("fs ls", json.dumps([row]))
        self.assertIn("modified_at: 1764374156123456 is not instant", "\n".join(self.checker.wrong))

    def test_a_field_that_nothing_printed(self):
        self.checker.check("fs df", json.dumps(self.good))
        unseen = [(title, path) for title, path, _ in self.checker.unseen()]
        self.assertFalse(("`millrace fs df`", "trash") in unseen)
        self.assertTrue(("A file", "path") in unseen)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
