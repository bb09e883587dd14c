# SPDX-License-Identifier: Apache-2.0
"""deploy/cluster without machines and without a cloud. Programs of the directory stand_ins stand in for ssh, Ansible and millrace; that for ssh
runs the other side's text here, in a directory of its own. What needs Ansible's packages is skipped, and said so, where they are not."""

import contextlib
import datetime
import http.server
import importlib.util
import json
import os
import pty
import random
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import types
import unittest

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
CLUSTER = os.path.join(ROOT, "deploy", "cluster")
STAND_INS = os.path.join(HERE, "stand_ins")
sys.path.insert(0, os.path.join(ROOT, "deploy", "cluster.d"))

from cluster import local_files, price_list, remote_agent, spending, status, submit  # noqa: E402
from cluster.failure import Failure, WrongUse  # noqa: E402

price = spending.price
HAS_PACKAGES = all(importlib.util.find_spec(name) for name in ("yaml", "boto3"))
NAMES = ["plain", "two words", "it's", 'a "quote"', "$HOME `id`", "new\nline", "-dash", "back\\slash", "star*[1]?{a,b}", "umläut", "a;b&c|d>e"]
LIMIT = 60  # seconds for anything that a test waits for


class CommandTest(unittest.TestCase):
    def setUp(self):
        self.tmp = tempfile.TemporaryDirectory(prefix="millrace-cluster-")
        self.addCleanup(self.tmp.cleanup)
        for name in ("home", "files", "jobs", "bin", "programs", "here"):
            os.makedirs(self.path(name))
        for name in ("ssh", "ansible-inventory", "ansible-playbook"):
            os.symlink(os.path.join(STAND_INS, name), self.path("bin", name))
        os.symlink(os.path.join(STAND_INS, "millrace"), self.path("programs", "millrace"))
        os.symlink(sys.executable, self.path("programs", "python3"))
        self.hosts = {"one": {"ansible_host": "10.0.0.1", "ansible_user": "admin", "ansible_ssh_common_args": "-o 'ProxyCommand=ssh -W %h:%p gate'"}, "two": {"ansible_port": 2222}}
        self.inventory()
        self.write("hosts.yml", "master: {hosts: {one: {}}}\n")
        self.environment = {"PATH": self.path("bin") + ":" + os.environ["PATH"], "HOME": self.path("here"), "STAND_IN": self.tmp.name, "LC_ALL": "C.UTF-8",
                            "AWS_ACCESS_KEY_ID": "someone", "AWS_SECRET_ACCESS_KEY": "some-secret", "AWS_MAX_ATTEMPTS": "1", "no_proxy": "*", "MILLRACE_ANSIBLE": self.path()}

    def path(self, *parts):
        return os.path.join(self.tmp.name, *parts)

    def write(self, name, text, mode=0o644):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            f.write(text if isinstance(text, bytes) else text.encode())
        os.chmod(path, mode)
        return path

    def inventory(self):
        self.write("inventory.json", json.dumps({"master": {"hosts": ["one"]}, "worker": {"hosts": ["two"]}, "_meta": {"hostvars": self.hosts}}))

    def command(self, verb, *words, cloud=False):
        return [sys.executable, CLUSTER, verb, *(["-f", self.path("demo.yml")] if cloud else ["-i", self.path("hosts.yml")]), *words]

    def cluster(self, verb, *words, status=0, cloud=False, environment=None):
        """Runs deploy/cluster; returns what it said on both."""
        done = subprocess.run(self.command(verb, *words, cloud=cloud), cwd=self.path("here"), env={**self.environment, **(environment or {})}, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=LIMIT)
        self.assertEqual(done.returncode, status, done.stdout)
        return done.stdout

    def calls(self, program):
        try:
            with open(self.path(program + ".calls"), encoding="utf-8") as f:
                return [json.loads(line) for line in f]
        except FileNotFoundError:
            return []

    def below(self, directory):
        return sorted(os.path.relpath(os.path.join(place, name), self.path(directory)) for place, _, names in os.walk(self.path(directory)) for name in names)

    def in_the_cluster(self):
        """The files of the cluster but those that jobs have written to where they were told."""
        return [name for name in self.below("files") if not name.startswith("out")]

    def read(self, *parts):
        with open(self.path(*parts), "rb") as f:
            return f.read()


