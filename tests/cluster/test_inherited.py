# SPDX-License-Identifier: Apache-2.0
"""What a program inherits from whoever starts it, what the system refuses it, and whom it waits for."""

import os
import resource
import signal
import subprocess
import sys
import tempfile
import unittest

from cluster import BIN, LIMIT_SECONDS, MILLRACE, Cluster


def ignoring(*signals):
    """For preexec_fn: the child is started with these signals ignored."""
    def set_up():
        for number in signals:
            signal.signal(number, signal.SIG_IGN)
    return set_up


def limited(what, value):
    return lambda: resource.setrlimit(what, (value, value))


class Inherited(unittest.TestCase):
    def setUp(self):
        self.tmp = tempfile.TemporaryDirectory(prefix="millrace-test-")
        self.environment = {**os.environ, "TMPDIR": self.tmp.name, "LC_ALL": "C", "PATH": os.environ["PATH"] + os.pathsep + BIN,
                            "PYTHONPATH": os.path.join(ROOT, "client", "python", "src")}
        self.environment.pop("MILLRACE_MASTER", None)

    def tearDown(self):
        self.tmp.cleanup()

    def local(self, *args, status=0, before=None, environment=None):
        done = subprocess.run([MILLRACE, "local", *args], env={**self.environment, **(environment or {})}, capture_output=True, stdin=subprocess.DEVNULL,
                              timeout=LIMIT_SECONDS, preexec_fn=before, text=True)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def source(self):
        path = os.path.join(self.tmp.name, "in")
        with open(path, "w") as f:
            f.write("b a\nc b\n" * 500)
        return path


class SignalTest(Inherited):
    def test_statuses_hold_where_the_parent_ignores_the_end_of_children(self):
        self.local("--workers", "1", "--", "false", status=1, before=ignoring(signal.SIGCHLD))
        self.local("--workers", "1", "--", "sh", "-c", "exit 7", status=7, before=ignoring(signal.SIGCHLD))
        self.local("--workers", "1", "--", "true", before=ignoring(signal.SIGCHLD))
        out = os.path.join(self.tmp.name, "out")
        self.local("--workers", "1", "run", "grep", self.source(), "-o", out, "-D", "grep.pattern=(", status=2, before=ignoring(signal.SIGCHLD))
        self.local("--workers", "1", "run", "wordcount", self.source(), "-o", out, before=ignoring(signal.SIGCHLD))

    def test_children_get_plain_signals(self):
        def inherited():
            ignoring(signal.SIGPIPE, signal.SIGCHLD)()
            signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        done = self.local("--workers", "1", "--", "grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status", before=inherited)
        masks = dict(line.split() for line in done.stdout.splitlines())
        self.assertEqual(int(masks["SigBlk:"], 16), 0)
        ours = sum(1 << (number - 1) for number in (signal.SIGPIPE, signal.SIGCHLD, signal.SIGXFSZ))
        self.assertEqual(int(masks["SigIgn:"], 16) & ours, 0)


class DescriptorTest(Inherited):
    def closed(self, command, closing, **options):
        """Runs it with these descriptors closed."""
        return subprocess.run(["sh", "-c", f'exec "$@" {closing}', "sh", *command], env=self.environment, timeout=LIMIT_SECONDS, **options)

    def test_a_master_with_closed_descriptors_writes_its_log_into_nothing_of_its_own(self):
        with Cluster(workers=1) as cluster:
            cluster.stop_master()
            args = [MILLRACE, "master", "--set", f"master.bind=127.0.0.1:0", "--set", f"master.directory={cluster.path('master')}",
                    "--set", f"master.address_file={cluster.path('address')}"]
            os.unlink(cluster.path("address"))
            master = subprocess.Popen(["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", *args])
            try:
                await_path(cluster.path("address"), master)
                held = {os.readlink(f"/proc/{master.pid}/fd/{fd}") for fd in (0, 1, 2)}
                self.assertEqual(held, {"/dev/null"})
            finally:
                master.terminate()
                self.assertEqual(master.wait(LIMIT_SECONDS), 0)
            done = subprocess.run([MILLRACE, "master", "repair", "--set", f"master.directory={cluster.path('master')}"], capture_output=True, text=True)
            self.assertIn("is sound", done.stdout)
            cluster.start_master()

    def test_local_and_the_file_system_with_closed_descriptors(self):
        script = 'echo text >"$TMPDIR/file"; millrace fs put "$TMPDIR/file" /file && millrace fs cat /file >"$TMPDIR/back"'
        for closing in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
            done = self.closed([MILLRACE, "local", "--workers", "1", "--", "sh", "-c", script], closing, stderr=subprocess.PIPE)
            self.assertEqual(done.returncode, 0, (closing, done.stderr))
            with open(os.path.join(self.tmp.name, "back")) as f:
                self.assertEqual(f.read(), "text\n", closing)

    def test_a_command_whose_output_is_closed_fails(self):
        done = self.closed([MILLRACE, "--version"], ">&-", stderr=subprocess.PIPE, text=True)
        self.assertEqual((done.returncode, done.stderr.count("\n")), (1, 1), done.stderr)
        self.assertIn("standard output", done.stderr)


ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TRACE = os.path.join(ROOT, "tests", "python", "traces", "unilu.swf")
# Commands that print something without a cluster.
ALONE = (("--version",), ("--help",), ("fs", "--help"), ("fs", "ls", "--help"), ("run", "--help"), ("run", "grep", "--help"), ("completion", "bash"), ("completion", "zsh"), ("completion", "fish"),
         ("scheduler", "list"), ("scheduler", "list", "--json"), ("compare", "--help"), ("master", "--help"), ("worker", "--help"),
         ("local", "--help"), ("export", "hadoop", "wordcount", "/books", "/counts"), ("trace", "import", "swf", TRACE), ("sim", "--help"), ("ca", "--help"), ("access", "--help"), ("job", "--help"))
