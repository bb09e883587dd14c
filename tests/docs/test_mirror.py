# SPDX-License-Identifier: Apache-2.0
"""A test that is named after a unit lies where the unit lies.

tests/ has the folders of the product, so that one finds the test of a unit by its path. A test is of a unit if its name is the
unit's with _test, and it includes the unit's header; then its place is the header's folder, below tests. Tests of behaviour, which are named after no unit, lie where they fit.
"""

import os
import re
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)


def place(path, text):
    """Returns the folder where the test belongs, or None if it is of no unit."""
    name = os.path.basename(path).removesuffix("_test.cc")
    units = {include for include in INCLUDE.findall(text) if not include.startswith("tests/") and os.path.basename(include) == name + ".h"}
    return "tests/" + os.path.dirname(units.pop()) if len(units) == 1 else None


class MirrorTest(unittest.TestCase):
    def test_tests_lie_where_their_units_lie(self):
        wrong, of_units = [], 0
        for directory, folders, files in os.walk(os.path.join(ROOT, "tests")):
            folders.sort()
            for name in sorted(files):
                if not name.endswith("_test.cc"):
                    continue
                path = os.path.relpath(os.path.join(directory, name), ROOT)
                with open(os.path.join(ROOT, path), encoding="utf-8") as f:
                    wanted = place(path, f.read())
                of_units += wanted is not None
                if wanted not in (None, os.path.dirname(path)):
                    wrong.append(f"{path} tests a unit whose tests are in {wanted}")
        self.assertEqual(wrong, [], "\n" + "\n".join(wrong))
        self.assertGreater(of_units, 100)

    def test_finds_a_test_that_lies_elsewhere(self):
        text = '#include "base/rpc/link.h"\n#include "tests/fakes/link.h"\n'
        self.assertEqual(place("tests/base/link_test.cc", text), "tests/base/rpc")
        self.assertIsNone(place("tests/base/lines_test.cc", text))
        self.assertIsNone(place("tests/base/link_test.cc", '#include "tests/fakes/link.h"\n'))


if __name__ == "__main__":
    unittest.main()