class SubmitTest(CommandTest):
    def job(self, name="job"):
        return self.write(f"here/{name}", "#!/bin/sh\n", 0o755)

    def test_data_goes_there_and_results_come_back(self):
        self.job()
        for number, name in enumerate(NAMES):
            self.write(f"here/data/{name}/{name}", f"text {number}")
        self.write("here/data/empty", b"")
        self.write("here/more words", b"\0\xff" * 700_000)
        self.cluster("submit", "./job", "data", "more words", "--fetch", "re sult")
        lines = {os.path.join("data", name, name).encode() + b":text %d" % number for number, name in enumerate(NAMES)}
        found = self.read("here", "re sult", "part-r-00000")
        for line in lines:
            self.assertIn(line + b"\n", found)
        self.assertIn(b"data/empty:\n", found)
        self.assertIn(b"more words:" + b"\0\xff" * 700_000, found)
        self.assertEqual(sorted(os.listdir(self.path("here", "re sult"))), ["_SUCCESS", "part-r-00000"])
        # Nothing stays but the program, which only the account may see.
        self.assertEqual(self.in_the_cluster(), [])
        self.assertEqual(sorted(os.listdir(self.path("here"))), ["data", "job", "more words", "re sult"])
        self.assertEqual(os.stat(self.path("home", ".cache", "millrace-submit")).st_mode & 0o777, 0o700)

    def test_names_of_inputs_are_not_read_as_patterns_or_options(self):
        self.job("-job $x's")
        for name in NAMES:
            if "\n" in name:
                continue
            with self.subTest(name):
                self.write(f"here/{name}", "text")
                shutil.rmtree(self.path("files"))
                os.makedirs(self.path("files"))
                self.cluster("submit", "-o", "/out", "-D", "x=it's \"1\"\n2", "--", "./-job $x's", name)
                self.assertEqual(self.read("files", "out", "part-r-00000"), name.encode() + b":text\n")
                run = next(call for call in reversed(self.calls("millrace")) if call[0] == "run")
                self.assertIn("x=it's \"1\"\n2", run)
                self.assertEqual(os.path.basename(run[run.index("--") + 1]), "-job $x's")

    def test_what_is_of_the_cluster_stays_there(self):
        self.write("files/text", "there")
        self.write("here/text", "here")
        self.cluster("submit", "wordcount", "/text", "-o", "/out/a")
        self.assertEqual(self.read("files", "out", "a", "part-r-00000"), b"text:there\n")
        self.cluster("submit", "wordcount", "text", "-o", "/out/b")
        self.assertEqual(self.read("files", "out", "b", "part-r-00000"), b"text:here\n")
        self.cluster("submit", "wordcount", "file:" + self.path("here", "text"), "-o", "/out/c")
        self.assertEqual(self.read("files", "out", "c", "part-r-00000"), b"text:here\n")
        run = [call for call in self.calls("millrace") if call[0] == "run"][0]
        self.assertEqual(run, ["run", "--detach", "--json", "-o", "/out/a", "--", "wordcount", "/text"])

    def test_a_program_is_brought_once(self):
        self.job()
        self.cluster("submit", "./job", "-o", "/out/a")
        before = os.stat(self.path("home", ".cache", "millrace-submit", self.digest("here/job"), "job")).st_ino
        # If it were sent again, the connection would break.
        self.write("cut", "100000")
        self.cluster("submit", "./job", "-o", "/out/b")
        self.assertEqual(os.stat(self.path("home", ".cache", "millrace-submit", self.digest("here/job"), "job")).st_ino, before)
        self.write("here/job", "#!/bin/sh\n# new\n", 0o755)
        self.cluster("submit", "./job", "-o", "/out/c")
        self.assertEqual(len(os.listdir(self.path("home", ".cache", "millrace-submit"))), 2)

    def digest(self, name):
        return local_files.checksum(self.path(name))[0]

    def test_kept_inputs_are_brought_once(self):
        self.write("here/data/a", "1")
        self.cluster("submit", "wordcount", "data", "-o", "/out/a", "--keep")
        puts = [call for call in self.calls("millrace") if call[:2] == ["fs", "put"]]
        self.assertEqual(len(puts), 1)
        self.cluster("submit", "wordcount", "data", "-o", "/out/b")
        self.assertEqual([call for call in self.calls("millrace") if call[:2] == ["fs", "put"]], puts)
        self.assertEqual(self.read("files", "out", "b", "part-r-00000"), b"data/a:1\n")
        self.assertEqual(len(self.in_the_cluster()), 1)
        # Other bytes, and other names, are not the same.
        self.write("here/data/a", "2")
        self.cluster("submit", "wordcount", "data", "-o", "/out/c")
        self.assertEqual(self.read("files", "out", "c", "part-r-00000"), b"data/a:2\n")
        self.assertEqual(len(self.in_the_cluster()), 1)
        top = os.listdir(self.path("files"))
        self.assertEqual([os.stat(self.path("files", name)).st_mode & 0o777 for name in top if name.startswith(".uploads")], [0o700])

    def test_exit_statuses(self):
        self.job("failing")
        self.write("here/data", "1")
        self.assertIn("failed", self.cluster("submit", "./failing", "data", "--fetch", "result", status=1))
        self.assertFalse(os.path.exists(self.path("here", "result")))
        self.cluster("submit", "refused", "data", "-o", "/out", status=2)
        self.assertEqual(self.in_the_cluster(), [])
        for words, expected in (((), "which job"), (("wordcount", "/in"), "the output is missing"), (("./none", "-o", "/o"), 'there is no file "./none"'),
                                (("wordcount", "./none", "-o", "/o"), 'there is no file "./none"'), (("./data", "-o", "/o"), "cannot be executed"),
                                (("wordcount", "-o"), "-o needs a value"), (("wordcount", "--detach", "--fetch", "x"), "leave one of them out"),
                                (("wordcount", "/in", "--fetch", "data"), '"data" exists already')):
            self.assertIn(expected, self.cluster("submit", *words, status=2))
        self.write("down", "")
        self.assertIn("cannot be reached", self.cluster("submit", "wordcount", "data", "-o", "/out", status=3))
        self.assertIn("connection to the master has ended", self.cluster("submit", "wordcount", "/data", "-o", "/out", status=3))

    def test_a_pipeline_is_driven_from_there(self):
        self.write("here/data", "1")
        said = self.cluster("submit", "pipeline", "data", "-o", "/out/a")
        self.assertNotIn("refuse", said)
        self.assertNotIn("--detach", said)
        self.assertEqual(self.read("files", "out", "a", "part-r-00000"), b"data:1\n")
        self.assertEqual(self.in_the_cluster(), [])

    def test_an_upload_that_is_cut_off_leaves_nothing(self):
        seed = random.randrange(1 << 30)
        print(f"seed {seed}", file=sys.stderr)
        chance = random.Random(seed)
        self.job()
        for number in range(4):
            self.write(f"here/data/{number}", chance.randbytes(50_000))
        self.write("cut", "1000000000")
        self.cluster("submit", "./job", "data", "-o", "/out/whole")
        sent = 200_000 + os.path.getsize(self.path("here", "job"))
        for limit in (0, 1, 50, *sorted(chance.randrange(sent) for _ in range(6)), sent):
            shutil.rmtree(self.path("home", ".cache"))
            with self.subTest(limit=limit):
                self.write("cut", str(limit))
                self.cluster("submit", "./job", "data", "-o", f"/out/{limit}", status=3)
                self.assertEqual(self.in_the_cluster(), [])
                self.assertEqual([name for name in self.below("home") if ".new" in name], [])
                self.assertFalse(os.path.exists(self.path("files", "out", str(limit))))

    def test_a_file_that_changes_meanwhile_is_not_taken_for_what_it_was(self):
        path = self.write("here/data", b"x" * 3_000_000)
        one = local_files.Input(path)
        pieces = one.pieces()
        got = len(next(pieces))
        with open(path, "r+b") as f:
            f.seek(2_999_999)
            f.write(b"y")
        with self.assertRaisesRegex(Failure, "changed while it was sent"):
            for piece in pieces:
                got += len(piece)
        self.assertLess(got, 3_000_000)

    def started(self, *words, terminal=False):
        """deploy/cluster, once its job waits; with its terminal, or the pipe of what it says."""
        options = {"cwd": self.path("here"), "env": self.environment, "start_new_session": True}
        if terminal:
            master, slave = pty.openpty()
            self.addCleanup(os.close, master)

            def own_terminal():
                import fcntl
                import termios
                fcntl.ioctl(0, termios.TIOCSCTTY, 0)
            process = subprocess.Popen(self.command("submit", *words), stdin=slave, stdout=slave, stderr=slave, preexec_fn=own_terminal, **options)
            os.close(slave)
            out = master
        else:
            process = subprocess.Popen(self.command("submit", *words), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)
            out = process.stdout.fileno()
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        said = b""
        while b" runs" not in said:
            self.assertTrue(select.select([out], [], [], LIMIT)[0], said)
            piece = os.read(out, 4096)
            self.assertTrue(piece, said)
            said += piece
        return process, out

    def end(self, process, out):
        said = b""
        try:
            while piece := os.read(out, 4096):
                said += piece
        except OSError:
            pass  # what a terminal says when nobody has it open any more
        if process.stdout:
            process.stdout.close()
        return process.wait(LIMIT), said.decode(errors="replace")

    def test_an_interrupt_in_a_pipe_kills_the_job(self):
        self.write("here/data", "1")
        process, out = self.started("slow", "data", "--fetch", "result")
        # To all of its group, as Ctrl-C goes from a shell.
        os.killpg(process.pid, signal.SIGINT)
        status, said = self.end(process, out)
        self.assertEqual(status, 130, said)
        self.assertIn("killed", said)
        self.assertEqual(self.in_the_cluster(), [])
        self.assertEqual(os.listdir(self.path("here")), ["data"])

    def test_an_interrupt_while_data_goes_there_leaves_nothing(self):
        self.write("here/data", b"x" * 5_000_000)
        # A file system that takes nothing, and says so when it is asked to.
        os.remove(self.path("programs", "millrace"))
        self.write("programs/millrace", f"#!/bin/sh\ncase \"$1 $2\" in 'fs put') echo ' runs'; exec sleep 1000;; esac\nexec {os.path.join(STAND_INS, 'millrace')} \"$@\"\n".replace("echo ' runs'", "echo ' runs' >&2"), 0o755)
        process, out = self.started("wordcount", "data", "-o", "/out/a")
        os.killpg(process.pid, signal.SIGINT)
        status, said = self.end(process, out)
        self.assertEqual(status, 1, said)
        self.assertIn("interrupted while it was brought there; nothing stays", said)
        self.assertEqual(self.in_the_cluster(), [])
        self.assertEqual(self.calls("millrace")[-1][:2], ["fs", "rm"])

    def test_an_interrupt_at_a_terminal_is_the_other_sides(self):
        self.write("here/data", "1")
        process, out = self.started("slow", "data", "-o", "/out/a", terminal=True)
        os.write(out, b"\x03")
        status, said = self.end(process, out)
        self.assertEqual(status, 130, said)
        self.assertIn("killed", said)
        self.assertEqual(self.in_the_cluster(), [])

    def test_a_job_that_is_left_alone_keeps_its_input_until_it_ends(self):
        self.write("here/data", "1")
        self.write("leave", "")
        process, out = self.started("slow", "data", "-o", "/out/a")
        # The process that waits for the end waits for another Ctrl-C, as the job `slow` does.
        os.remove(self.path("waiting"))
        os.killpg(process.pid, signal.SIGINT)
        status, said = self.end(process, out)
        self.assertEqual(status, 1, said)
        self.assertEqual(len(self.in_the_cluster()), 1)
        watch = self.wait_for("waiting")
        self.assertTrue(watch)
        os.remove(self.path("leave"))
        with open(self.path("jobs", "1"), encoding="utf-8") as f:
            about = json.load(f)
        self.assertIsNone(about["ended_at"])
        for pid in self.waiting():
            os.kill(pid, signal.SIGINT)
        self.wait_for("files", gone=".uploads-")
        self.assertEqual(self.in_the_cluster(), [])

    def waiting(self):
        """The processes of this test that wait for a job."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as f:
                    mine = f"STAND_IN={self.tmp.name}".encode() in f.read().split(b"\0")
                with open(f"/proc/{pid}/cmdline", "rb") as f:
                    if mine and b"\0wait\0" in f.read():
                        found.append(int(pid))
            except OSError:
                pass
        return found

    def wait_for(self, name, gone=None):
        """Waits until a file is there, or until a directory has nothing left of a name; asks again as the kernel tells of changes."""
        import ctypes
        libc = ctypes.CDLL(None, use_errno=True)
        fd = libc.inotify_init1(os.O_CLOEXEC)
        self.addCleanup(os.close, fd)
        for place, _, _ in list(os.walk(self.path(name if gone else "."))):
            libc.inotify_add_watch(fd, place.encode(), 0x100 | 0x200 | 0x80 | 0x40)

        def there():
            return os.path.exists(self.path(name)) if not gone else not [path for path in self.below(name) if path.startswith(gone)]
        while not there():
            self.assertTrue(select.select([fd], [], [], LIMIT)[0], name)
            os.read(fd, 65536)
        return True

    def test_detached(self):
        self.write("here/data", "1")
        said = self.cluster("submit", "wordcount", "data", "-o", "/out/a", "--detach")
        self.assertEqual(said, "submitted job 1\n")
        self.wait_for("files", gone=".uploads-")
        self.assertEqual(self.read("files", "out", "a", "part-r-00000"), b"data:1\n")

    def test_what_the_cluster_names_stays_within_the_directory(self):
        arriving = local_files.Arriving(self.path("here", "result"))
        with arriving:
            for name in ("../x", "/x", "a/../../x", "", "a//b", ".", "a/."):
                with self.assertRaises(Failure):
                    arriving.place(name)
        self.assertEqual(os.listdir(self.path("here")), [])

    def test_words(self):
        words = submit.Words(["--pool", "p", "job", "-r4", "--reducers=4", "a", "--keep", "-D", "k=v", "--json", "--fetch=x", "--", "-b", "--keep"])
        self.assertEqual([words.words[place] for place in words.operands], ["job", "a", "-b", "--keep"])
        self.assertEqual((words.fetch, words.keep, words.output), ("x", True, None))
        self.assertEqual(words.line(["J"]), ["--pool", "p", "-r4", "--reducers=4", "-D", "k=v", "--", "J"])
        for given in (["-o", "/x"], ["-o/x"], ["--output", "/x"], ["--output=/x"]):
            self.assertEqual(submit.Words(given).output, "/x")

    def test_flags_are_those_of_millrace_run(self):
        with open(os.path.join(ROOT, "client", "cli", "run_command.cc"), encoding="utf-8") as f:
            flags = set(re.findall(r'(?:Flag|add_flag)\("(--[a-z-]+)"', f.read()))
        self.assertEqual(flags - submit.FLAGS, {"--in-process"})  # of `millrace local run` alone

    def test_patterns_are_escaped_as_the_cluster_reads_them(self):
        for path, expected in (("/a", "/a"), ("/a\\b", "/a\\b"), ("/a*", "/a\\*"), ("/a[1]", "/a\\[1\\]"), ("/{a,b}\\", "/\\{a\\,b\\}\\\\")):
            self.assertEqual(remote_agent.literal(path), expected)


class VerbsTest(CommandTest):
    def test_ssh_goes_as_the_inventory_says(self):
        self.assertEqual(self.cluster("ssh", "one", "echo", "two  words", "$HOME"), "two  words $HOME\n")
        self.assertEqual(self.cluster("ssh", "one", "echo $((1 + 1))"), "2\n")
        self.cluster("ssh", "two", "exit 7", status=7)
        one, _, two = self.calls("ssh")
        self.assertIn("ProxyCommand=ssh -W %h:%p gate", one)
        self.assertEqual(one[one.index("--") - 2:one.index("--") + 2], ["-l", "admin", "--", "10.0.0.1"])
        self.assertEqual(two[two.index("-p") + 1], "2222")
        self.assertIn('there is no node "none"; there are one, two', self.cluster("ssh", "none", status=2))
        done = subprocess.run([sys.executable, CLUSTER, "ssh", "-i", self.path("hosts.yml"), "-l", "ann", "one", "true"], env=self.environment, check=False)
        self.assertEqual(done.returncode, 0)
        last = self.calls("ssh")[-1]
        self.assertEqual(last[last.index("-l") + 1], "ann")

    def test_logs(self):
        self.write("programs/sudo", "#!/bin/sh\nshift\nexec \"$@\"\n", 0o755)
        self.write("programs/journalctl", "#!/bin/sh\nprintf '%s|' \"$@\"\n", 0o755)
        self.assertEqual(self.cluster("logs"), "--no-pager|-u|millrace-master|-n|100|")
        self.assertEqual(self.cluster("logs", "two", "-n", "5"), "--no-pager|-u|millrace-worker|-n|5|")
        self.assertEqual(self.cluster("logs", "two", "--since", "1 hour ago", "-f"), "--no-pager|-u|millrace-worker|--since|1 hour ago|-f|")
        self.assertIn("-tt", self.calls("ssh")[-1])
        self.assertEqual(self.cluster("logs", "job7", "--json"), "asked: job logs job7 --json\n")
        self.assertIn("a job is a number", self.cluster("logs", "nobody", status=2))
        self.write("down", "")
        self.cluster("logs", status=3)

    def test_status_of_machines_that_exist(self):
        said = self.cluster("status", status=4)
        self.assertLess(said.index("cluster status"), said.index("node list"))
        self.assertIn("job list --live", said)

    def tunnel(self, *words):
        process = subprocess.Popen(self.command("tunnel", *words), env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        said = ""
        while "Ctrl-C" not in said:
            line = process.stdout.readline()
            self.assertTrue(line, said)
            said += line
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(LIMIT), 0)
        process.stdout.close()
        return said

    def test_tunnel(self):
        said = self.tunnel("--port", "17700")
        self.assertIn("export MILLRACE_MASTER=127.0.0.1:17700\n", said)
        self.assertIn("has no pages", said)
        self.assertIn("127.0.0.1:17700:10.0.0.1:7700", self.calls("ssh")[-1])
        os.makedirs(self.path("here", ".millrace", "authorities", "one", "client-admin"))
        self.hosts["one"].update(millrace_address="fd00::1", millrace_master_port=7800, millrace_master_options={"health.listen": "127.0.0.1:7780"})
        self.inventory()
        said = self.tunnel("--port", "17700", "--pages-port", "17780")
        self.assertIn(f"MILLRACE_TLS={self.path('here', '.millrace', 'authorities', 'one', 'client-admin')}", said)
        self.assertIn("http://127.0.0.1:17780/readyz", said)
        call = self.calls("ssh")[-1]
        self.assertIn("127.0.0.1:17700:[fd00::1]:7800", call)
        self.assertIn("127.0.0.1:17780:127.0.0.1:7780", call)
        self.write("down", "")
        self.cluster("tunnel", status=3)
        self.cluster("tunnel", "--port", "70000", status=2)

    def test_help_of_each_verb(self):
        for verb in ("up", "status", "ssh", "submit", "logs", "tunnel", "prices", "stop", "start", "move-master", "down"):
            done = subprocess.run([sys.executable, CLUSTER, verb, "--help"], env=self.environment, stdout=subprocess.PIPE, text=True, check=False)
            self.assertEqual(done.returncode, 0)
            self.assertIn(f"deploy/cluster {verb} -", done.stdout)
            self.assertRegex(done.stdout, "(?i)exit status")

    def test_wrong_use(self):
        self.assertIn("-f FILE says which", subprocess.run([sys.executable, CLUSTER, "up"], stderr=subprocess.PIPE, text=True, check=False).stderr)
        for verb in ("stop", "start", "move-master"):
            self.assertIn("is for a cluster on EC2", self.cluster(verb, status=2))
        self.assertIn("is meant", self.cluster("down", status=1))
        self.assertEqual(self.calls("playbook"), [])
        self.cluster("down", "--yes", "-v")
        self.assertEqual(self.calls("playbook")[-1][-1], "-v")
        self.assertTrue(self.calls("playbook")[-1][0].endswith("/teardown.yml"))


FILE = """
millrace_cluster: demo
millrace_region: eu-central-1
millrace_secret: !vault abc
millrace_prices: {m6i.large: 0.1}
millrace_volume_prices: {gp3: 0.073}
millrace_budget: {month: 200}
millrace_nodes:
  - {name: master, role: master, type: m6i.large, disks: [{size: 10, type: io2, iops: 100}]}
  - {name: near, role: worker, types: [m6i.xlarge, m5.xlarge], count: 2}
