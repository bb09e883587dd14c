# SPDX-License-Identifier: Apache-2.0
"""The two ways to end badly. What they say is one line: what, which thing, why, what to do."""


class WrongUse(Exception):
    """Of the command or of the file: exit status 2."""


class Failure(Exception):
    """Of the machine or of a daemon: exit status 1."""
