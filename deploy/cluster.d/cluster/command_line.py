# SPDX-License-Identifier: Apache-2.0
"""The command line of deploy/cluster. Exit status: 0 done, 1 it failed, 2 wrong usage, 3 it cannot be reached; `submit` and `ssh` end as
what they run does."""

import argparse
import importlib.util
import os
import sys

from cluster import ansible, logs, machines, price_list, ssh, status, submit, tunnel
from cluster.failure import Failure

HELP = {**machines.HELP, **{name: module.__doc__ for name, module in
                            {"status": status, "ssh": ssh, "logs": logs, "tunnel": tunnel, "submit": submit, "prices": price_list}.items()}}
VERBS = {"up": machines.up, "status": status.status, "ssh": ssh.ssh, "submit": submit.submit, "logs": logs.logs, "tunnel": tunnel.tunnel, "prices": price_list.prices,
         "stop": machines.stop, "start": machines.start, "move-master": machines.move_master, "down": machines.down}
ASKED_AGAIN = "MILLRACE_CLUSTER_PYTHON"


def parser_of(description):
    parser = argparse.ArgumentParser(prog="deploy/cluster", description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verb", choices=VERBS, metavar="VERB", help=", ".join(VERBS) + "; `deploy/cluster VERB --help` explains one")
    parser.add_argument("-f", dest="file", metavar="FILE", help="a cluster on EC2; with -i, variables")
    parser.add_argument("-i", dest="inventories", metavar="HOSTS", action="append", default=[], help="an inventory of machines that exist; may be repeated")
    parser.add_argument("-l", dest="login", metavar="ACCOUNT", help="the account to log in as by ssh; by default that of the inventory")
    return parser


def split(words):
    """The words up to the last of a leading -f, -i and -l are for this program, and the others go on unread."""
    end = 1
    while end + 1 < len(words) and words[end] in ("-f", "-i", "-l"):
        end += 2
    return words[:end], words[end:]


def with_python_of_ansible(words):
    """Starts this program again with the Python that has Ansible's packages, if this one has not: the file of a cluster is YAML."""
    if all(importlib.util.find_spec(name) for name in ("yaml", "boto3")) or os.environ.get(ASKED_AGAIN):
        return
    program = ansible.find("ansible-playbook")
    if not program:
        return
    with open(program, "rb") as f:
        line = f.readline().strip()
    python = os.fsdecode(line[2:].strip())
    if line.startswith(b"#!/") and "python" in os.path.basename(python) and os.access(python, os.X_OK):
        os.environ[ASKED_AGAIN] = "1"
        os.execv(python, [python, os.path.abspath(sys.argv[0]), *words])


def main(words, description):
    parser = parser_of(description)
    mine, rest = split(words)
    if mine and mine[0] in HELP and rest[:1] in (["-h"], ["--help"]) and (len(mine) == 1 or len(rest) == 1):
        print(HELP[mine[0]].strip())
        return 0
    given = parser.parse_args(mine)
    if not given.file and not given.inventories:
        parser.error("-f FILE says which cluster on EC2, or -i HOSTS which machines")
    try:
        if given.file:
            with_python_of_ansible(words)
        return VERBS[given.verb](ansible.Cluster(given.file, given.inventories, given.login), rest)
    except Failure as error:
        sys.stderr.write(f"cluster: {error}\n")
        return error.status
    except ModuleNotFoundError as error:
        sys.stderr.write(f"cluster: Python has no {error.name} here: pip install -r {os.path.relpath(ansible.COLLECTION)}/requirements.txt, and MILLRACE_ANSIBLE names the "
                         "virtual environment\n")
        return Failure.status
    except KeyboardInterrupt:
        sys.stderr.write("cluster: interrupted\n")
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return Failure.status
