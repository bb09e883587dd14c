# SPDX-License-Identifier: Apache-2.0
"""Runs a job on the cluster, as `millrace run` does there, with a program and data of this machine.

  deploy/cluster submit -f FILE [-l ACCOUNT] [OPTIONS] JOB [INPUT...] -o OUTPUT [OPTIONS OF millrace run]

JOB         a file here that can be executed, which is brought to the master (once: what is there is known by its checksum);
            otherwise the name of a bundled job
INPUT       begins with "/": a path of the cluster's file system
            otherwise, if it is a file or directory here: that is brought to the cluster's file system, and removed when the job has ended
            file:PATH is one here in any case, also where PATH begins with "/"
-o OUTPUT   a directory of the cluster's file system, which must not exist
--fetch DIR brings what the job has written to DIR here, which must not exist or be empty; without -o nothing stays in the cluster
--keep      keeps the INPUTs that were brought there; a later submit of the same bytes under the same name uses them

Everything else goes on to `millrace run`, which `deploy/cluster submit -f FILE --help JOB` explains. With a terminal Ctrl-C asks whether to
kill the job, and without one it kills it. Whatever was brought there for the job alone is removed at its end, also if this program or the
connection has ended before; the job goes on then. The job runs as the account with which ssh logs in (-l names another): it has the
certificate of that account.

Exit status: 0 the job succeeded; 1 it failed; 2 wrong usage; 3 the cluster cannot be reached; 130 interrupted.
"""

import json
import os
import secrets
import shlex
import signal
import subprocess
import sys

from cluster import ansible, progress
from cluster.failure import Failure, Unreachable, WrongUse
from cluster.local_files import Arriving, Input, checked_pieces, checksum
from cluster.remote_agent import literal

# Options of `millrace run` that stand alone. Any other one takes a value.
FLAGS = {"--detach", "--json", "--list", "--help", "-h", "--step", "--even-if-failed", "--hold"}
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "remote_agent.py"), encoding="utf-8") as agent:
    AGENT = agent.read()


class Words:
    """The command line: its operands, by their places among all words, and what it asks of this program."""

    def __init__(self, words):
        self.words, self.operands = [], []
        self.fetch, self.keep, self.output, self.flags = None, False, None, set()
        rest, plain = list(words), False
        while rest:
            word = rest.pop(0)
            if plain or not word.startswith("-") or word == "-":
                self.operands.append(len(self.words))
                self.words.append(word)
            elif word == "--":
                plain = True  # and is put again by `line`
            elif word == "--keep":
                self.keep = True
            elif word == "--fetch" or word.startswith("--fetch="):
                self.fetch = self._value(word, "--fetch", rest)
            elif word in FLAGS:
                self.flags.add(word)
                self.words.append(word)
            else:
                self._option(word, rest)

    @staticmethod
    def _value(word, name, rest):
        if word != name:
            return word[len(name) + 1:]
        if not rest:
            raise WrongUse(f"{name} needs a value")
        return rest.pop(0)

    def _option(self, word, rest):
        """An option with a value: -o X, -oX, --output X or --output=X."""
        joined = "=" in word if word.startswith("--") else len(word) > 2
        value = (word.partition("=")[2] if word.startswith("--") else word[2:]) if joined else rest.pop(0) if rest else None
        if value is None:
            raise WrongUse(f"{word} needs a value")
        if word.startswith("-o") or word.partition("=")[0] == "--output":
            self.output = value
        self.words += [word] if joined else [word, value]

    def line(self, operands, *more):
        """The words after `millrace run`, with other operands. They come last, after "--": they may begin with a dash."""
        taken = set(self.operands)
        flags = [word for place, word in enumerate(self.words) if place not in taken and word not in ("--detach", "--json")]
        return [*flags, *more, "--", *operands]


def where(word, takes_cluster=True):
    """The path here that an INPUT means; None if it means one of the cluster."""
    if word.startswith("file:"):
        path = word[len("file:"):]
        if not os.path.exists(path):
            raise WrongUse(f'there is no file "{path}"')
        return path
    if word.startswith("/") and takes_cluster:
        return None
    if os.path.exists(word):
        return word
    if word.startswith(("./", "../")):
        raise WrongUse(f'there is no file "{word}"; a path of the cluster begins with "/"')
    return None


class Link:
    """One call of the other side's program by ssh."""

    def __init__(self, cluster, asked, terminal=False):
        # `exec` and not the account's shell, so that a signal of the connection reaches the program.
        command = "exec python3 -c " + shlex.quote(AGENT) + " " + shlex.quote(json.dumps(asked))
        options = ["-tt"] if terminal else ["-T"]
        pipe = None if terminal else subprocess.PIPE
        out = subprocess.PIPE if asked["do"] != "run" else None
        # Without a terminal there Ctrl-C is not for ssh: the other side is told of it. ssh leaves the signal ignored, and may still ask for a
        # passphrase at the terminal here.
        ignored = None if terminal else lambda: signal.signal(signal.SIGINT, signal.SIG_IGN)
        self.process = subprocess.Popen([*cluster.node(options=options), command], stdin=pipe, stdout=out, preexec_fn=ignored)

    def tell(self, about):
        self.process.stdin.write((json.dumps(about) + "\n").encode())
        self.process.stdin.flush()

    def listen(self):
        line = self.process.stdout.readline()
        if not line.endswith(b"\n"):
            self.fail()
        return json.loads(line)

    def fail(self):
        """Raises what the end of the other side means."""
        if self.end() == ansible.SSH_FAILED:
            raise Unreachable("the master cannot be reached by ssh")
        raise Failure("the master refused it")  # and said why

    def end(self):
        """Closes the connection; returns the exit status of the other side."""
        if self.process.stdin:
            try:
                self.process.stdin.close()
            except BrokenPipeError:
                pass
        return self.process.wait()

    def stop(self):
        """Ends it at once: the other side sees the end of its input, removes what is not whole, and ends."""
        try:
            self.end() if self.process.poll() is None else None
        except KeyboardInterrupt:
            self.process.kill()
            self.process.wait()


