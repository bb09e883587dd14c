# SPDX-License-Identifier: Apache-2.0
"""millrace local: a whole cluster for the length of one command."""

import glob
import gzip
import json
import os
import signal
import subprocess
import tempfile
import unittest

from cluster import BIN, LIMIT_SECONDS, MILLRACE, shell, words


class LocalTest(unittest.TestCase):
    def setUp(self):
        self.tmp = tempfile.TemporaryDirectory(prefix="millrace-test-")
        self.environment = {**os.environ, "TMPDIR": self.tmp.name, "LC_ALL": "C", "PATH": os.environ["PATH"] + os.pathsep + BIN}
        self.environment.pop("MILLRACE_MASTER", None)

    def tearDown(self):
        self.tmp.cleanup()

    def run_local(self, *args, status=0):
        done = subprocess.run([MILLRACE, "local", *args], env=self.environment, capture_output=True, stdin=subprocess.DEVNULL, timeout=LIMIT_SECONDS)
        self.assertEqual(done.returncode, status, done.stderr.decode(errors="replace"))
        return done

    def left(self):
        return [p for p in glob.glob(self.tmp.name + "/*") if "millrace" in os.path.basename(p)]

    def test_command_sees_a_cluster_and_its_status_is_kept(self):
        done = self.run_local("--workers", "2", "--racks", "2", "--", "sh", "-c", "millrace node list --json; exit 7", status=7)
        self.assertEqual(done.stdout.count(b"/rack") + done.stdout.count(b'"rack"') > 0, True, done.stdout)
        self.assertEqual(self.left(), [])

    def test_the_tools_of_the_machine_come_before_bundled_jobs(self):
        done = self.run_local("--workers", "1", "--", "sh", "-c", "command -v grep; command -v wordcount")
        grep, wordcount = done.stdout.decode().split()
        self.assertNotEqual(os.path.dirname(grep), BIN)
        self.assertEqual(os.path.dirname(wordcount), BIN)

    def test_a_job_over_local_files(self):
        source = os.path.join(self.tmp.name, "in")
        with open(source, "w") as f:
            f.write("b a\nc b\n" * 500)
        out = os.path.join(self.tmp.name, "out")
        self.run_local("--workers", "1", "run", "wordcount", source, "-o", out)
        self.assertEqual(shell("cat out/part-r-*", cwd=self.tmp.name), b"a\t500\nb\t1000\nc\t500\n")
        self.assertEqual(self.left(), [])
        self.run_local("--workers", "1", "run", "wordcount", source, "-o", out, status=1)

    def test_patterns_and_standard_input(self):
        for name, text in (("a.txt", "x y\n"), ("b.txt", "y\n"), ("c.log", "z\n")):
            with open(os.path.join(self.tmp.name, name), "w") as f:
                f.write(text)
        out = os.path.join(self.tmp.name, "out")
        command = [MILLRACE, "local", "--workers", "1", "run", "wordcount", os.path.join(self.tmp.name, "*.txt"), "-", "-o", out]
        done = subprocess.run(command, env=self.environment, capture_output=True, input=b"y from standard input\n", timeout=LIMIT_SECONDS, check=True)
        self.assertEqual(shell("cat out/part-r-*", cwd=self.tmp.name), b"from\t1\ninput\t1\nstandard\t1\nx\t1\ny\t3\n")
        self.assertIn(out.encode(), done.stdout, "the summary names the directory that was asked for")
        self.assertNotIn(b'"/output"', done.stdout)
        twice = self.run_local("run", "wordcount", "-", "-", "-o", out + "2", status=1)
        self.assertIn(b"once only", twice.stderr)
        self.assertIn(b"*.csv", self.run_local("run", "wordcount", os.path.join(self.tmp.name, "*.csv"), "-o", out + "2", status=1).stderr)

    def test_side_files_and_counters(self):
        text, stop = os.path.join(self.tmp.name, "text"), os.path.join(self.tmp.name, "stop words")
        with open(text, "w") as f:
            f.write("the cat and the dog\n")
        with open(stop, "w") as f:
            f.write("the\nand\n")
        job = os.path.join(os.environ["MILLRACE_TEST_JOBS"], "stop_words")
        out = os.path.join(self.tmp.name, "out")
        done = self.run_local("--workers", "1", "run", job, text, "-o", out, "--file", stop + "=/lists/stop", "-D", "stop.list=/lists/stop")
        self.assertEqual(shell("cat out/part-r-*", cwd=self.tmp.name), b"cat\t1\ndog\t1\n")
        self.assertIn(b"  words left_out 3\n", done.stdout, "the job's own counters are in the summary")
        self.assertNotIn(b"map_input_records", done.stdout)
        done = self.run_local("--workers", "1", "run", job, text, "-o", out + "2", "--json", "--file", stop + "=/lists/stop", "-D", "stop.list=/lists/stop")
        report = json.loads(done.stdout)
        counters = {(c["group"], c["name"]): c["value"] for c in report["counters"]}
        self.assertEqual((counters["words", "left_out"], counters["millrace", "map_input_records"]), (3, 1))
        self.assertEqual(report["output"], out + "2")
        for wrong in ("stop", "=/x", stop + "=/output/x", stop + "=/input/0"):
            self.assertIn(b"--file", self.run_local("run", "wordcount", text, "-o", out + "3", "--file", wrong, status=2).stderr)
        self.assertIn(b"there is no local file", self.run_local("run", "wordcount", text, "-o", out + "3", "--file", "none=/x", status=2).stderr)

    def test_a_job_in_one_process_gives_what_a_cluster_gives(self):
        parts = os.path.join(self.tmp.name, "parts")
        os.makedirs(os.path.join(parts, "below"))
        for n, name in enumerate(("b", "a", "_hidden", "below/c")):
            with open(os.path.join(parts, name), "wb") as f:
                f.write(words(n, 50_000))
        alone, cluster = os.path.join(self.tmp.name, "alone"), os.path.join(self.tmp.name, "cluster")
        done = self.run_local("run", "wordcount", parts, "-o", alone, "-r", "3", "--in-process")
        self.run_local("--workers", "1", "run", "wordcount", parts, "-o", cluster, "-r", "3")
        self.assertEqual(shell("diff -r alone cluster && ls alone", cwd=self.tmp.name), b"_SUCCESS\npart-r-00000\npart-r-00001\npart-r-00002\n")
        counts = {}
        for n in (0, 1, 3):
            for word in words(n, 50_000).split():
                counts[word] = counts.get(word, 0) + 1
        expected = b"".join(sorted(b"%s\t%d\n" % item for item in counts.items()))
        self.assertEqual(shell("cat alone/part-r-* | LC_ALL=C sort", cwd=self.tmp.name), expected)
        lines = sum(words(n, 50_000).count(b"\n") for n in (0, 1, 3))
        self.assertIn(b"millrace map_input_records %d\n" % lines, done.stdout)
        # Jobs of other shapes: without reduces, with data of their own, and with a file that is read besides.
        self.run_local("run", "teragen", "-o", alone + "2", "-D", "input.records=1000", "-D", "input.maps=3", "--in-process")
        self.run_local("--workers", "1", "run", "teragen", "-o", cluster + "2", "-D", "input.records=1000", "-D", "input.maps=3")
        self.assertEqual(shell("diff -r alone2 cluster2; ls alone2 | wc -l", cwd=self.tmp.name), b"4\n")
        text = os.path.join(self.tmp.name, "text")
        with open(text, "w") as f:
            f.write("the cat\n")
        with open(text + ".stop", "w") as f:
            f.write("the")
        job = os.path.join(os.environ["MILLRACE_TEST_JOBS"], "stop_words")
        done = self.run_local("run", job, text, "-o", alone + "3", "--in-process", "--file", text + ".stop=/stop", "-D", "stop.list=/stop")
        self.assertEqual(shell("cat alone3/part-r-00000", cwd=self.tmp.name), b"cat\t1\n")
        self.assertIn(b"words left_out 1\n", done.stdout)
        # Compressed files are opened here, too, and a join knows its inputs.
        with open(text + ".gz", "wb") as f:
            f.write(gzip.compress(b"the dog\n"))
        done = self.run_local("run", job, text, text + ".gz", "-o", alone + "6", "--in-process", "--file", text + ".stop=/stop", "-D", "stop.list=/stop")
        self.assertEqual(shell("cat alone6/part-r-00000", cwd=self.tmp.name), b"cat\t1\ndog\t1\n")
        # One with a Prepare and a sample of its keys.
        self.run_local("run", "terasort", alone + "2", "-o", alone + "7", "--in-process", "--reducers", "4")
        records = shell("cat alone2/part-m-*", cwd=self.tmp.name)
        expected = b"".join(sorted(records[i:i + 100] for i in range(0, len(records), 100)))
        self.assertTrue(shell("cat alone7/part-r-*", cwd=self.tmp.name) == expected)
        self.assertIn(b"sorting needs reduces", self.run_local("run", "terasort", alone + "2", "-o", alone + "4", "--in-process", "--reducers", "0", status=1).stderr)
        # What goes wrong.
        self.assertIn(b"exists already", self.run_local("run", "wordcount", parts, "-o", alone, "--in-process", status=1).stderr)
        crash = os.path.join(os.environ["MILLRACE_TEST_JOBS"], "crash")
        failed = self.run_local("run", crash, text, "-o", alone + "5", "-D", "crash.how=throw", "--in-process", status=1)
        self.assertIn(b"task job0.m.0: ", failed.stderr)
        self.assertEqual(shell("ls -d alone4* alone5* 2>/dev/null || true", cwd=self.tmp.name), b"")
        self.assertEqual(self.left(), [])

    def test_the_logs_of_a_job_that_failed_are_kept(self):
        source, out = os.path.join(self.tmp.name, "in"), os.path.join(self.tmp.name, "out")
        with open(source, "w") as f:
            f.write("a\n")
        job = os.path.join(os.environ["MILLRACE_TEST_JOBS"], "crash")
        failing = ["--workers", "1", "run", job, source, "-o", out, "-D", "crash.how=exit", "-D", "job.max_attempts=1"]
        done = self.run_local(*failing, status=1)
        self.assertIn(out + ".log", done.stderr.decode())
        with open(out + ".log", encoding="utf-8") as f:
            log = f.read()
        self.assertIn("==== job1.m.0.0", log)
        self.assertIn("about to end by exit", log)
        self.assertIn((out + ".2.log").encode(), self.run_local(*failing, status=1).stderr)
        with open(out + ".log", encoding="utf-8") as f:
            self.assertEqual(f.read(), log)
        self.assertEqual(self.left(), [])

    def test_a_job_goes_on_without_bad_records(self):
        source, out = os.path.join(self.tmp.name, "in"), os.path.join(self.tmp.name, "out")
        with open(source, "w") as f:
            f.write("good words\nTHROW\ngood\n")
        job = os.path.join(os.environ["MILLRACE_TEST_JOBS"], "bad_lines")
        done = self.run_local("--workers", "1", "run", job, source, "-o", out, "--skip-bad-records", "1")
        self.assertIn(b"left out 1 record", done.stdout)
        self.assertEqual(shell("cat out/part-r-*", cwd=self.tmp.name), b"good\t2\nwords\t1\n")

    def test_the_help_of_a_job_lists_its_options(self):
        done = subprocess.run([MILLRACE, "run", "grep", "--help"], capture_output=True, check=True, timeout=LIMIT_SECONDS)
        self.assertIn(b"--reducers", done.stdout)
        own, of_all = done.stdout.split(b"Options of every job:")
        self.assertIn(b"-D grep.pattern=text", own)
        self.assertIn(b"(must be given)", own)
        self.assertIn(b"-D task.memory=bytes", of_all)
        self.assertNotIn(b"-D grep.pattern=text", subprocess.run([MILLRACE, "run", "--help"], capture_output=True, check=True).stdout)

    def test_nothing_is_left_after_it_was_killed(self):
        reader, writer = os.pipe()
        # The command holds the pipe's end open: end of file means that it and every daemon that could have it is gone.
        local = subprocess.Popen([MILLRACE, "local", "--workers", "1", "--", "sh", "-c", "echo up; exec cat"], env=self.environment,
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=writer, pass_fds=[writer])
        os.close(writer)
        self.assertEqual(local.stdout.readline(), b"up\n")
        local.send_signal(signal.SIGKILL)
        local.wait()
        local.stdin.close()
        local.stdout.close()
        while os.read(reader, 65536):
            pass
        os.close(reader)
        self.assertEqual(self.left(), [])


if __name__ == "__main__":
    unittest.main()
