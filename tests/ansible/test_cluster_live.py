# SPDX-License-Identifier: Apache-2.0
"""deploy/cluster submit over real daemons: only ssh and Ansible are stand-ins (stand_ins), so that the other side's text runs here."""

import importlib.util
import json
import os
import pty
import select
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests", "cluster"))

import cluster  # noqa: E402 (of tests/cluster)

CLUSTER = os.path.join(ROOT, "deploy", "cluster")
LIMIT = cluster.LIMIT_SECONDS


class LiveTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = cls.enterClassContext(cluster.Cluster(workers=1))
        cls.place = cls.enterClassContext(tempfile.TemporaryDirectory(prefix="millrace-cluster-"))
        for name in ("home", "bin", "programs", "here"):
            os.makedirs(os.path.join(cls.place, name))
        for name in ("ssh", "ansible-inventory"):
            os.symlink(os.path.join(HERE, "stand_ins", name), os.path.join(cls.place, "bin", name))
        os.symlink(sys.executable, os.path.join(cls.place, "programs", "python3"))
        program = cls.write("programs/millrace", f"#!/bin/sh\nMILLRACE_MASTER={cls.cluster.address} XDG_STATE_HOME={cls.place} exec {cluster.MILLRACE} \"$@\"\n")
        os.chmod(program, 0o755)
        cls.write("inventory.json", json.dumps({"master": {"hosts": ["one"]}, "_meta": {"hostvars": {"one": {}}}}))
        cls.write("hosts.yml", "master: {hosts: {one: {}}}\n")
        cls.environment = {**os.environ, "PATH": os.path.join(cls.place, "bin") + ":" + os.environ["PATH"], "STAND_IN": cls.place, "MILLRACE_ANSIBLE": cls.place}

    @classmethod
    def write(cls, name, text):
        path = os.path.join(cls.place, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return path

    def command(self, *words):
        return [sys.executable, CLUSTER, "submit", "-i", os.path.join(self.place, "hosts.yml"), *words]

    def submit(self, *words, status=0):
        done = subprocess.run(self.command(*words), cwd=os.path.join(self.place, "here"), env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False, timeout=LIMIT)
        self.assertEqual(done.returncode, status, done.stdout)
        return done.stdout

    def uploads(self):
        return [path for path in json.loads(self.cluster.run("fs", "find", "/", "--path", "/.uploads-*/?*", "--json")[0])]

    def test_names_that_are_patterns_and_empty_files(self):
        self.write("here/da ta[1]/a*b", "to be or not\n" * 100)
        self.write("here/da ta[1]/sub/it's", "to be\n" * 10)
        self.write("here/da ta[1]/empty", "")
        self.write("here/-{x,y}", "x y x\n")
        self.submit("--fetch", "res ult", "--", "wordcount", "da ta[1]", "-{x,y}")
        with open(os.path.join(self.place, "here", "res ult", "part-r-00000"), encoding="utf-8") as f:
            self.assertEqual(f.read(), "be\t110\nnot\t100\nor\t100\nto\t110\nx\t2\ny\t1\n")
        self.assertEqual(self.uploads(), [])

    def test_statuses_are_those_of_millrace_run(self):
        self.write("here/text", "x\n")
        self.assertIn("no such file", self.submit("wordcount", "/nowhere", "-o", "/out-1", status=1))
        self.assertIn("no bundled job", self.submit("nojob", "text", "-o", "/out-2", status=2))
        self.assertEqual(json.loads(self.submit("wordcount", "text", "-o", "/out-3", "--json").splitlines()[-1])["state"], "succeeded")
        self.assertIn("already", self.submit("wordcount", "text", "-o", "/out-3", status=1))
        self.assertEqual(self.uploads(), [])

    def at_terminal(self, *words, answers):
        """Runs it at a terminal, and types each answer once it has said what stands before that. Returns its status, and what it said."""
        master, slave = pty.openpty()

        def own_terminal():
            import fcntl
            import termios
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        process = subprocess.Popen(self.command(*words), cwd=os.path.join(self.place, "here"), env=self.environment, stdin=slave, stdout=slave, stderr=slave,
                                   start_new_session=True, preexec_fn=own_terminal)
        os.close(slave)
        said = b""
        try:
            for before, answer in (*answers, (None, None)):
                seen = len(said)
                while before is None or before not in said[seen:]:
                    self.assertTrue(select.select([master], [], [], LIMIT)[0], said)
                    try:
                        piece = os.read(master, 4096)
                    except OSError:
                        piece = b""  # nobody has the terminal open any more
                    if not piece:
                        self.assertIsNone(before, said)
                        break
                    said += piece
                if answer:
                    os.write(master, answer)
            return process.wait(LIMIT), said.decode()
        finally:
            process.kill()
            process.wait()
            os.close(master)

    def test_the_look_for_use_understands_what_the_master_says(self):
        made = importlib.util.spec_from_file_location("idle", os.path.join(ROOT, "deploy", "ansible", "roles", "idle", "files", "idle.py"))
        idle = importlib.util.module_from_spec(made)
        made.loader.exec_module(idle)
        self.write("here/text", "x\n")
        self.submit("wordcount", "text", "-o", "/looked")
        seen = idle.look([cluster.MILLRACE, "--master", self.cluster.address])
        self.assertEqual(seen.live, 0)
        self.assertEqual(seen.mark["job"][0][1], "succeeded")

    def test_ctrl_c_asks_and_kills(self):
        self.write("here/text", "x\n")
        words = ("loadgen", "text", "-o", "/out-4", "-D", "loadgen.map_time=10m")
        status, said = self.at_terminal(*words, answers=[(b"job", b"\x03"), (b"[y/N", b"y\n")])
        self.assertEqual(status, 1, said)
        self.assertIn("killed", said)
        self.assertEqual(self.uploads(), [])

    def test_ctrl_c_twice_leaves_the_job_and_its_input(self):
        self.write("here/text", "x\n")
        words = ("loadgen", "text", "-o", "/out-5", "-D", "loadgen.map_time=10m")
        status, said = self.at_terminal(*words, answers=[(b"job", b"\x03"), (b"[y/N", b"\x03")])
        self.assertEqual(status, 1, said)
        self.assertIn("goes on", said)
        self.assertTrue(self.uploads())
        job, = json.loads(self.cluster.run("job", "list", "--live", "--json")[0])
        self.cluster.run("job", "kill", str(job["job"]))
        self.cluster.run("job", "wait", str(job["job"]), status=1)
        # A process that was left there removes it. It ends only after that.
        left = [pid for pid in filter(str.isdigit, os.listdir("/proc")) if self.is_cleaner(pid)]
        for pid in left:
            try:
                fd = os.pidfd_open(int(pid))
            except ProcessLookupError:
                continue
            self.assertTrue(select.select([fd], [], [], LIMIT)[0])
            os.close(fd)
        self.assertEqual(self.uploads(), [])

    def is_cleaner(self, pid):
        try:
            with open(f"/proc/{pid}/environ", "rb") as f:
                mine = f"STAND_IN={self.place}".encode() in f.read().split(b"\0")
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                return mine and b"remote_agent" not in f.read() and int(pid) != os.getpid()
        except OSError:
            return False


if __name__ == "__main__":
    unittest.main()