def receive(cluster, program, inputs, asked):
    """Brings the program and inputs there. Returns where they are."""
    link = Link(cluster, {"do": "receive", "program": program and program.about(), **asked})
    try:
        link.tell([one.about() for one in inputs])
        wanted = link.listen()
        sent = [one for one, has in zip([program, *inputs], [wanted["program"], *wanted["inputs"]]) if one and has]
        shown = progress.Progress("upload", sum(one.size() for one in sent))
        try:
            for one in sent:
                shown.name(one.name)
                for piece in one.pieces():
                    link.process.stdin.write(piece)
                    shown.add(len(piece))
            link.process.stdin.flush()
        except BrokenPipeError:
            link.fail()
        finally:
            shown.end()
        there = link.listen()
        link.end()
        return there
    finally:
        link.stop()


class Program:
    def __init__(self, path):
        if not os.access(path, os.X_OK):
            raise WrongUse(f'"{path}" cannot be executed')
        self.path, self.name = path, os.path.basename(path)
        self.sha256, self._size = checksum(path)

    def about(self):
        return {"name": self.name, "sha256": self.sha256, "size": self._size}

    def size(self):
        return self._size

    def pieces(self):
        return checked_pieces(self.path, self._size, self.sha256)


def run(cluster, asked, terminal):
    """Runs the job there, with its progress on this terminal. Returns its exit status."""
    link = Link(cluster, {"do": "run", "terminal": terminal, **asked}, terminal)

    def interrupt(*_):
        if terminal:
            return  # a terminal has sent it there itself
        try:
            link.process.stdin.write(b"interrupt\n")
            link.process.stdin.flush()
        except (BrokenPipeError, ValueError):
            pass
    before = {name: signal.signal(name, interrupt) for name in (signal.SIGINT, signal.SIGTERM)}
    try:
        status = link.process.wait()
    finally:
        for name, handler in before.items():
            signal.signal(name, handler)
        if link.process.stdin:
            try:
                link.process.stdin.close()
            except BrokenPipeError:
                pass
    if status == ansible.SSH_FAILED:
        raise Unreachable("the connection to the master has ended; a job that was submitted goes on: `deploy/cluster status` shows it")
    return status if status >= 0 else 128 - status


def fetch(cluster, arriving, path, remove):
    """Brings a directory of the cluster's file system here."""
    link = Link(cluster, {"do": "send", "path": path, "run": remove})
    try:
        with arriving:
            found = link.listen()
            shown = progress.Progress("fetch", sum(size for _, size in found if size))
            try:
                for name, size in found:
                    if size is None:
                        arriving.directory(name)
                        continue
                    shown.name(name)
                    for piece in arriving.file(name, size, link.process.stdout):
                        shown.add(piece)
            finally:
                shown.end()
            arriving.done()
        link.tell("taken")
        if link.end() != 0:
            link.fail()
    except OSError as error:
        raise Failure(f'the output could not be written to "{arriving.path}": {error.strerror}; it stays in the cluster as {path}') from None
    except Failure as error:
        raise type(error)(f"{error}; the output stays in the cluster as {path}") from None
    finally:
        link.stop()


def submit(cluster, rest):
    words = Words(rest)
    if words.flags & {"--help", "-h", "--list"}:
        return cluster.ask(shlex.join(["millrace", "run", *words.words]))
    if not words.operands:
        raise WrongUse("which job? deploy/cluster submit -f FILE JOB [INPUT...] -o OUTPUT")
    detach, as_json = "--detach" in words.flags, "--json" in words.flags
    if words.fetch and detach:
        raise WrongUse("--fetch waits for the job, and --detach does not: leave one of them out")
    if not words.fetch and words.output is None:
        raise WrongUse("the output is missing: -o OUTPUT is a directory of the cluster's file system, --fetch DIRECTORY one here")
    arriving = Arriving(words.fetch) if words.fetch else None
    job, *operands = (words.words[place] for place in words.operands)
    program = Program(job) if os.path.isfile(job) else None
    if not program and "/" in job:
        raise WrongUse(f'there is no file "{job}"')
    local = [where(word) for word in operands]
    inputs = [Input(path) for path in local if path]
    asked = {"token": secrets.token_hex(8), "keep": words.keep, "output": words.output is None}
    there = {"program": None, "inputs": [], "run": None}
    if program or inputs or asked["output"]:
        try:
            there = receive(cluster, program, inputs, asked)
        except KeyboardInterrupt:
            raise Failure("interrupted while it was brought there; nothing stays") from None
    brought = iter(there["inputs"])
    # A path that is brought there is meant as it is written, and not as a pattern.
    paths = [literal(next(brought)) if path else word for word, path in zip(operands, local)]
    output = words.output or there["output"]
    line = words.line([there["program"] or job, *paths], *([] if words.output else ["-o", output]))
    own = bool(there["run"]) and (asked["output"] or (bool(inputs) and not words.keep))
    terminal = sys.stdin.isatty() and sys.stdout.isatty() and sys.stderr.isatty()
    status = run(cluster, {"words": line, "json": as_json, "detach": detach, "run": there["run"], "remove": own, "fetch": bool(words.fetch)}, terminal)
    if status == 0 and arriving:
        fetch(cluster, arriving, output, there["run"] if own else None)
        print(f'the output is in "{words.fetch}"', file=sys.stderr)
    return status

