# SPDX-License-Identifier: Apache-2.0
"""No paragraph of a page is longer than a reader takes in at once: 110 words.

Pages are README.md, CONTRIBUTING.md, every ARCHITECTURE.md and all below docs, but for papers.md, which a program prints. A paragraph ends
at an empty line and at whatever is not running text: a heading, a row of a table, a comment, a block of code. An item of a list is one of
its own.
"""

import glob
import os
import re
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MOST = 110
PRINTED = ("papers.md",)
ITEM = re.compile(r"\s*([-*+]|\d+[.)]) ")


def paragraphs(text):
    """(line where it begins, number of words) of each paragraph of a page."""
    begin, words = 0, 0
    fenced, listed = False, False  # in a block of code; in a list, where a line that is set in is no code
    for number, line in enumerate([*text.split("\n"), ""], 1):
        fence = line.lstrip().startswith("```")
        item = not fenced and ITEM.match(line)
        indented_code = line.startswith("    ") and not words and not listed
        other = fenced or fence or not line.strip() or line.lstrip().startswith(("|", "#", "<!--")) or indented_code
        if (other or item) and words:
            yield begin, words
            words = 0
        fenced ^= fence
        if line.strip():
            listed = bool(item) or listed and (fenced or line.startswith(" ") or bool(words))
        if not other:
            begin = begin if words else number
            words += len(line.split())


def pages():
    found = [os.path.join(ROOT, name) for name in ("README.md", "CONTRIBUTING.md")]
    found += glob.glob(os.path.join(ROOT, "docs", "**", "*.md"), recursive=True)
    tops = [top for top in os.listdir(ROOT) if top != "build" and not top.startswith(".")]
    found += [page for top in tops for page in glob.glob(os.path.join(ROOT, top, "**", "ARCHITECTURE.md"), recursive=True)]
    return [path for path in sorted(found) if os.path.basename(path) not in PRINTED]


class ParagraphsTest(unittest.TestCase):
    def test_none_of_a_page_is_too_long(self):
        self.assertGreater(len(pages()), 20, "this test looks in the wrong place")
        wrong = []
        for path in pages():
            with open(path, encoding="utf-8") as f:
                wrong += [f"{os.path.relpath(path, ROOT)}:{line}: a paragraph of {words} words" for line, words in paragraphs(f.read()) if words > MOST]
        if wrong:
            self.fail("\n".join([f"more than {MOST} words: begin another where a thought ends, or make a list of it", *wrong]))

    def test_ends_where_text_does(self):
        for between in ("", "# head", "| a | b |", "<!-- printed -->", "```\nmillrace run a b c\n```"):
            lengths = [words for _, words in paragraphs(f"one two\nthree\n{between}\nfour five\n")]
            self.assertEqual(lengths, [3, 2], between)
        for item in ("- ", "* ", "  - ", "12. "):
            lengths = [words for _, words in paragraphs(f"one two\nthree\n{item}four five\n")]
            self.assertEqual(lengths, [3, 3], item)

    def test_begins_at_its_line(self):
        self.assertEqual(list(paragraphs("# head\n\none two\nthree\n\n- four\n  five\n- six")), [(3, 3), (6, 3), (8, 2)])

    def test_code_has_none(self):
        self.assertEqual(list(paragraphs("one\n\n    two = three\n\n```\nfour\n\n- five\n```\nsix\n")), [(1, 1), (10, 1)])
        self.assertEqual(list(paragraphs("1. one\n   ```\n   two three\n   ```\n   four\n")), [(1, 2), (5, 1)])

    def test_an_item_has_several(self):
        self.assertEqual(list(paragraphs("10. one\n    two\n\n    three\n\nfour\n\n    five = 5\n")), [(1, 3), (4, 1), (6, 1)])


if __name__ == "__main__":
    unittest.main()
