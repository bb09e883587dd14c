# SPDX-License-Identifier: Apache-2.0
"""What is asked before something that costs or ends."""

import sys

from cluster.failure import Failure


def take(words, *flags):
    """The flags of this program among the words that go on, and the other words."""
    return {flag: flag in words for flag in flags}, [word for word in words if word not in flags]


def agreed(question):
    """Whether a person at a terminal says yes; False without a terminal."""
    if not sys.stdin.isatty():
        return False
    try:
        return input(f"{question} [y/N] ").strip().lower() in ("y", "yes")
    except EOFError:
        return False


def need(what, meant):
    """Goes on if it is meant by --yes or by an answer."""
    if not meant and not agreed(f"{what}. Go on?"):
        raise Failure(f"{what}: --yes, or an answer, says that it is meant")