"""


@unittest.skipUnless(HAS_PACKAGES, "this Python has not Ansible's packages (yaml, boto3)")
class CloudTest(CommandTest):
    def setUp(self):
        super().setUp()
        self.write("demo.yml", FILE)
        self.write("demo.aws_ec2.yml", "plugin: amazon.aws.aws_ec2\n")

    def price(self, **said):
        self.write("price.json", json.dumps({"machines": 2, "accepted": False, "over_budget": False, **said}))

    def books(self):
        found = [(os.path.basename(call[0]), [word for word in call[1:] if word.startswith("millrace_") and "file" not in word and "inventory" not in word]) for call in self.calls("playbook")]
        if os.path.exists(self.path("playbook.calls")):
            os.remove(self.path("playbook.calls"))
        return found

    def test_up_asks_for_the_price_and_for_the_budget(self):
        self.price()
        self.assertIn("nothing was started", self.cluster("up", cloud=True, status=1))
        self.assertEqual(self.books(), [("cloud.yml", [])])
        self.price(over_budget=True)
        self.assertIn("--over-budget says that it is meant", self.cluster("up", "--yes", cloud=True, status=1))
        self.assertEqual(self.books(), [("cloud.yml", ["millrace_price_accepted=true"])])
        self.price(accepted=True)
        self.cluster("up", "--yes", "--over-budget", cloud=True)
        self.assertEqual(self.books(), [("cloud.yml", ["millrace_price_accepted=true", "millrace_over_budget=true"]), ("cluster.yml", [])])
        self.cluster("up", "--yes", cloud=True, status=1, environment={"PLAYBOOK_STATUS": "2"})
        self.assertEqual(len(self.books()), 1)

    def test_the_tables_beside_the_file_come_last(self):
        self.price(accepted=True)
        self.write("demo.prices.yml", "millrace_prices: {m6i.large: 0.5}\n")
        self.cluster("up", cloud=True)
        call = self.calls("playbook")[0]
        self.assertLess(call.index("@" + self.path("demo.yml")), call.index("@" + self.path("demo.prices.yml")))

    def test_stop_start_and_move_call_their_playbooks(self):
        for verb, words, book in (("stop", ["--yes"], "cloud_stop.yml"), ("start", [], "cloud_start.yml"), ("move-master", ["--yes"], "move_master.yml")):
            if not os.path.exists(os.path.join(ROOT, "deploy", "ansible", "playbooks", book)):
                self.assertIn(f"there is no playbook {book}", self.cluster(verb, *words, cloud=True, status=1))
                continue
            self.cluster(verb, *words, cloud=True)
            self.assertEqual(self.books()[0][0], book)
        for verb in ("stop", "move-master"):
            self.assertIn("is meant", self.cluster(verb, cloud=True, status=1))

    def test_session_manager_is_the_way_of_ssh(self):
        self.write("demo.yml", FILE + "millrace_connect: session-manager\n")
        self.hosts["one"] = {"ansible_host": "10.0.0.1", "instance_id": "i-1", "ansible_user": "admin"}
        self.inventory()
        self.cluster("ssh", "one", "true", cloud=True)
        call = self.calls("ssh")[-1]
        self.assertIn("ProxyCommand=aws ssm start-session --region eu-central-1 --document-name AWS-StartSSHSession --target %h --parameters portNumber=%p", call)
        self.assertEqual(call[call.index("--") + 1], "i-1")
        # What the inventory says of it stands.
        self.hosts["one"]["ansible_ssh_common_args"] = "-o ProxyCommand='other %h'"
        self.inventory()
        self.cluster("ssh", "one", "true", cloud=True)
        self.assertEqual([word for word in self.calls("ssh")[-1] if word.startswith("ProxyCommand")], ["ProxyCommand=other %h"])

    def test_files_that_cannot_be(self):
        for text, expected in (("- a\n", "has no settings"), ("a: [", "cannot be read"), ("millrace_cluster: '{{ x }}'\n", "not by a template")):
            self.write("demo.yml", text)
            self.assertIn(expected, self.cluster("status", cloud=True, status=2))

    def serve(self, answers):
        """AWS's price list, as recorded: answers by what is asked. Returns its address and what was asked."""
        asked = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                fields = {one["Field"]: one["Value"] for one in question["Filters"]}
                asked.append((question["ServiceCode"], fields))
                body = json.dumps({"FormatVersion": "aws_v1", "PriceList": answers(question["ServiceCode"], fields)}).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/x-amz-json-1.1")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return f"http://127.0.0.1:{server.server_address[1]}", asked

    def test_prices_come_from_the_list(self):
        import yaml
        with open(os.path.join(HERE, "price_list.json"), encoding="utf-8") as f:
            recorded = json.load(f)

        def answers(service, fields):
            return [json.dumps(one) for one in recorded if one["serviceCode"] == service and all(one["product"]["attributes"].get(name, one["product"].get(name)) == value for name, value in fields.items())]
        address, asked = self.serve(answers)
        said = self.cluster("prices", cloud=True, environment={"AWS_ENDPOINT_URL_PRICING": address})
        with open(self.path("demo.prices.yml"), encoding="utf-8") as f:
            tables = yaml.safe_load(f)
        self.assertEqual(tables, {"millrace_prices": {"m6i.large": 0.115, "m6i.xlarge": 0.23, "nat-gateway": 0.052, "interface-endpoint": 0.012, "public-ipv4": 0.005},
                                  "millrace_volume_prices": {"gp3": 0.0952, "gp3-iops": 0.006, "gp3-throughput": 0.0476, "io2": 0.149, "io2-iops": 0.078}})
        self.assertIn("there is no price for m5.xlarge", said)
        self.assertEqual({fields["regionCode"] for _, fields in asked}, {"eu-central-1"})
        # None of it: nothing is written.
        address, _ = self.serve(lambda *_: [])
        self.assertIn("nothing was written", self.cluster("prices", "-o", self.path("none.yml"), cloud=True, status=1, environment={"AWS_ENDPOINT_URL_PRICING": address}))
        self.assertFalse(os.path.exists(self.path("none.yml")))
        self.assertIn("Could not connect", self.cluster("prices", cloud=True, status=3, environment={"AWS_ENDPOINT_URL_PRICING": "http://127.0.0.1:1"}))

    @unittest.skipUnless(importlib.util.find_spec("moto"), "moto is not here")
    def test_status_by_moto(self):
        import logging

        from moto.server import ThreadedMotoServer
        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
        server.start()
        self.addCleanup(server.stop)
        host, port = server.get_host_and_port()
        environment = {"AWS_URL": f"http://{host}:{port}", "AWS_ENDPOINT_URL": f"http://{host}:{port}"}
        self.assertIn("machines   none", self.cluster("status", cloud=True, environment=environment))
        import boto3
        ec2 = boto3.client("ec2", region_name="eu-central-1", endpoint_url=environment["AWS_URL"], aws_access_key_id="a", aws_secret_access_key="b")
        tags = [{"Key": "millrace-cluster", "Value": "demo"}]

        def start(kind, role, count=1, **options):
            return [one["InstanceId"] for one in ec2.run_instances(ImageId="ami-12c6146b", InstanceType=kind, MinCount=count, MaxCount=count, TagSpecifications=[
                {"ResourceType": "instance", "Tags": [*tags, {"Key": "millrace-role", "Value": role}]}], **options)["Instances"]]
        start("m6i.large", "master")
        start("m6i.xlarge", "worker", 2, InstanceMarketOptions={"MarketType": "spot"})
        stopped, ended = start("m6i.xlarge", "worker", 2)
        ec2.stop_instances(InstanceIds=[stopped])
        ec2.terminate_instances(InstanceIds=[ended])
        volume = ec2.create_volume(AvailabilityZone="eu-central-1a", Size=100, VolumeType="gp3", TagSpecifications=[{"ResourceType": "volume", "Tags": tags}])
        self.assertTrue(volume["VolumeId"])
        said = self.cluster("status", cloud=True, status=4, environment=environment)
        self.assertIn("machines   3 running: 1 on demand, 2 spot (1 m6i.large, 2 m6i.xlarge)", said)
        self.assertIn("1 stopped: 1 on demand (1 m6i.xlarge)", said)
        self.assertIn("unknown price for", said)
        self.assertIn("m6i.xlarge", said.split("unknown price for")[1].split("\n")[0])
        self.assertIn("% of the budget of 200 USD a month", said)
        self.assertIn("asked: cluster status", said)
        self.write("demo.yml", FILE.replace("cluster: demo", "cluster: other"))
        self.assertIn("no master runs", self.cluster("status", cloud=True, environment=environment))
        self.assertIn("Could not connect", self.cluster("status", cloud=True, status=3, environment={"AWS_URL": "http://127.0.0.1:1"}))


