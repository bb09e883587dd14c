# SPDX-License-Identifier: Apache-2.0
"""Puts the package of this tree, and its examples, on the path."""

import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PACKAGE = os.path.join(ROOT, "client", "python")
for folder in (os.path.join(PACKAGE, "examples"), os.path.join(PACKAGE, "src")):
    if folder not in sys.path:
        sys.path.insert(0, folder)
