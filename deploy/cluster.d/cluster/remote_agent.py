# SPDX-License-Identifier: Apache-2.0
"""The part of `deploy/cluster submit` that runs on the master: the laptop sends this text to the account's own Python there, with one word, a
JSON object that says what to do. Python's own modules alone, since nothing is installed for it.

  receive   reads a program and files from standard input and stores them: the program in the account's cache, by its checksum, and the
            files in a private directory of the cluster's file system
  run       runs the job, waits for it, and removes the files that were brought for it once the job has ended
  send      writes a directory of the cluster's file system to standard output

What is sent is a line of JSON, and after it the bytes of the files that it names, one after another. A stream that ends early is known by
that, and what it has left behind is removed.
"""

import hashlib
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

PIECE = 1 << 20
KEEP_PROGRAMS = 30 * 24 * 3600  # seconds after the last use
MILLRACE = os.environ.get("MILLRACE_PROGRAM", "millrace")


class Refused(Exception):
    """It cannot be done; the text says why."""


def tell(stream, about):
    stream.write((json.dumps(about) + "\n").encode())
    stream.flush()


def listen(stream):
    line = stream.readline()
    if not line.endswith(b"\n"):
        raise Refused("the connection ended")
    return json.loads(line)


def pieces(stream, size):
    """The next bytes of a stream, in pieces."""
    while size > 0:
        piece = stream.read(min(PIECE, size))
        if not piece:
            raise Refused("the connection ended before all was here")
        size -= len(piece)
        yield piece


def literal(path):
    """A path as a pattern that only the path itself fits (dfs/wire/pattern.h)."""
    return re.sub(r"[*?\[\]{},\\]", r"\\\g<0>", path) if re.search(r"[*?\[{]", path) else path


def fs(*words, **options):
    """Runs `millrace fs`. What it says besides its output is kept."""
    return subprocess.run([MILLRACE, "fs", *words], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False, **options)


def must(done, what):
    if done.returncode != 0:
        raise Refused(f"{what}: {os.fsdecode(done.stderr).strip() or f'exit status {done.returncode}'}")
    return done


def remove(path):
    """Removes a directory of the cluster's file system, if it is there. It does not go to the trash."""
    if fs("test", "-e", path).returncode == 0:
        done = fs("rm", "-r", "--skip-trash", literal(path))
        if done.returncode != 0:
            sys.stderr.write(f"cluster: {path} stays in the cluster's file system: {os.fsdecode(done.stderr).strip()}\n")


def own_directory(path):
    """Makes a directory that only this account may enter, or checks that it is one."""
    os.makedirs(path, 0o700, exist_ok=True)
    about = os.lstat(path)
    if not os.path.isdir(path) or os.path.islink(path) or about.st_uid != os.getuid():
        raise Refused(f"{path} is not a directory of this account")
    os.chmod(path, 0o700)


def feed(process, source):
    """Gives a process its standard input, and waits for its end. It may take long about both: if the connection ends meanwhile, Refused."""
    gone = select.POLLHUP | select.POLLRDHUP | select.POLLERR
    to, end = process.stdin.fileno(), os.pidfd_open(process.pid)
    try:
        os.set_blocking(to, False)
        for piece in source:
            while piece:
                for fd, _ in wait_for((to, select.POLLOUT), (0, gone)):
                    if fd == 0:
                        raise Refused("the connection ended")
                    try:
                        piece = piece[os.write(to, piece):]
                    except BlockingIOError:
                        pass
        process.stdin.close()
        while end not in (ready := [fd for fd, _ in wait_for((end, select.POLLIN), (0, gone))]):
            if ready:
                raise Refused("the connection ended")
    except BrokenPipeError:
        process.wait()  # its status says more
    finally:
        os.close(end)


def wait_for(*what):
    poll = select.poll()
    for fd, events in what:
        poll.register(fd, events)
    return poll.poll()


class Programs:
    """The cache of programs on the master: HOME/.cache/millrace-submit/CHECKSUM/NAME."""

    def __init__(self):
        self.directory = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache"), "millrace-submit")
        own_directory(self.directory)

    def place(self, program):
        if not re.fullmatch("[0-9a-f]{64}", program["sha256"]) or os.path.basename(program["name"]) != program["name"]:
            raise Refused("the program has no name")
        return os.path.join(self.directory, program["sha256"], program["name"])

    def prune(self):
        for name in os.listdir(self.directory):
            path = os.path.join(self.directory, name)
            if time.time() - os.lstat(path).st_mtime > KEEP_PROGRAMS:
                shutil.rmtree(path, ignore_errors=True)

    def has(self, program):
        path = self.place(program)
        if not os.path.isfile(path) or os.path.getsize(path) != program["size"]:
            return False
        os.utime(os.path.dirname(path))
        return True

    def store(self, program, stream):
        aside = tempfile.mkdtemp(prefix=".new-", dir=self.directory)
        try:
            path, digest = os.path.join(aside, program["name"]), hashlib.sha256()
            with open(path, "wb") as f:
                for piece in pieces(stream, program["size"]):
                    digest.update(piece)
                    f.write(piece)
            if digest.hexdigest() != program["sha256"]:
                raise Refused("the program changed while it was sent")
            os.chmod(path, 0o700)
            os.makedirs(os.path.dirname(self.place(program)), 0o700, exist_ok=True)
            os.replace(path, self.place(program))
        finally:
            shutil.rmtree(aside, ignore_errors=True)


