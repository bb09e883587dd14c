# SPDX-License-Identifier: Apache-2.0
"""Bad input: one clear line each, the right exit status, nothing left behind."""

import json
import os
import socket
import subprocess
import unittest

from cluster import MILLRACE, Cluster, await_line


class BadInputTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(workers=2)
        cls.cluster.__enter__()
        with open(cls.cluster.path("in"), "w") as f:
            f.write("some words\n" * 1000)
        cls.cluster.run("fs", "put", cls.cluster.path("in"), "/in")

    @classmethod
    def tearDownClass(cls):
        cls.cluster.__exit__(None, None, None)

    def refuse(self, status, mentions, *args):
        before, _ = self.cluster.run("fs", "ls", "-R", "/")
        _, error = self.cluster.run(*args, status=status)
        self.assertEqual(error.count(b"\n"), 1, error.decode(errors="replace"))
        self.assertTrue(error.startswith(b"millrace: "), error)
        for mention in mentions:
            self.assertIn(mention, error)
        after, _ = self.cluster.run("fs", "ls", "-R", "/")
        self.assertEqual(before, after)

    def test_missing_input(self):
        self.refuse(1, [b"/nowhere"], "run", "wordcount", "/nowhere", "-o", "/out")

    def test_existing_output(self):
        self.cluster.run("fs", "mkdir", "/taken")
        self.refuse(1, [b"/taken", b"exists"], "run", "wordcount", "/in", "-o", "/taken")

    def test_a_path_that_is_no_executable(self):
        self.refuse(2, [b"in"], "run", self.cluster.path("in"), "/in", "-o", "/out")
        self.refuse(2, [b"no-such-job"], "run", "no-such-job", "/in", "-o", "/out")

    def test_an_executable_that_is_no_job(self):
        self.refuse(2, [b"true"], "run", "/bin/true", "/in", "-o", "/out")
        self.refuse(2, [b"echo"], "run", "/bin/echo", "/in", "-o", "/out")

    def test_unknown_option_of_an_example(self):
        self.refuse(2, [b"grep.patern", b"grep.pattern"], "run", "grep", "/in", "-o", "/out", "-D", "grep.patern=x")

    def test_a_bad_pattern(self):
        self.refuse(2, [b"grep.pattern"], "run", "grep", "/in", "-o", "/out", "-D", "grep.pattern=[")
        self.refuse(2, [b"grep.pattern"], "run", "grep", "/in", "-o", "/out")

    def test_reducer_counts(self):
        self.refuse(2, [b"-1"], "run", "wordcount", "/in", "-o", "/out", "--reducers", "-1")
        self.refuse(2, [b"1001"], "run", "wordcount", "/in", "-o", "/out", "--reducers", "1001")

    def test_wrong_usage(self):
        for args in ([], ["nonsense"], ["fs"], ["fs", "nonsense"], ["job"], ["run"], ["run", "wordcount"], ["local"],
                     ["master", "--nope"], ["worker", "--set", "x=1"]):
            with self.subTest(args=args):
                done = subprocess.run([MILLRACE, *args], capture_output=True, stdin=subprocess.DEVNULL)
                self.assertEqual(done.returncode, 2)
                self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)
                self.assertTrue(done.stderr.startswith(b"millrace: "), done.stderr)

    def test_an_unreachable_master(self):
        done = subprocess.run([MILLRACE, "--master", "127.0.0.1:1", "--wait", "0s", "fs", "ls", "/"], capture_output=True, stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)
        self.assertIn(b"127.0.0.1:1", done.stderr)

    def test_texts_that_are_too_long(self):
        self.refuse(2, [b"name", b"256"], "run", "wordcount", "/in", "-o", "/out", "--name", "n" * 256)
        self.refuse(2, [b"owner", b"300"], "run", "wordcount", "/in", "-o", "/out", "--user", "u" * 300)
        self.refuse(2, [b"pool", b"256"], "run", "wordcount", "/in", "-o", "/out", "--pool", "p" * 256)
        self.refuse(1, [b"reason", b"5000"], "job", "kill", "1", "--reason", "r" * 5000)

    def test_hostile_names_are_shown_and_not_obeyed(self):
        name = "a\x1b[2J\rb\nc\u202ed"
        with Cluster(workers=1) as cluster:
            self.show_hostile_names(cluster, name)

    def show_hostile_names(self, cluster, name):
        cluster.run("fs", "put", self.cluster.path("in"), "/in")
        cluster.run("run", "wordcount", "/in", "-o", "/hostile", "--name", name, "--user", name, "--pool", name)
        listings = (("job", "list"), ("job", "status", "1"), ("job", "history"), ("fs", "ls", "/"), ("fs", "stat", "/hostile"))
        shown = [cluster.run(*args)[0] for args in listings]
        _, error = cluster.run("fs", "stat", "/" + name, status=1)
        for text in [*shown, error]:
            for byte in (b"\x1b", b"\r", "\u202e".encode()):
                self.assertNotIn(byte, text)
        self.assertEqual(shown[0].count(b"\n"), 2, shown[0])
        self.assertIn(rb"a\x1b[2J\x0db\nc\xe2\x80\xaed", shown[0])
        listed = json.loads(cluster.run("job", "list", "--json")[0])[0]
        self.assertEqual([listed["name"], listed["owner"], listed["pool"]], [name] * 3)
        with open(cluster.path("master.log"), "rb") as log:
            self.assertNotIn(b"\x1b", log.read())

    def test_names(self):
        for name in ("with space", "with\nnewline", "with\ttab", "uml\u00e4ut", "quote'\"", "-dash", "star*"):
            with self.subTest(name=name):
                self.cluster.run("fs", "put", self.cluster.path("in"), "/names/" + name)
                self.assertEqual(len(self.cluster.run("fs", "cat", "/names/" + name)[0]), 11000)
        self.refuse(2, [b"4000"], "fs", "put", self.cluster.path("in"), "/" + "n" * 4000)

    def test_a_full_disk_fails_the_write_and_leaves_nothing(self):
        with Cluster(workers=1, settings=["worker.reserved_bytes=900T"]) as full:
            with open(full.path("data"), "wb") as f:
                f.write(os.urandom(2_000_000))
            _, error = full.run("fs", "put", full.path("data"), "/data", status=1)
            self.assertEqual(error.count(b"millrace: "), 1, error)
            self.assertRegex(error.splitlines()[-1], b"room|space")
            self.assertNotIn(b"data", full.run("fs", "ls", "-R", "/")[0])

    def test_user_code_that_fails(self):
        self.refuse_job(b"exit status", "crash.how=exit")
        self.refuse_job(b"signal", "crash.how=signal")
        self.refuse_job(b"thrown on purpose", "crash.how=throw")

    def test_user_code_that_fails_is_told_with_its_place(self):
        with open(self.cluster.path("place"), "wb") as f:
            f.write(b"good words\nbad\nmore\n")
        self.cluster.run("fs", "put", self.cluster.path("place"), "/place/part-0")
        for how, mention in (
            ("throw", b"the job's Map threw an exception: thrown on purpose; at /place/part-0, byte 11"),
            ("abort", b"killed by signal 6 (SIGABRT); standard error ends: about to end by abort"),
            ("abort", b"; at /place/part-0, byte 11"),
            ("exit", b"ended itself (exit status 3) before it was done; standard error ends: about to end by exit"),
        ):
            with self.subTest(how=how, mention=mention):
                self.refuse_job(mention, "crash.how=" + how, "crash.record=bad", source="/place")

    def refuse_job(self, mention, *options, source="/in"):
        job = os.path.join(os.environ["MILLRACE_TEST_JOBS"], "crash")
        parameters = [word for option in options for word in ("-D", option)]
        before, _ = self.cluster.run("fs", "ls", "-R", "/in")
        _, error = self.cluster.run("run", job, source, "-o", "/crash", *parameters, status=1)
        self.assertIn(mention, error)
        self.cluster.run("fs", "stat", "/crash", status=1)
        self.assertEqual(before, self.cluster.run("fs", "ls", "-R", "/in")[0])