# Those that ask one. JOB stands for a job that has ended, OUT for an output that is new each time. A command of the table below that
# is neither here nor among the silent ones fails test_every_command_is_known.
ASKING = (("fs", "ls", "/"), ("fs", "ls", "--json", "/"), ("fs", "ls", "--null", "/"), ("fs", "cat", "/in"), ("fs", "tail", "/in"), ("fs", "stat", "/in"), ("fs", "du", "/"), ("fs", "df"),
          ("fs", "fsck"), ("fs", "verify", "/in"), ("fs", "safemode", "get"), ("node", "list"), ("node", "list", "--json"), ("scheduler", "show"), ("scheduler", "set", "fair"), ("cluster", "status"),
          ("cluster", "status", "--json"), ("top", "--once"), ("whoami",), ("job", "list"), ("job", "status", "JOB"), ("job", "status", "--json", "JOB"), ("job", "counters", "JOB"), ("job", "history", "JOB"), ("job", "trace", "JOB"), ("job", "export", "JOB"), ("job", "why", "JOB"),
          ("job", "wait", "JOB"), ("job", "logs", "JOB"), ("job", "tasks", "JOB"), ("usage",), ("usage", "--json"), ("usage", "--csv"), ("run", "wordcount", "/in", "-o", "OUT"), ("run", "--json", "wordcount", "/in", "-o", "OUT"),
          ("run", "--detach", "wordcount", "/in", "-o", "OUT"), ("history", "export"), ("fs", "head", "/in"), ("fs", "get", "/in", "-"), ("fs", "get", "/in", "/dev/stdout"),
          ("fs", "count", "/"), ("fs", "find", "/"), ("fs", "checksum", "/in"), ("fs", "getmerge", "/in", "-"), ("fs", "quota", "show"), ("fs", "trash"))
# Those that print nothing of their own on standard output where they do what they are asked, and those whose words need more than there
# is here (a job that runs, a directory of certificates, a second cluster); of these the help is looked at.
SILENT = {("fs", verb) for verb in ("put", "test", "touch", "mkdir", "rm", "cp", "mv", "chmod", "chown", "chgrp", "setrep", "balance", "undelete")} | {
    ("job", "kill"), ("job", "priority"), ("job", "hold"), ("job", "release"), ("job", "rerun"), ("node", "decommission"), ("node", "recommission"), ("node", "maintenance"), ("node", "forget"), ("node", "unknown"),
    ("node", "discard-unknown"), ("scheduler", "check"), ("scheduler", "forget"), ("access", "check"), ("ca", "init"), ("ca", "issue"), ("ca", "renew"), ("ca", "list"), ("master", "backup"),
    ("master", "restore"), ("master", "repair"), ("advise",), ("tune",), ("compare",), ("sim",), ("local",), ("master",), ("worker",), ("support",), ("ui",), ("stream",), ("export", "spark"), ("trace", "export")}


def commands():
    """Every command, from what the completion offers: (verb,) or (verb, verb below it)."""
    def offers(*words):
        out = subprocess.run([MILLRACE, "completion", "offer", "--", *words, ""], capture_output=True, check=True, text=True).stdout
        return [word for word in out.split("\0") if word and word != "help"]
    verbs = offers()
    return [(verb,) for verb in verbs] + [(verb, name) for verb in verbs if verb not in ("run", "local") for name in offers(verb)]


