# SPDX-License-Identifier: Apache-2.0
"""docs/operate/runbook.md has an entry for each code of a warning, quotes texts that the programs have, and says of each what it means, how
to confirm it, what to do and when it is over. That its commands exist is checked by test_commands.py.
"""

import glob
import os
import re
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGE = os.path.join(ROOT, "docs", "operate", "runbook.md")
PARTS = ("Means", "Confirm", "Do", "Over")
FOLDERS = ("base", "client", "dfs", "master", "schedulers", "worker")


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as f:
        return f.read()


def literals():
    """All texts in the sources, each piece between the values that are put in, as in "{}" or '" + name + "'."""
    found = []
    for folder in FOLDERS:
        for path in glob.glob(os.path.join(ROOT, folder, "**", "*.cc"), recursive=True):
            joined = re.sub(r'"\s*\n\s*"', "", re.sub(r"//.*", "", read(path)))
            found += [text.replace('\\"', '"') for text in re.findall(r'"((?:[^"\\\n]|\\.)*)"', joined)]
    return "\n".join(found)


def entries():
    """(title, text) of each entry."""
    parts = re.split(r"^### (.+)$", read(PAGE), flags=re.MULTILINE)
    return list(zip(parts[1::2], (re.split(r"^## ", text, flags=re.MULTILINE)[0] for text in parts[2::2])))


class Runbook(unittest.TestCase):
    def test_each_code_has_its_entry_and_no_other(self):
        codes = re.findall(r'NoticeCode::k\w+, "([a-z-]+)"', read(ROOT, "base", "notice.cc"))
        self.assertGreater(len(codes), 20)
        titled = [title.strip("`") for title, _ in entries() if re.fullmatch(r"`[a-z-]+`", title)]
        self.assertEqual(sorted(titled), sorted(codes))

    def test_each_text_is_one_of_the_sources(self):
        source, quoted = literals(), [title[1:-1] for title, _ in entries() if title.startswith('"')]
        self.assertGreaterEqual(len(quoted), 40)
        for text in quoted:
            pieces = [piece.strip(" :") for piece in text.split("...")]
            self.assertTrue(any(len(piece) >= 12 for piece in pieces), f"{text!r} has too little to be found")
            for piece in pieces:
                self.assertIn(piece, source, f"no source says {piece!r} of {text!r}")

    def test_each_log_line_that_an_entry_quotes_is_one_of_the_sources(self):
        source = literals()
        for title, text in entries():
            for quoted in re.findall(r'"([^"`]{12,})"', text):
                if quoted in ("The master refuses its database", "0.0.0.0:7700"):  # a heading, an address
                    continue
                self.assertIn(quoted, source, title)

    def test_each_entry_has_its_parts_in_order(self):
        for title, text in entries():
            self.assertEqual(tuple(re.findall(r"^- \*\*(\w+)\*\*: ", text, re.MULTILINE)), PARTS, title)


if __name__ == "__main__":
    unittest.main()