class LostWorkerTest(unittest.TestCase):
    """A worker that gets no session says why, at once."""

    def refused(self, cluster, name, expected, *settings):
        args = ["worker", "--set", f"worker.directory={cluster.path(name)}", "--set", "worker.port=0"]
        for setting in settings:
            args += ["--set", setting]
        with open(cluster.path(name + ".log"), "wb"):
            pass
        worker = cluster._spawn(name, args)
        try:
            await_line(cluster.path(name + ".log"), expected)
        finally:
            worker.kill()
            worker.wait()

    def test_reasons(self):
        with Cluster(workers=1) as cluster:
            with socket.socket() as taken:  # bound, and not listening
                taken.bind(("127.0.0.1", 0))
                wrong = f"127.0.0.1:{taken.getsockname()[1]}"
                self.refused(cluster, "refused", b"Connection refused", f"worker.master={wrong}")
            self.refused(cluster, "nosuch", b"the name is not found", "worker.master=no-such-host.invalid:7700")
            self.refused(cluster, "unreachable", b"the master cannot reach the worker's port", f"worker.master={cluster.address}", "worker.host=127.0.0.3")
            nodes = cluster.run("node", "list")[0].splitlines()
            self.assertEqual(len(nodes), 2, nodes)
            self.assertIn(b"127.0.0.1:", nodes[1])  # the address that the master sees


if __name__ == "__main__":
    unittest.main()
