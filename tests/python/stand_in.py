# SPDX-License-Identifier: Apache-2.0
"""Puts the package of this tree, and its examples, on the path; makes a program of fake_millrace.py."""

import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PACKAGE = os.path.join(ROOT, "client", "python")
for folder in (os.path.join(PACKAGE, "examples"), os.path.join(PACKAGE, "src")):
    if folder not in sys.path:
        sys.path.insert(0, folder)


def make_program(folder):
    """Writes a program `millrace` that is fake_millrace.py, and returns its path."""
    path = os.path.join(folder, "millrace")
    fake = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fake_millrace.py")
    with open(path, "w") as program:
        program.write(f'#!/bin/sh\nexec {sys.executable} -E -S {fake} "$@"\n')
    os.chmod(path, 0o755)
    return path
