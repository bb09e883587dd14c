# SPDX-License-Identifier: Apache-2.0
"""The command line of deploy/testbed. Exit status: 0 done, 1 it failed, 2 wrong use; `run` ends as its command does."""

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys

from testbed import bring_up, cluster_file, daemons, links, names, network, teardown
from testbed.failure import Failure, WrongUse
from testbed.state import State, known_names, locked

TOOLS = ("ip", "tc", "nsenter", "umount")
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))


def say(line):
    print(line, flush=True)


def _need_root():
    if os.geteuid() != 0:
        raise WrongUse("needs root for network namespaces and control groups; run it with sudo (`plan` shows without root what it would do)")
    for tool in TOOLS:
        if not shutil.which(tool):
            raise Failure(f"the program {tool} is not there; install iproute2 and util-linux")


def _read(options):
    try:
        with open(options.file, encoding="utf-8") as f:
            text = f.read()
    except (OSError, UnicodeDecodeError) as error:
        raise WrongUse(f"{options.file}: {getattr(error, 'strerror', None) or error}; name a file as in docs/schedulers/testbed.md") from None
    try:
        stem = os.path.basename(options.file).removesuffix(".toml")
        name = options.name and cluster_file.check_name(options.name)
        cluster = cluster_file.parse(text, stem, options.scheduler, options.set)
    except WrongUse as error:
        raise WrongUse(f"{options.file}: {error}") from None
    except ValueError as error:
        raise WrongUse(f"--name: {error}") from None
    return cluster_file.renamed(cluster, name) if name else cluster


def _program(options):
    directory = os.path.abspath(options.bin)
    program = os.path.join(directory, "millrace")
    if not os.access(program, os.X_OK):
        raise WrongUse(f"{program} is not there; build it (cmake --preset release && cmake --build --preset release), or name its directory with --bin")
    return program


def _chosen(name):
    """The testbed of that name; without a name, the only one there is."""
    known = known_names()
    if name:
        if name not in known:
            raise WrongUse(f"there is no testbed {name}; there are {', '.join(known) or 'none'}")
        return name
    if len(known) != 1:
        raise WrongUse(f"there are testbeds {', '.join(known)}; say which" if known else "no testbed is up; first: deploy/testbed up CLUSTER.toml")
    return known[0]


def _summary(name):
    state = State.load(name)
    if "summary" not in state.values:
        raise Failure(f"testbed {name} is not up: its `up` did not end well, or is still at work; if not: deploy/testbed down {name}")
    return state.values["directory"], state.values["summary"]


def plan(options):
    cluster = _read(options)
    directory = os.path.abspath(options.dir or names.default_directory(cluster.name))
    for line in bring_up.describe(cluster):
        say(f"# {line}")
    for command in network.commands(cluster):
        say(shlex.join(command))
    if network.taps(cluster):
        say(shlex.join([*daemons.inside(cluster.name, names.SWITCHES), *daemons.relay_command(cluster)]))
    say(shlex.join([*daemons.inside(cluster.name, names.MASTER), *daemons.with_settings(["millrace", "master"], daemons.master_settings(cluster, directory))]))
    for worker in cluster.workers:
        command = daemons.with_settings(["millrace", "worker"], daemons.worker_settings(cluster, worker, directory))
        say(shlex.join([*daemons.inside(cluster.name, worker.name), *command]))
    return 0


def up(options):
    cluster = _read(options)
    if options.tolerance <= 0:
        raise WrongUse(f"--tolerance {options.tolerance:g} is not above 0")
    _need_root()
    program = _program(options)
    directory = os.path.abspath(options.dir or names.default_directory(cluster.name))
    bring_up.up(cluster, program, directory, None if options.no_check else options.tolerance / 100, say)
    say(f"up; files are in {directory}. Go on with: deploy/testbed run -- millrace node list")
    return 0


def status(options):
    _need_root()
    name = _chosen(options.name)
    directory, summary = _summary(name)
    who = [*([(daemons.RELAY, names.SWITCHES)] if summary["relay"] else []), (names.MASTER, names.MASTER), *((w["name"], w["name"]) for w in summary["workers"])]
    alive = {daemon: daemons.is_alive(os.path.join(directory, daemon + ".pid"), name, namespace) for daemon, namespace in who}
    if options.json:
        say(json.dumps({"name": name, "directory": directory, "alive": alive, **summary}, indent=1))
        return 0 if all(alive.values()) else 1
    for line in summary["description"]:
        say(line)
    for line in links.table([links.Measured(**link) for link in summary["links"]]) if summary["links"] else ["the links were not measured"]:
        say(line)
    for w in summary["workers"]:
        say(f"{w['name']}  {w['address']}  /{w['datacenter']}/{w['rack']}  {'runs' if alive[w['name']] else 'has ended, see ' + w['name'] + '.log'}")
    for daemon, _ in who:
        if not daemon.startswith("worker"):
            say(f"{daemon}  {'runs' if alive[daemon] else 'has ended, see ' + daemon + '.log'}")
    say(f"files are in {directory}")
    return 0 if all(alive.values()) else 1