class OutputTest(Inherited):
    outputs = 0

    def check(self, command, environment):
        """The command prints something; it says so and fails where that is lost, and it ends quietly where nobody reads it."""
        def run(out, redirected='exec "$@"'):
            type(self).outputs += 1
            words = [f"/out{self.outputs}" if word == "OUT" else word for word in command]
            return subprocess.run(["sh", "-c", redirected, "sh", MILLRACE, *words], env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.PIPE,
                                  timeout=LIMIT_SECONDS, text=True)
        to_descriptor = command[-1] == "/dev/stdout"
        with open("/dev/full", "w") as full:
            losing = [run(full)]
        if not to_descriptor:  # else it is named, and there is none
            losing.append(run(subprocess.DEVNULL, 'exec "$@" >&-'))
        for done in losing:
            said = [line for line in done.stderr.splitlines() if "standard output" in line or "/dev/stdout" in line]
            self.assertEqual((done.returncode, len(said)), (1, 1), (command, done.returncode, done.stderr))
        reader, writer = os.pipe()
        os.close(reader)
        with os.fdopen(writer, "w") as gone:
            done = run(gone)
        said = [line for line in done.stderr.splitlines() if "output" in line or "ipe" in line]
        self.assertEqual((done.returncode, said), (-signal.SIGPIPE, []), (command, done.stderr))

    def test_every_command_is_known(self):
        """Without a cluster: of each the help, which is printed as all else is."""
        told = {command[:2] for command in ALONE + ASKING} | {command[:1] for command in ALONE + ASKING} | SILENT
        found = commands()
        self.assertGreater(len(found), 50)
        self.assertEqual([command for command in found if command not in told], [], "say in the tables above how its output is looked at")
        for command in found:
            with self.subTest(command=command):
                self.check([*command, "--help"], self.environment)

    def test_commands_without_a_cluster(self):
        for command in ALONE:
            with self.subTest(command=command):
                self.check(command, self.environment)
        for program in ("wordcount", "millrace-generate"):
            with self.subTest(program=program):
                with open("/dev/full", "w") as full:
                    args = ["--millrace-describe"] if program == "wordcount" else ["text", "--size", "1K"]
                    done = subprocess.run([os.path.join(BIN, program), *args], stdout=full, stderr=subprocess.PIPE, text=True)
                self.assertEqual((done.returncode, done.stderr.count("\n")), (1, 1), done.stderr)

    def test_commands_of_a_cluster(self):
        with Cluster(workers=1) as cluster:
            cluster.run("fs", "put", "-", "/in", input=b"a b\nb\n")
            cluster.run("run", "wordcount", "/in", "-o", "/first")
            environment = cluster.environment()
            for command in ASKING:
                with self.subTest(command=command):
                    self.check([{"JOB": "1"}.get(word, word) for word in command], environment)

    def test_a_reader_that_wants_no_more_ends_the_command_quietly(self):
        for before in (None, ignoring(signal.SIGPIPE)):
            command = f"'{MILLRACE}' master --help; echo $? >'{self.tmp.name}/status'"
            done = subprocess.run(["sh", "-c", f"{{ {command}; }} | head -c 1 >/dev/null"], stderr=subprocess.PIPE, preexec_fn=before, text=True)
            self.assertEqual(done.stderr, "")


def await_path(path, process):
    """Returns when the path is there; fails if the process ends before. The directory's own events would need inotify, which is in
    cluster.await_file for children of the cluster."""
    from cluster import await_file
    await_file(path, process)


