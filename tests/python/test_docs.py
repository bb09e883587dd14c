# SPDX-License-Identifier: Apache-2.0
"""What docs/use/python.md shows is so: its modules are written and its sessions are run, in order, over a stand-in of the program."""

import doctest
import os
import re
import sys
import unittest
from pathlib import Path

import stand_in
from test_result import WithFake

PAGE = os.path.join(stand_in.ROOT, "docs", "use", "python.md")
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Page(WithFake):
    def test_its_blocks(self):
        text = Path(PAGE).read_text()
        modules = {}
        here = os.getcwd()
        os.chdir(self.place)
        sys.path.insert(0, self.place)
        try:
            runner = doctest.DocTestRunner()
            names, sessions = {"__name__": "page"}, 0
            for block in BLOCK.finditer(text):
                language, code = block.groups()
                line = text[: block.start()].count("\n") + 1
                if language == "python":
                    name = re.match(r"# (\w+\.py)\n", code)[1]
                    Path(self.place, name).write_text(code)
                    modules[name[:-3]] = sys.modules.pop(name[:-3], None)
                elif language == "pycon":
                    test = doctest.DocTestParser().get_doctest(code, names, f"line {line}", PAGE, line)
                    runner.run(test, clear_globs=False)
                    names = test.globs
                    sessions += len(test.examples)
            self.assertGreater(sessions, 30)
            self.assertEqual(runner.failures, 0)
        finally:
            os.chdir(here)
            sys.path.remove(self.place)
            for name, module in modules.items():
                sys.modules.pop(name, None)
                if module is not None:
                    sys.modules[name] = module

    def test_no_line_is_too_long(self):
        for number, line in enumerate(Path(PAGE).read_text().splitlines(), 1):
            if not line.startswith(("|", "[(", ">>>")):
                self.assertLessEqual(len(line), 150, f"line {number}")


if __name__ == "__main__":
    unittest.main()
