# SPDX-License-Identifier: Apache-2.0
"""What a daemon or a job has logged.

  deploy/cluster logs -f FILE [NODE] [-f] [-n LINES] [--since TIME]      the journal of the master, or of the daemon on a node
  deploy/cluster logs -f FILE JOB [OPTIONS]                              `millrace job logs` of a job, as in 7 or job7

-f goes on with what comes; Ctrl-C ends that. -n is 100 without --since. A word that is the name of a node is the node.
Exit status: 0 it was shown; 1 it failed; 2 wrong usage; 3 the node cannot be reached.
"""

import argparse
import re
import shlex

from cluster.failure import WrongUse


def logs(cluster, rest):
    everyone = cluster.everyone()
    if rest and rest[0] not in everyone and re.fullmatch(r"(job)?\d+([.].*)?", rest[0]):
        return cluster.ask(shlex.join(["millrace", "job", "logs", *rest]))
    parser = argparse.ArgumentParser(prog="deploy/cluster logs", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("node", nargs="?")
    parser.add_argument("-f", "--follow", action="store_true")
    parser.add_argument("-n", "--lines", type=int)
    parser.add_argument("--since")
    given = parser.parse_args(rest)
    node = given.node or cluster.master()
    if node not in everyone and node != cluster.master():
        raise WrongUse(f'there is no node "{node}", and a job is a number; there are {", ".join(sorted(everyone))}')
    unit = "millrace-master" if node == cluster.master() else "millrace-worker"
    words = ["journalctl", "--no-pager", "-u", unit]
    if given.lines is not None or not given.since:
        words += ["-n", str(given.lines if given.lines is not None else 100)]
    words += ["--since", given.since] if given.since else []
    words += ["-f"] if given.follow else []
    line = shlex.join(words)
    # The journal of the system is for root and a few groups. A terminal there ends journalctl at Ctrl-C.
    command = f'if [ "$(id -u)" = 0 ]; then exec {line}; else exec sudo -n {line}; fi'
    try:
        return cluster.ask(command, node, ["-tt"] if given.follow else [])
    except KeyboardInterrupt:
        return 0