def run(options):
    _need_root()
    if not options.command:
        raise WrongUse("run: there is no command; as in: deploy/testbed run -- millrace node list")
    name = _chosen(options.name)
    directory, summary = _summary(name)
    bin_directory = os.path.dirname(summary["program"])  # behind the others: it has jobs named grep and sleep
    environment = {**os.environ, "MILLRACE_MASTER": summary["master"], "PATH": os.environ.get("PATH", os.defpath) + os.pathsep + bin_directory,
                   "XDG_STATE_HOME": os.path.join(directory, "client")}  # what commands remember of this cluster ends with it
    if options.at not in (names.CLIENT, names.MASTER, *(worker["name"] for worker in summary["workers"])):
        raise WrongUse(f"run: --at {options.at}: there is no such machine; there are client, master, worker0 to worker{len(summary['workers']) - 1}")
    command = [*daemons.inside(name, options.at), *options.command]
    os.execvpe(command[0], command, environment)


def down(options):
    _need_root()
    chosen = known_names() if options.all else [_chosen(options.name)]
    for name in chosen:
        with locked(name):
            state = State.load(name)
            teardown.remove(state, options.keep)
            kept = f"; files are kept in {state.values['directory']}" if options.keep and "directory" in state.values else ""
        say(f"testbed {name} is down{kept}")
    return 0


def _parser(about):
    parser = argparse.ArgumentParser(prog="deploy/testbed", description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(required=True, metavar="up|status|run|down|plan")
    for verb, call, text in (("up", up, "makes the testbed, measures its links, starts the cluster"), ("plan", plan, "prints the commands of up; needs no root")):
        made = verbs.add_parser(verb, help=text, description=text)
        made.add_argument("file", metavar="CLUSTER.toml")
        made.add_argument("--name", help="of the testbed, instead of the file's")
        made.add_argument("--dir", help=f"for data and logs; made, and removed by down (default {names.default_directory('NAME')})")
        made.add_argument("--scheduler", help="instead of the file's")
        made.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="an option of the master or of all workers")
        made.set_defaults(call=call)
        if verb == "up":
            made.add_argument("--bin", default=os.path.join(ROOT, "build", "release", "bin"), help="the directory of millrace (default build/release/bin)")
            made.add_argument("--tolerance", type=float, default=15, metavar="PERCENT", help="how far off a measured link may be (default 15)")
            made.add_argument("--no-check", action="store_true", help="measures nothing")
    for verb, call, text in (("status", status, "says what runs"), ("run", run, "runs a command on the client's network, with MILLRACE_MASTER set"),
                             ("down", down, "ends and removes everything, also after a crash")):
        made = verbs.add_parser(verb, help=text, description=text)
        made.set_defaults(call=call)
        if verb == "run":
            made.add_argument("--name", help="of the testbed; not needed if there is one")
            made.add_argument("--at", default=names.CLIENT, metavar="MACHINE", help="client (the default), master, or worker0 and on")
            made.add_argument("command", nargs=argparse.REMAINDER, metavar="-- COMMAND...")
            continue
        made.add_argument("name", nargs="?", metavar="NAME", help="of the testbed; not needed if there is one")
        if verb == "status":
            made.add_argument("--json", action="store_true")
        else:
            made.add_argument("--all", action="store_true", help="all testbeds of this machine")
            made.add_argument("--keep", action="store_true", help="keeps the data and the logs")
    return parser


def main(words, about):
    options = _parser(about).parse_args(words)
    if getattr(options, "command", None) and options.command[0] == "--":
        options.command = options.command[1:]
    try:
        return options.call(options)
    except (WrongUse, Failure) as error:
        print(f"testbed: {error}", file=sys.stderr)
        return 2 if isinstance(error, WrongUse) else 1
    except subprocess.SubprocessError as error:
        print(f"testbed: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # nobody reads on; what is still buffered has to go somewhere
        return 1
    except OSError as error:
        print(f"testbed: {error.filename or 'system'}: {error.strerror}", file=sys.stderr)
        return 1
