# SPDX-License-Identifier: Apache-2.0
"""The command `millrace` of a wheel that has the programs inside. It is no part of the package, whose import would take longer than
many a command."""

import os
import signal
import sys


def main() -> None:
    """Becomes the program, so that signals reach it and its exit status is the command's. MILLRACE_BIN does not count here: it may
    name the directory of this command."""
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "millrace", "_bin", "millrace")
    for ignored in (signal.SIGPIPE, signal.SIGXFSZ):  # by Python; a program that is executed would go on ignoring them
        signal.signal(ignored, signal.SIG_DFL)
    try:
        os.execv(program, [program, *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"millrace: cannot run {program}: {error.strerror}; install the wheel again, of this kind of machine")