class Uploads:
    """The files that are brought to the cluster's file system, below /.uploads-ACCOUNT, which only the account may enter."""

    def __init__(self, account, token, keep):
        self.base, self.keep = f"/.uploads-{account}", keep
        self.run = f"{self.base}/run-{token}"

    def kept(self, one):
        return f"{self.base}/sha256-{one['sha256']}/{one['name']}"

    def place(self, number, one, there):
        """Where an input lies once it is here. Each has a directory of its own: two may have one name."""
        return self.kept(one) if there or self.keep else f"{self.run}/{number}/{one['name']}"

    def has(self, one):
        return fs("test", "-e", self.kept(one)).returncode == 0

    def make(self, path):
        """Makes a directory that only the account may enter."""
        must(fs("mkdir", "--mode=700", path), f"make {path} in the cluster's file system")

    def store(self, number, one, stream):
        """Reads the files of an input. It gets its name only when all of it is here."""
        aside = f"{self.run}/new-{number}"
        self.make(aside)
        target = f"{aside}/{one['name']}"
        for directory in one["directories"]:
            self.make(f"{target}/{directory}" if directory else target)
        for name, size in one["files"]:
            path = f"{target}/{name}" if name else target
            put = subprocess.Popen([MILLRACE, "fs", "put", "--progress=none", "-", path], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
            try:
                feed(put, pieces(stream, size))
            except BaseException:
                put.kill()  # what has not all come must not be stored
                raise
            finally:
                put.wait()
            if put.returncode != 0:
                raise Refused(f"{path} could not be stored in the cluster's file system")
        final = self.place(number, one, False)
        self.make(os.path.dirname(final))
        moved = fs("mv", literal(target), final)
        if moved.returncode != 0 and not (self.keep and self.has(one)):  # another submit was quicker
            must(moved, f"name {final}")


def account():
    import pwd
    return re.sub("[^A-Za-z0-9._-]", "_", pwd.getpwuid(os.getuid()).pw_name)


def receive(asked):
    """Stores what is missing."""
    signal.signal(signal.SIGHUP, lambda *_: sys.exit(1))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    out, source = sys.stdout.buffer, sys.stdin.buffer
    uploads = Uploads(account(), asked["token"], asked["keep"])
    programs = Programs() if asked["program"] else None
    complete = False
    try:
        if programs:
            programs.prune()
        there = programs.has(asked["program"]) if programs else True
        # The list of files may be long, and comes by standard input.
        inputs = listen(source)
        known = [uploads.has(one) for one in inputs]
        tell(out, {"program": not there, "inputs": [not has for has in known]})
        if not there:
            programs.store(asked["program"], source)
        if inputs or asked["output"]:
            uploads.make(uploads.base)
            if not all(known) or asked["output"]:
                uploads.make(uploads.run)
        for number, (one, has) in enumerate(zip(inputs, known)):
            if not has:
                uploads.store(number, one, source)
        if uploads.keep and not asked["output"]:
            remove(uploads.run)
        tell(out, {"program": programs.place(asked["program"]) if programs else None, "run": uploads.run, "output": f"{uploads.run}/output",
                   "inputs": [uploads.place(number, one, has) for number, (one, has) in enumerate(zip(inputs, known))]})
        complete = True
    finally:
        if not complete:
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
            remove(uploads.run)


def child_signals():
    for name in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGPIPE):
        signal.signal(name, signal.SIG_DFL)


