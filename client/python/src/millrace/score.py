# SPDX-License-Identifier: Apache-2.0
"""`python3 -m millrace.score POLICY` prints what `millrace.evaluate` returns, as JSON, for loops that are not written in Python; with
`--held-out OVER`, what `millrace.held_out` returns. The status is 1 if the policy is not valid, 2 if it could not be evaluated."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Optional

from .errors import MillraceError, UsageError
from .evaluation import evaluate, held_out


def main(words: Optional[Sequence[str]] = None) -> int:
    """Returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python3 -m millrace.score", description="Scores a policy over a suite of workloads, and prints the result as JSON.")
    parser.add_argument("policy", metavar="POLICY", help="its file")
    parser.add_argument(
        "--suite", metavar="SUITE", help="training (the default), held-out (the default of --held-out), or a directory of workload files")
    parser.add_argument("--seeds", metavar="N,N...", help="in place of the suite's")
    parser.add_argument(
        "--held-out", metavar="OVER", help="say whether its improvement over this policy or scheduler holds on the suite that was held out")
    parser.add_argument("--trusted", action="store_true", help="do not confine it")
    given = parser.parse_args(words)
    try:
        seeds = _seeds(given.seeds) if given.seeds else None
        if given.held_out:
            result = held_out(given.policy, given.held_out, suite=given.suite or "held-out", seeds=seeds, trusted=given.trusted)
        else:
            result = evaluate(given.policy, given.suite or "training", seeds=seeds, trusted=given.trusted)
    except MillraceError as error:
        print(f"millrace.score: {error}", file=sys.stderr)
        return 2
    print(json.dumps(result, indent=2))
    return 0 if result["valid"] else 1


def _seeds(text: str) -> list[int]:
    try:
        return [int(seed) for seed in text.split(",")]
    except ValueError:
        raise UsageError(f"--seeds {text} is not a list of numbers such as 1,2,3") from None


if __name__ == "__main__":
    sys.exit(main())