def at(text):
    return datetime.datetime.fromisoformat(text).replace(tzinfo=datetime.timezone.utc)


def load(*parts):
    """A program of the tree as a module."""
    spec = importlib.util.spec_from_file_location(parts[-1].removesuffix(".py"), os.path.join(ROOT, *parts))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


idle = load("deploy", "ansible", "roles", "idle", "files", "idle.py")
MINUTE, AFTER = 60, 2 * 3600


class IdleTest(unittest.TestCase):
    """Looks every five minutes, in a time that the test drives."""

    def setUp(self):
        self.boot, self.uptime, self.state = "b1", 100.0, None

    def look(self, minutes=5, **seen):
        self.uptime += minutes * MINUTE
        due, self.why, state = idle.decide(idle.Seen(self.boot, self.uptime, **{"live": 0, "mark": "m", **seen}), self.state, AFTER)
        self.state = json.loads(json.dumps(state))  # as the file has it
        return due

    def idle_for(self, minutes):
        """Looks until it is due, which has to be so at the first look after so many minutes without use."""
        for passed in range(5, minutes + 10, 5):
            self.assertEqual(self.look(), passed >= minutes, f"{passed} minutes: {self.why}")
            if passed >= minutes:
                return

    def test_the_whole_time_passes_since_the_start(self):
        self.uptime = 10 * AFTER
        self.assertFalse(self.look())
        self.assertIn("first look", self.why)
        self.idle_for(120)
        self.assertTrue(self.look(), "and at each look from then on, if it could not be stopped")

    def test_a_restart_begins_anew(self):
        self.look()
        for _ in range(23):
            self.assertFalse(self.look())
        self.boot, self.uptime = "b2", 100.0
        self.assertFalse(self.look())
        self.idle_for(120)

    def test_use(self):
        for use in ({"live": 1}, {"mark": "other"}, {"connections": 1}):
            with self.subTest(str(use)):
                self.setUp()
                self.look()
                for _ in range(23):
                    self.assertFalse(self.look())
                self.assertFalse(self.look(**use))
                if "mark" in use:  # and now nothing changes any more
                    self.look(**use)
                    for passed in range(10, 125, 5):
                        self.assertEqual(self.look(**use), passed >= 120)
                else:
                    self.idle_for(120)

    def test_a_master_that_does_not_answer_is_never_stopped(self):
        self.look()
        for _ in range(1000):
            self.assertFalse(self.look(live=None, mark=None))
        self.assertIn("does not answer", self.why)
        # It is back, and what happened in between is not known.
        self.assertFalse(self.look())
        self.idle_for(120)

    def test_the_clock_plays_no_part(self):
        """A look has no time of day; what it has of one is only compared with what it was, and any change is use."""
        self.look()
        for _ in range(23):
            self.look()
        self.assertFalse(self.look(mark={"terminals": {"0": 1}}))
        self.assertFalse(self.look(mark={"terminals": {"0": -5}}))

    def test_a_state_that_makes_no_sense_is_no_state(self):
        for state in (None, [], {}, {"boot": "b1"}, {"boot": "b1", "since": "x"}, {"boot": "b1", "since": 1e12, "mark": "m"}):
            self.state = state
            self.assertFalse(self.look(minutes=1000))
            self.assertIn("first look", self.why)

    def test_looks_that_were_missed(self):
        self.look()
        self.assertTrue(self.look(minutes=121), "nothing has changed in between")
        self.setUp()
        self.look()
        self.assertFalse(self.look(minutes=1000, mark="other"))

    def instance(self, name, role="worker", state="running", **more):
        tags = {"Name": name, "millrace-role": role, **{key: value for key, value in more.items() if key.startswith("millrace-")}}
        return {"InstanceId": f"i-{name}", "State": {"Name": state}, "Tags": [{"Key": key, "Value": value} for key, value in tags.items()],
                **{key: value for key, value in more.items() if not key.startswith("millrace-")}}

    def test_what_is_stopped(self):
        master = self.instance("m", "master")
        two, three, gone = self.instance("two"), self.instance("three", state="pending"), self.instance("gone", state="stopped", InstanceLifecycle="spot")
        self.assertEqual(idle.plan([master, two, gone, three], "i-m"), (["i-two", "i-three"], None))
        self.assertEqual(idle.plan([master], "i-m"), ([], None))
        for instances, own, losers, expected in (([two], "i-m", (), "does not know this machine"), ([master, two], "i-two", (), "does not know this machine"),
                                                 ([master, self.instance("s", InstanceLifecycle="spot")], "i-m", (), "s: spot machines"),
                                                 ([master, self.instance("s", **{"millrace-market": "spot"})], "i-m", (), "s: spot machines"),
                                                 ([master, self.instance("d", **{"millrace-instance-store": "data"})], "i-m", (), "d: blocks on instance store"),
                                                 ([master, two], "i-m", ("two",), "two: blocks on instance store")):
            others, why = idle.plan(instances, own, losers)
            self.assertEqual(others, [])
            self.assertIn(expected, why)
        self.assertIsNone(idle.plan([master, self.instance("d", **{"millrace-instance-store": "shuffle"})], "i-m")[1])

    def test_the_master_is_stopped_last_and_only_if_the_others_were(self):
        calls = []

        class Service:
            def __init__(self, instances, fails=False):
                self.instances, self.fails = instances, fails

            def get_paginator(self, _):
                return self

            def paginate(self, Filters):
                calls.append(Filters[0]["Values"])
                return [{"Reservations": [{"Instances": [one]} for one in self.instances]}]

            def stop_instances(self, InstanceIds):
                calls.append(InstanceIds)
                if self.fails:
                    raise OSError("UnauthorizedOperation")
        there = [self.instance("m", "master"), self.instance("two")]
        settings = {"cluster": "demo", "losers": []}
        with open(os.devnull, "w", encoding="utf-8") as null, contextlib.redirect_stdout(null):
            self.assertEqual(idle.stop(settings, Service(there), "i-m")[1], True)
        self.assertEqual(calls, [["demo"], ["i-two"], ["i-m"]])
        calls.clear()
        with self.assertRaises(OSError):
            idle.stop(settings, Service(there, fails=True), "i-m")
        self.assertEqual(calls, [["demo"], ["i-two"]])
        calls.clear()
        self.assertFalse(idle.stop(settings, Service([*there, self.instance("s", InstanceLifecycle="spot")]), "i-m")[1])
        self.assertEqual(calls, [["demo"]])

    def test_connections(self):
        self.assertEqual(idle.connections_of(["sshd: admin@notty ", "sshd-session: ann@notty", "sshd: admin@pts/0", "sshd: /usr/sbin/sshd -D [listener]", "grep sshd: x@notty", ""]), 2)

    def test_a_look_asks_millrace(self):
        with tempfile.TemporaryDirectory() as place:
            program = os.path.join(place, "millrace")
            with open(program, "w", encoding="utf-8") as f:
                f.write("""#!/bin/sh
case "$*" in
  "--tls x cluster status --json") echo '{"jobs":{"running":1,"waiting":2},"files":{"files":3},"blocks":{"blocks":4},"disks":{"used":5}}'; exit 4;;
  "--tls x job list --last 1 --json") echo '[{"job":7,"state":"running","ended_at":null,"maps":{}}]';;
  *) exit 2;;
esac
""")
            os.chmod(program, 0o755)
            seen = idle.look([program, "--tls", "x"])
            self.assertEqual((seen.live, seen.mark["job"], seen.mark["used"]), (3, [[7, "running", None]], 5))
            self.assertGreater(seen.uptime, 0)
            for broken in ("#!/bin/sh\nexit 3\n", "#!/bin/sh\necho '{}'\n", "#!/bin/sh\necho nonsense\n"):
                with open(program, "w", encoding="utf-8") as f:
                    f.write(broken)
                self.assertIsNone(idle.look([program]).live)
            self.assertIsNone(idle.look([os.path.join(place, "none")]).live)