class Run:
    """The job, and what becomes of its files."""

    def __init__(self, asked):
        self.asked = asked
        self.child = None
        self.job = None  # its number, once it is known
        self.unknown = False  # whether there may be jobs whose numbers are not known: those of a pipeline

    def call(self, words, **options):
        """Runs a command to its end, which Ctrl-C reaches by the terminal. Returns its exit status as a shell has it."""
        self.child = subprocess.Popen(words, preexec_fn=child_signals, **options)  # noqa: PLW1509 (one thread, which only reads)
        return self.child

    @staticmethod
    def status(returncode):
        return returncode if returncode >= 0 else 128 - returncode

    def obey(self):
        """Without a terminal, a word on standard input is Ctrl-C. The end of the input says nothing."""
        # By its number: at the end of the program nobody may hold the lock of sys.stdin.
        while os.read(0, 100):
            if self.child is not None and self.child.poll() is None:
                self.child.send_signal(signal.SIGINT)

    def submit(self):
        """Submits the job. Returns None, or the exit status if that is all."""
        child = self.call([MILLRACE, "run", "--detach", "--json", *self.asked["words"]], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        pipeline = False
        for line in child.stderr:
            # A pipeline of jobs is driven from where it is submitted, and refuses to be left alone.
            if b"--detach: a pipeline is driven from here" in line:
                pipeline = True
            else:
                sys.stderr.buffer.write(line)
                sys.stderr.buffer.flush()
        said = child.stdout.read()
        status = self.status(child.wait())
        if pipeline:
            self.unknown = True
            return self.status(self.call([MILLRACE, "run", *(["--json"] if self.asked["json"] else []), *self.asked["words"]], stdin=self.stdin()).wait())
        if status == 0:
            self.job = json.loads(said)["job"]
        self.unknown = status > 128
        return status if status != 0 else None

    def stdin(self):
        return None if self.asked["terminal"] else subprocess.DEVNULL

    def wait(self):
        if self.asked["detach"]:
            print(json.dumps({"job": self.job}) if self.asked["json"] else f"submitted job {self.job}", flush=True)
            return 0
        return self.status(self.call([MILLRACE, "job", "wait", *(["--json"] if self.asked["json"] else []), str(self.job)], stdin=self.stdin()).wait())

    def live(self):
        """Whether the job goes on; True if nobody knows."""
        if self.job is None:
            done = subprocess.run([MILLRACE, "job", "list", "--live", "--json"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
            return done.returncode != 0 or json.loads(done.stdout) != []
        done = subprocess.run([MILLRACE, "job", "status", "--json", str(self.job)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
        try:
            return done.returncode != 0 or json.loads(done.stdout)["ended_at"] is None
        except (ValueError, KeyError):
            return True

    def clean_later(self):
        """A process of its own waits for the end of the job, and then removes its files."""
        if os.fork() != 0:
            return
        os.setsid()
        null = os.open(os.devnull, os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(null, fd)
        subprocess.run([MILLRACE, "job", "wait", str(self.job)], check=False)
        if not self.live():
            remove(self.asked["run"])
        os._exit(0)

    def clean(self, status):
        run, fetched = self.asked["run"], self.asked["fetch"]
        if not run or not self.asked["remove"] or (status == 0 and fetched):  # those are removed after they were fetched
            return
        ended = (status == 0 and not self.asked["detach"]) or (self.job is None and not self.unknown) or not self.live()
        if ended:
            remove(run)
        elif fetched:
            sys.stderr.write(f"cluster: what the job writes stays in the cluster's file system, below {run}\n")
        elif self.job is not None:
            self.clean_later()
        else:
            sys.stderr.write(f"cluster: jobs go on; {run} stays in the cluster's file system\n")


def run(asked):
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # if the connection breaks the job goes on, and its files are removed when it ends
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    job = Run(asked)
    if not asked["terminal"]:
        threading.Thread(target=job.obey, daemon=True).start()
    status = job.submit()
    if status is None:
        status = job.wait()
    try:
        job.clean(status)
    except OSError:
        pass  # nobody reads what it says
    return status


def send(asked):
    """Writes the files below a directory, and removes what was made for one job alone."""
    out, path = sys.stdout.buffer, asked["path"]
    found = json.loads(must(fs("ls", "-R", "--json", literal(path), stdout=subprocess.PIPE), f"list {path}").stdout)
    for one in found:
        if one.get("path_encoding") == "percent":
            one["path"] = os.fsdecode(urllib.parse.unquote_to_bytes(one["path"]))
    path = "/" + path.strip("/")
    if any(not one["path"].startswith(path + "/") for one in found):
        raise Refused(f"{path} is not a directory")
    tell(out, [[one["path"][len(path) + 1:], one["length"] if one["type"] == "file" else None] for one in found])
    for one in found:
        if one["type"] != "file":
            continue
        with subprocess.Popen([MILLRACE, "fs", "cat", literal(one["path"])], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as cat:
            for piece in pieces(cat.stdout, one["length"]):
                out.write(piece)
        if cat.returncode != 0:
            raise Refused(f"{one['path']} could not be read")
    out.flush()
    if listen(sys.stdin.buffer) == "taken" and asked["run"]:
        remove(asked["run"])


def main():
    asked = json.loads(sys.argv[1])
    try:
        return {"receive": receive, "run": run, "send": send}[asked["do"]](asked) or 0
    except Refused as error:
        sys.stderr.write(f"cluster: {error}\n")
    except BrokenPipeError:
        pass
    except FileNotFoundError as error:
        sys.stderr.write(f"cluster: {error.filename} is not on the master\n")
    return 1


if __name__ == "__main__":
    status = main()
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    sys.exit(status)
