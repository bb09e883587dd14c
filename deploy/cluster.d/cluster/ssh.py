# SPDX-License-Identifier: Apache-2.0
"""A shell, or a command, on a node; by default on the master.

  deploy/cluster ssh -f FILE [-l ACCOUNT] [NODE [COMMAND...]]

One word of a command is a command line, as it is to ssh; several are taken as they are. The exit status is that of the command; 255 is ssh's
own.
"""

import shlex
import subprocess


def ssh(cluster, rest):
    command = rest[1:2] if len(rest) == 2 else [shlex.join(rest[1:])] if rest[1:] else []
    return subprocess.run([*cluster.node(rest[0] if rest else None), *command], check=False).returncode
