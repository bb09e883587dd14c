#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every source file and script says its licence in one of its first two lines, as SPDX writes it (https://spdx.dev/ids).

Files that others wrote and that are here as published keep their own notices (deploy/debian/copyright lists them).
"""

import os
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LINE = "SPDX-License-Identifier: Apache-2.0"
SOURCES = (".h", ".cc", ".c", ".capnp", ".py", ".cmake", "CMakeLists.txt")


def sources():
    """The paths of sources and of scripts that begin with #!, from the root."""
    for folder, folders, files in os.walk(ROOT):
        folders[:] = [name for name in folders if name not in ("build", ".git", "__pycache__")]
        for name in files:
            path = os.path.join(folder, name)
            if os.path.islink(path) or not os.path.isfile(path):
                continue
            with open(path, "rb") as file:
                head = file.read(400)
            if head and (name.endswith(SOURCES) or head.startswith(b"#!")):
                yield os.path.relpath(path, ROOT), head.decode("utf-8", "replace").split("\n")[:2]


class Licence(unittest.TestCase):
    def test_every_source_says_it(self):
        found = dict(sources())
        self.assertGreater(len(found), 1000)
        self.assertEqual([path for path, head in sorted(found.items()) if not any(LINE in line for line in head)], [])


if __name__ == "__main__":
    unittest.main()
