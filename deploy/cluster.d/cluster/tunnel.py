# SPDX-License-Identifier: Apache-2.0
"""The master at a port of this machine, until Ctrl-C.

  deploy/cluster tunnel -f FILE [-l ACCOUNT] [--port PORT] [--pages-port PORT]

`millrace` here reaches the master through it, and what to set for that is printed: it lists jobs, nodes and files, watches, and kills. Bytes of
files go between a program and the workers, which the tunnel does not reach; a job that is submitted has such bytes, too. Use
`deploy/cluster submit` and `deploy/cluster ssh` for them.
If millrace_master_options has health.listen, its pages are there for a browser, too. Without ports, free ones are taken.
Exit status: 0 ended by Ctrl-C; 1 it failed; 2 wrong usage; 3 the master cannot be reached.
"""

import argparse
import getpass
import os
import shlex
import socket
import subprocess

from cluster import ansible
from cluster.failure import Failure, Unreachable, WrongUse


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def certificate(cluster):
    """The directory of this user's certificate here, or None: MILLRACE_TLS, or what the authority on this machine has issued."""
    if os.environ.get("MILLRACE_TLS"):
        return os.environ["MILLRACE_TLS"]
    host = cluster.everyone().get(cluster.master(), {})
    name = cluster.settings.get("millrace_cluster") or host.get("millrace_cluster") or cluster.master()
    authority = os.path.expanduser(str(host.get("millrace_authority") or f"~/.millrace/authorities/{name}"))
    for user in (cluster.login, getpass.getuser(), "admin"):
        if user and os.path.isdir(os.path.join(authority, f"client-{user}")):
            return os.path.join(authority, f"client-{user}")
    return None


def pages(cluster):
    """The HOST:PORT of the master's pages, or None."""
    options = cluster.setting("millrace_master_options", {})
    listen = options.get("health.listen") if isinstance(options, dict) else None
    return listen if listen and "{{" not in listen else None


def tunnel(cluster, rest):
    parser = argparse.ArgumentParser(prog="deploy/cluster tunnel", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int)
    parser.add_argument("--pages-port", type=int)
    given = parser.parse_args(rest)
    for port in (given.port, given.pages_port):
        if port is not None and not 1 <= port <= 65535:
            raise WrongUse(f"{port} is no port; one has a number from 1 to 65535")
    host = cluster.everyone().get(cluster.master(), {})
    address = str(host.get("millrace_address") or "")
    port, pages_port, page = given.port or free_port(), given.pages_port or free_port(), pages(cluster)
    # The master listens at the address that its shells name.
    if not address or "{{" in address:
        done = subprocess.run([*cluster.node(), "printenv MILLRACE_MASTER"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode == ansible.SSH_FAILED:
            raise Unreachable("the master cannot be reached by ssh")
        if not done.stdout.strip():
            raise Failure("the master does not say where it listens: MILLRACE_MASTER is not set in its shells")
        at = done.stdout.strip()
    else:
        at = f"{f'[{address}]' if ':' in address else address}:{cluster.setting('millrace_master_port', 7700)}"
    options = ["-T", "-o", "ExitOnForwardFailure=yes", "-o", "ServerAliveInterval=30", "-L", f"127.0.0.1:{port}:{at}"]
    if page:
        options += ["-L", f"127.0.0.1:{pages_port}:{page}"]
    # ssh opens its ports before the command begins, which says so, and ends with the input.
    process = subprocess.Popen([*cluster.node(options=options), "echo open; exec cat >/dev/null"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        if process.stdout.readline() != b"open\n":
            status = process.wait()
            raise Unreachable("the master cannot be reached by ssh, or the port is taken") if status == ansible.SSH_FAILED else Failure("the tunnel could not be opened")
        words = {"MILLRACE_MASTER": f"127.0.0.1:{port}"}
        directory = certificate(cluster)
        if directory:
            words["MILLRACE_TLS"] = directory
        print("export " + " ".join(f"{name}={shlex.quote(value)}" for name, value in words.items()))
        if not directory:
            print("# With TLS, MILLRACE_TLS has to name a directory with a certificate of yours, which is not on this machine (docs/operate/security.md).")
        if page:
            print(f"# In a browser: http://127.0.0.1:{pages_port}/readyz and http://127.0.0.1:{pages_port}/healthz")
        else:
            print("# The master has no pages: millrace_master_options: {health.listen: 127.0.0.1:7780} gives it /healthz and /readyz.")
        print("# Ctrl-C ends it.", flush=True)
        status = process.wait()
        raise Unreachable("the connection to the master has ended") if status == ansible.SSH_FAILED else Failure("the tunnel has ended")
    except KeyboardInterrupt:
        return 0
    finally:
        process.stdin.close()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
