# SPDX-License-Identifier: Apache-2.0
"""`millrace export`: what it prints, what it refuses, and that --check tells a job that runs elsewhere from one that does not.

No cluster is needed, and no Hadoop: tests/bench/export/compare.py runs exported jobs on a real one.
"""

import os
import subprocess
import sys
import tempfile
import unittest

from cluster import LIMIT_SECONDS, MILLRACE, words

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PACKAGE = os.path.join(ROOT, "client", "python", "src")
ORDER_MATTERS = """
import millrace

@millrace.job
def order(line: str):
    yield line[:1], line

@order.reduce
def first(key, lines):
    yield key, next(iter(lines))
"""


class ExportTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="millrace-export-test-")
        cls.place = cls.folder.name
        lines = words(3, 30_000).splitlines(keepends=True)
        os.makedirs(os.path.join(cls.place, "in", "sub"))
        for number, name in enumerate(("a", "b", "sub/c d")):
            with open(os.path.join(cls.place, "in", name), "wb") as f:
                f.write(b"".join(lines[number::3]))
        os.mkdir(os.path.join(cls.place, "bin"))
        os.symlink(sys.executable, os.path.join(cls.place, "bin", "python3"))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def export(self, *args, status=0, **environment):
        env = {name: value for name, value in os.environ.items() if name != "HADOOP_HOME"}
        env |= {"PYTHONPATH": PACKAGE, "PATH": f"{self.place}/bin:{env['PATH']}", **environment}
        done = subprocess.run([MILLRACE, "export", *args], cwd=self.place, env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              timeout=LIMIT_SECONDS, check=False)  # fmt: skip
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout if status == 0 and "--check" not in args else done.stderr

    def argv(self, text):
        """The words of what was printed, as a shell reads it."""
        text = text.replace("mapred streaming", "printf '%s|'", 1)
        return subprocess.run(["/bin/sh", "-c", text], capture_output=True, text=True, check=True).stdout.split("|")[:-1]

    def test_the_command_is_words_of_a_shell(self):
        argv = self.argv(self.export("hadoop", "grep", "-D", "grep.pattern=it's", "/in", "/out", "-r", "3"))
        pairs = list(zip(argv[::2], argv[1::2]))
        self.assertIn(("-mapper", 'grep --millrace-stream map "grep.pattern=it\'s"'), pairs)
        self.assertIn(("-D", "mapreduce.job.reduces=3"), pairs)
        self.assertIn(("-input", "/in"), pairs)
        self.assertIn(("-output", "/out"), pairs)
        ships = dict(pairs)["-files"]
        self.assertTrue(os.path.isabs(ships) and os.access(ships, os.X_OK), ships)

    def test_a_check_succeeds_for_jobs_of_all_kinds(self):
        for args in (("wordcount",), ("invertedindex",), ("grep", "-D", "grep.pattern=[aeiou]+"), ("grep", "-D", "grep.pattern=a", "-D", "grep.lines=true")):
            for reducers in ("1", "3"):
                said = self.export("hadoop", "--check", "-r", reducers, *args, "in", "/out")
                self.assertRegex(said, "checked with .* of 3 files, by mapper, sort and reducer: the output, [1-9][0-9]* lines, is the job's own")
        self.assertIn("is the job's own", self.export("hadoop", "--check", "-r", "0", "wordcount", "in", "/out"))

    def test_a_check_finds_what_the_order_of_values_decides(self):
        with open(os.path.join(self.place, "order.py"), "w", encoding="ascii") as f:
            f.write(ORDER_MATTERS)
        said = self.export("hadoop", "--check", "order.py", "in", "/out", status=1)
        self.assertRegex(said, r"--check: the outputs differ: of part-r-00000, at line \d+ Millrace's own has .*, and the exported job's has")

    def test_a_check_finds_a_hadoop_that_does_otherwise(self):
        home = os.path.join(self.place, "home")
        os.makedirs(os.path.join(home, "bin"), exist_ok=True)
        with open(os.path.join(home, "bin", "mapred"), "w", encoding="ascii") as f:
            f.write('#!/bin/sh\nwhile [ "$1" != -output ]; do shift; done\nout=${2#file://}\nmkdir "$out" && echo wrong > "$out/part-00000"\n')
        os.chmod(f.name, 0o755)
        said = self.export("hadoop", "--check", "wordcount", "in", "/out", status=1, HADOOP_HOME=home)
        self.assertRegex(said, 'the outputs differ: of part-r-00000, at line 1 .* has "wrong"')

    def test_a_sample_stands_for_the_input(self):
        said = self.export("hadoop", "--check", "--sample", "in", "wordcount", "/no/such/place", "/out")
        self.assertIn("of 3 files", said)
        self.assertIn("/no/such/place", self.export("hadoop", "--check", "wordcount", "/no/such/place", "/out", status=1))

    def test_side_files_and_options_go_along(self):
        with open(os.path.join(self.place, "stop words"), "w", encoding="ascii") as f:
            f.write("the\n")
        argv = self.argv(self.export("hadoop", "wordcount", "--file", "stop words=/lists/stop", "in", "/out"))
        self.assertIn("wordcount --millrace-stream map '--file=stop words=/lists/stop'", argv)
        self.assertIn(os.path.join(os.path.realpath(self.place), "stop words"), dict(zip(argv[::2], argv[1::2]))["-files"].split(","))

    def test_what_cannot_run_there_is_refused(self):
        for args, told in (
            (("terasort", "/in", "/out"), "its input is not lines of text"),
            (("streaming", "-D", "stream.mapper=cat", "/in", "/out"), "its map and reduce are programs"),
            (("wordcount", "-D", "no.option=1", "/in", "/out"), "no.option"),
            (("wordcount", "/in", "/out", "--sample", "a", "--sample", "b"), "--sample is given 2 times"),
            (("grep", "-D", "grep.pattern=it's \"", "/in", "/out"), "both kinds of quotes"),
            (("no_such_job", "/in", "/out"), "no_such_job"),
            (("no_such_job.py", "/in", "/out"), "no_such_job.py does not exist"),
        ):
            self.assertIn(told, self.export("hadoop", *args, status=2))
        self.assertIn("jobs in Python can be exported to Spark", self.export("spark", "wordcount", status=2))

    def test_a_step_of_emr_names_the_program_on_s3(self):
        said = self.export("hadoop", "wordcount", "s3://d/in", "s3://d/out", "--emr", "s3://d/programs/")
        self.assertRegex(said, r"^aws s3 cp /.*/wordcount s3://d/programs/wordcount\naws emr add-steps --cluster-id \"\$CLUSTER_ID\" --steps ")
        self.assertIn('"s3://d/programs/wordcount"', said)

    def test_jobs_in_python(self):
        examples = os.path.join(ROOT, "client", "python", "examples")
        said = self.export("hadoop", "--check", "-r", "3", f"{examples}/wordcount.py:wordcount", "in/a", "/out")
        self.assertIn("is the job's own", said)
        self.assertTrue(os.path.exists(os.path.join(self.place, "wordcount.zip")))
        self.assertIn("has 2 jobs", self.export("hadoop", f"{examples}/wordcount.py", "in", "/out", status=2))
        self.assertIn("spark.main(wordcount)\n", self.export("spark", f"{examples}/wordcount.py:wordcount"))
        self.assertIn("does not find the package millrace", self.export("spark", f"{examples}/wordcount.py", status=2, PYTHONPATH=""))

    def test_streams_on_both_sides_of_sort(self):
        native = subprocess.run([os.path.join(os.path.dirname(MILLRACE), "wordcount"), "--millrace-solo", "solo", "1", "--", "in"],
                                cwd=self.place, capture_output=True, check=True, timeout=LIMIT_SECONDS)  # fmt: skip
        self.assertTrue(native.stdout)
        pipe = 'cat in/a in/b "in/sub/c d" | wordcount --millrace-stream map | LC_ALL=C sort -t "$(printf \'\\t\')" -k1,1 | wordcount --millrace-stream reduce'
        env = {**os.environ, "PATH": f"{os.path.dirname(MILLRACE)}:{os.environ['PATH']}"}
        piped = subprocess.run(["/bin/sh", "-c", pipe], cwd=self.place, env=env, capture_output=True, check=True, timeout=LIMIT_SECONDS)
        with open(os.path.join(self.place, "solo", "part-r-00000"), "rb") as f:
            self.assertEqual(piped.stdout, f.read())


if __name__ == "__main__":
    unittest.main()
