# SPDX-License-Identifier: Apache-2.0
"""Why the command ends, with its exit status."""


class Failure(Exception):
    """It failed; the text says what, why, and what to do."""

    status = 1


class WrongUse(Failure):
    """The command line, or the file that it names, cannot be meant."""

    status = 2


class Unreachable(Failure):
    """The cluster, or EC2, cannot be reached."""

    status = 3