def daemons(directory):
    """The daemons of a local cluster that keeps this directory: {name: pid}."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                words = f.read().decode(errors="replace").split("\0")
        except OSError:
            continue
        if len(words) > 1 and words[1] in ("master", "worker") and any(word.endswith("=" + directory + "/master") for word in words):
            found["master"] = int(pid)
        for n in range(4):
            if f"worker.name=worker{n}" in words and f"worker.directory={directory}/worker{n}" in words:
                found[f"worker{n}"] = int(pid)
    return found


KILL = """
import os, signal, sys, time
sys.path.insert(0, sys.argv[1])
from test_inherited import daemons
os.kill(daemons(sys.argv[2])[sys.argv[3]], signal.SIGKILL)
signal.pause()
"""


class WaitTest(Inherited):
    def lose(self, workers, name, rest=(sys.executable, "-c", KILL), status=1):
        """Runs a command in a local cluster that kills one of its daemons and then waits for ever."""
        keep = os.path.join(os.path.realpath(self.tmp.name), f"keep-{name}-{workers}")
        return self.local("--workers", str(workers), "--keep", keep, "--", *rest, os.path.dirname(os.path.abspath(__file__)), keep, name, status=status,
                          environment={"PYTHONDONTWRITEBYTECODE": "1"})

    def test_a_command_ends_with_its_cluster(self):
        for name in ("worker0", "master"):
            with self.subTest(lost=name):
                done = self.lose(1, name)
                self.assertIn(f"{name} ended with exit status 137", done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)

    def test_a_cluster_that_has_workers_left_goes_on_and_says_what_it_lost(self):
        script = KILL.replace("signal.pause()", "os.execlp('millrace', 'millrace', 'fs', 'ls', '/')")
        done = self.lose(2, "worker1", rest=(sys.executable, "-c", script), status=0)
        self.assertIn("worker1 ended with exit status 137", done.stderr)
        self.assertIn("1 worker goes on", done.stderr)

    def test_a_job_over_local_files_ends_with_its_cluster(self):
        keep = os.path.join(os.path.realpath(self.tmp.name), "keep")
        run = subprocess.Popen([MILLRACE, "local", "--workers", "1", "--keep", keep, "run", "sleep", "-o", os.path.join(self.tmp.name, "out"),
                                "-D", "sleep.map_time=1h"], env=self.environment, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        for line in run.stderr:
            if "job1" in line:
                break
        os.kill(daemons(keep)["worker0"], signal.SIGKILL)
        with run.stderr:
            rest = run.stderr.read()
        self.assertEqual(run.wait(LIMIT_SECONDS), 1, rest)
        self.assertIn("no worker is left", rest)

    def test_a_worker_that_cannot_start_is_told_of(self):
        done = self.local("--workers", "1", "--set", "worker.port=1", "--set", "worker.host=256.1.1.1", "--", "true", status=1)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)

    def test_without_a_loopback_interface_it_says_so(self):
        unshare = ["unshare", "-n", "--"] if os.geteuid() == 0 else ["unshare", "-r", "-n", "--"]
        if subprocess.run([*unshare, "true"], stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest("no network namespaces here")
        done = subprocess.run([*unshare, MILLRACE, "local", "--workers", "1", "--", "true"], env=self.environment, capture_output=True, timeout=LIMIT_SECONDS, text=True)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("loopback", done.stderr)


class LimitTest(Inherited):
    def test_too_few_descriptors(self):
        for limit in (8, 16, 24, 32, 48, 64):
            done = subprocess.run([MILLRACE, "local", "--workers", "1", "--", "millrace", "fs", "ls", "/"], env=self.environment, capture_output=True, stdin=subprocess.DEVNULL,
                                  timeout=LIMIT_SECONDS, preexec_fn=limited(resource.RLIMIT_NOFILE, limit), text=True)
            self.in_words(done, limit)

    def test_too_small_files(self):
        for limit in (0, 1000, 100_000, 5_000_000):
            done = subprocess.run([MILLRACE, "local", "--workers", "1", "--", "millrace", "fs", "put", "/bin/bash", "/b"], env=self.environment, capture_output=True, stdin=subprocess.DEVNULL,
                                  timeout=LIMIT_SECONDS, preexec_fn=limited(resource.RLIMIT_FSIZE, limit), text=True)
            self.in_words(done, limit)

    def test_too_little_memory(self):
        for limit in (80 << 20, 120 << 20, 200 << 20, 400 << 20):
            done = subprocess.run([MILLRACE, "local", "--workers", "1", "--", "millrace", "fs", "ls", "/"], env=self.environment, capture_output=True, stdin=subprocess.DEVNULL,
                                  timeout=LIMIT_SECONDS, preexec_fn=limited(resource.RLIMIT_AS, limit), text=True)
            self.in_words(done, limit)

    def test_too_few_processes(self):
        if os.geteuid() != 0:
            self.skipTest("the limit counts all that this user runs")
        own = 61234  # a user who runs nothing else
        os.chown(self.tmp.name, own, own)
        for limit in (1, 2, 3, 5, 8, 12, 20):
            def before(limit=limit):
                os.setgid(own)
                os.setuid(own)
                resource.setrlimit(resource.RLIMIT_NPROC, (limit, limit))
            done = subprocess.run([MILLRACE, "local", "--workers", "1", "--", "millrace", "fs", "ls", "/"], env=self.environment, capture_output=True, stdin=subprocess.DEVNULL,
                                  timeout=LIMIT_SECONDS, preexec_fn=before, text=True)
            self.in_words(done, limit)

    def in_words(self, done, limit):
        """It works, or it fails with a line; nothing aborts."""
        for bad in ("terminate called", "what():", "check failed", "Aborted", "exit status 134", "exit status 139"):
            self.assertNotIn(bad, done.stderr, limit)
        self.assertIn(done.returncode, (0, 1, 2, 3), (limit, done.stderr))
        if done.returncode != 0:
            self.assertIn("millrace: ", done.stderr, limit)


if __name__ == "__main__":
    unittest.main()