class MoneyTest(unittest.TestCase):
    """Sums against ones that are worked out another way: in whole cents, or by hand."""

    def ask(self, nodes, new=None, **settings):
        every = [[entry, number] for entry in nodes for number in range(1, entry.get("count", 1) + 1)]
        done = subprocess.run([sys.executable, price.__file__], input=json.dumps({"new": every if new is None else every[:new], "all": every, "settings": settings}),
                              stdout=subprocess.PIPE, text=True, check=True)
        return json.loads(done.stdout)

    PRICES = {"millrace_prices": {"big": 1.0, "small": 0.25, "public-ipv4": 0.005, "nat-gateway": 0.05}, "millrace_volume_prices": {"gp3": 0.073, "gp3-iops": 0.0073, "gp3-throughput": 0.073}}

    def test_a_cluster(self):
        # In thousandths of a USD an hour. 0.073 USD a month is 0.1 thousandths an hour: 20 GiB of root disk are 2.
        nodes = [{"name": "m", "type": "big", "disks": [{"size": 100}]}, {"name": "w", "type": "small", "count": 3}]
        said = self.ask(nodes, **self.PRICES)
        expected = 1000 + 3 * 250 + 4 * 2 + 10 + 4 * 5
        self.assertAlmostEqual(said["hour"] * 1000, expected)
        self.assertIn(f"4 machines to start (big, small), {expected / 1000:.2f} USD an hour, {expected * 24 / 1000:.0f} USD a day, {expected * 730 / 1000:.0f} USD a month.", said["text"])
        self.assertEqual(said["unknown"], [])
        # Without public addresses, and with a NAT gateway and its address.
        said = self.ask(nodes, millrace_connect="private", **self.PRICES)
        self.assertAlmostEqual(said["hour"] * 1000, expected - 4 * 5 + 50 + 5)
        # In a network that exists there is no gateway to pay for.
        self.assertAlmostEqual(self.ask(nodes, millrace_connect="private", millrace_vpc="vpc-1", **self.PRICES)["hour"] * 1000, expected - 4 * 5)
        # Three endpoints, and one more for machines that stop themselves.
        ways = {"millrace_connect": "session-manager", "millrace_outbound": "endpoints"}
        self.assertEqual(self.ask(nodes, **ways, **self.PRICES)["unknown"], ["interface-endpoint"])
        prices = {**self.PRICES, "millrace_prices": {**self.PRICES["millrace_prices"], "interface-endpoint": 0.012}}
        self.assertAlmostEqual(self.ask(nodes, **ways, **prices)["hour"] * 1000, expected - 4 * 5 + 3 * 12)
        self.assertAlmostEqual(self.ask(nodes, millrace_idle_after="2h", **ways, **prices)["hour"] * 1000, expected - 4 * 5 + 4 * 12)

    def test_disks(self):
        prices = self.PRICES["millrace_volume_prices"]
        for disk, thousandths in (({"size": 10}, 1), ({"size": 10, "iops": 3000, "throughput": 125}, 1), ({"size": 10, "iops": 3100}, 1 + 1), ({"size": 10, "throughput": 225}, 1 + 10)):
            self.assertAlmostEqual(sum(hour for _, hour in price.of_disk(disk, prices)) * 1000, thousandths)
        self.assertEqual(price.of_disk({"size": 10, "type": "io2", "iops": 5}, prices), [("io2", None), ("io2-iops", None)])

    def test_what_is_unknown_is_said(self):
        said = self.ask([{"name": "m", "type": "big"}, {"name": "w", "type": "none"}], millrace_prices={"big": 1}, millrace_budget={"month": 1000})
        self.assertEqual(said["unknown"], ["gp3", "none", "public-ipv4"])
        self.assertIn("and an unknown price for gp3, none, public-ipv4", said["text"])
        self.assertIn("at least 73% of the budget of 1000 USD a month.", said["text"])
        self.assertIn("to start (none), an unknown price for", self.ask([{"name": "w", "type": "none"}])["text"])

    def test_budget(self):
        nodes = [{"name": "m", "type": "big"}, {"name": "w", "type": "small", "count": 4}]
        whole = (1000 + 4 * 250 + 5 * 2 + 5 * 5) * 730 / 1000
        for month, over in ((whole + 1, False), (whole - 1, True)):
            for new in (None, 1):  # what is there already counts
                said = self.ask(nodes, new, millrace_budget={"month": month}, **self.PRICES)
                self.assertEqual(said["over_budget"], over)
                self.assertEqual(", beyond it" in said["text"], over)
        self.assertFalse(self.ask(nodes, **self.PRICES)["over_budget"])

    def test_spot_and_types(self):
        entry = {"name": "w", "types": ["small", "big"], "count": 3, "market": "spot", "on_demand": 1}
        said = self.ask([entry], **self.PRICES)
        self.assertAlmostEqual(said["hour"] * 1000, 3 * (250 + 2 + 5))
        self.assertIn(f"(up to {3 * (1000 + 2 + 5) / 1000:.2f} USD an hour with the dearest of the types)", said["text"])
        self.assertIn("spot machines counted as if on demand", said["text"])
        said = self.ask([{**entry, "spot_max_price": 0.1}], **self.PRICES)
        self.assertAlmostEqual(said["hour"] * 1000, 250 + 2 * 100 + 3 * 7)

    def test_kept_volumes_are_named(self):
        said = self.ask([{"name": "m", "type": "big", "disks": [{"size": 100, "use": "database"}, {"size": 1000}]}], **self.PRICES)
        self.assertIn("Kept volumes go on to cost after `down` and while the cluster is stopped: 0.01 USD an hour, 0.24 USD a day, 7.30 USD a month.", said["text"])

    def test_what_was_spent(self):
        now = at("2026-03-11T00:00:00")
        parts = [spending.Part("old", 1.0, at("2026-02-27T00:00:00")), spending.Part("new", 0.5, at("2026-03-10T12:00:00")),
                 spending.Part("stopped", 9.0, at("2026-03-01T00:00:00"), running=False), spending.Part("none", None, now), spending.Part("ahead", 1.0, at("2026-03-11T01:00:00"))]
        spent = spending.Spent(parts, now)
        # 2 days of February and 10 of March; half a day.
        self.assertAlmostEqual(spent.since_launch, 12 * 24 + 6)
        self.assertAlmostEqual(spent.this_month, 10 * 24 + 6)
        self.assertAlmostEqual(spent.by_the_end(), 10 * 24 + 6 + 21 * 24 * 2.5)
        self.assertEqual(spent.unknown, {"none"})
        text = "\n".join(spending.in_words(spent, {"millrace_budget": {"month": 492}}))
        self.assertIn("294.00 USD since", text)
        self.assertIn("at least 50% of the budget of 492 USD a month so far", text)

    def test_what_ec2_tells_of_costs(self):
        when = at("2026-03-10T00:00:00")
        found = types.SimpleNamespace(
            instances=[{"InstanceType": "big", "State": {"Name": "running"}, "LaunchTime": when, "PublicIpAddress": "1.2.3.4"}, {"InstanceType": "big", "State": {"Name": "stopped"}, "LaunchTime": when}],
            volumes=[{"Size": 100, "VolumeType": "gp3", "Iops": 3000, "Throughput": 125, "CreateTime": when}, {"Size": 100, "VolumeType": "st1", "Iops": 7, "CreateTime": when}],
            gateways=[{"CreateTime": when, "NatGatewayAddresses": [{}]}],
            endpoints=[{"VpcEndpointType": "Gateway", "CreationTimestamp": when, "SubnetIds": []}, {"VpcEndpointType": "Interface", "CreationTimestamp": when, "SubnetIds": ["a", "b"]}])
        prices = {**self.PRICES, "millrace_prices": {**self.PRICES["millrace_prices"], "interface-endpoint": 0.012}}
        spent = spending.Spent(spending.parts_of(found, prices), at("2026-03-10T10:00:00"))
        self.assertAlmostEqual(spent.since_launch * 1000, 10 * (1000 + 5 + 10 + 50 + 5 + 2 * 12))
        self.assertEqual(spent.unknown, {"st1"})

    def test_the_bill(self):
        asked = {}

        class Service:
            def get_cost_and_usage(self, **question):
                asked.update(question)
                return {"ResultsByTime": [{"Total": {"UnblendedCost": {"Amount": "12.5", "Unit": "USD"}}, "Estimated": True}]}
        if not HAS_PACKAGES:
            self.skipTest("this Python has not Ansible's packages")
        self.assertEqual(spending.billed(Service(), "demo", at("2026-03-31T05:00:00")), (12.5, True))
        self.assertEqual(asked["TimePeriod"], {"Start": "2026-03-01", "End": "2026-04-01"})
        self.assertEqual(asked["Filter"]["Tags"]["Values"], ["demo"])

    def test_steps_of_a_price(self):
        def product(*steps):
            return {"terms": {"OnDemand": {"a": {"priceDimensions": {str(n): {"beginRange": begin, "pricePerUnit": {"USD": usd}, "unit": "Hrs"} for n, (begin, usd) in enumerate(steps)}}}}}
        self.assertEqual(price_list.on_demand(product(("0", "0.0"), ("100", "0.2"), ("1000", "0.1"))), (0.2, "Hrs"))
        self.assertIsNone(price_list.on_demand(product(("0", "0.0"))))
        self.assertIsNone(price_list.on_demand({"terms": {}}))

    def test_machines_in_words(self):
        self.assertEqual(status.machines_in_words([]), ["machines   none"])


if __name__ == "__main__":
    unittest.main()
