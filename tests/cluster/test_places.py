# SPDX-License-Identifier: Apache-2.0
"""Places that users name are looked at before any work is done, and what was computed is not thrown away."""

import glob
import json
import os
import stat
import subprocess
import tempfile
import unittest

from cluster import BIN, LIMIT_SECONDS, MILLRACE, Cluster, shell

JOBS = os.environ["MILLRACE_TEST_JOBS"]
# One whose map says that it ran, one without reduces, a pipeline.
CRASH = [os.path.join(JOBS, "crash"), "-D", "crash.how=throw"]
FREQUENT = [os.path.join(JOBS, "frequent")]


class Places(unittest.TestCase):
    def setUp(self):
        self.tmp = tempfile.TemporaryDirectory(prefix="millrace-test-")
        self.addCleanup(self.tmp.cleanup)
        os.mkdir(self.at("tmp"))
        self.environment = {**os.environ, "TMPDIR": self.at("tmp"), "LC_ALL": "C", "PATH": os.environ["PATH"] + os.pathsep + BIN}
        self.environment.pop("MILLRACE_MASTER", None)
        with open(self.at("in"), "w") as f:
            f.write("b a\nb\n")

    def at(self, *names):
        return os.path.join(self.tmp.name, *names)

    def run_here(self, *args, status=0, program=MILLRACE, **more):
        done = subprocess.run([program, *args], env={**self.environment, **more}, capture_output=True, stdin=subprocess.DEVNULL, timeout=LIMIT_SECONDS, cwd=self.tmp.name,
                              text=True)
        self.assertIn(done.returncode, status if isinstance(status, tuple) else (status,), (args, done.stdout, done.stderr))
        return done

    def refused(self, said, *args, status=1, program=MILLRACE):
        """It is refused in one line, and before anything else is said or done."""
        before = sorted(os.listdir(self.tmp.name))
        done = self.run_here(*args, status=status, program=program)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertIn(said, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertEqual(sorted(os.listdir(self.tmp.name)), before)
        self.assertEqual(os.listdir(self.at("tmp")), [])

    def wrong_places(self):
        """Names of directories that cannot be made, and what is to be said of them."""
        os.mkdir(self.at("there"))
        os.symlink("nowhere", self.at("dead"))
        return (("there", "exists already"), ("there/", "exists already"), (".", "exists already"), ("dead", "exists already"), ("dead/", "exists already"),
                ("in", "exists already"), ("in/out", '"in" is not a directory'), ("no/such/out", 'the directory "no/such" does not exist; make it first'),
                ("new/.", '"new" does not exist'), ("n" * 256, "too long"), ("/proc/out", '"/proc/out" cannot be made'),
                ("s3://bucket/out", "is a URL"), ("hdfs://one/out", "is a URL"), (f"file://{self.tmp.name}/out", "without file://"))


class LocalTest(Places):
    def test_an_output_is_looked_at_before_a_job_runs(self):
        places = self.wrong_places()
        for job in (CRASH, FREQUENT):
            for how in (["--in-process"], []):
                for place, said in places:
                    with self.subTest(job=job, how=how, place=place):
                        self.refused(said, "local", "--workers", "1", "run", *job, "in", "-o", place, *how)

    def test_a_slash_at_the_end_means_the_directory(self):
        for n, (job, parts) in enumerate(((["wordcount"], "a\t1\nb\t2\n"), (FREQUENT, "1\ta\n2\tb\n"))):
            for how in (["--in-process"], []):
                out = f"out{n}{len(how)}"
                self.run_here("local", "--workers", "1", "run", *job, "in", "-o", out + "//", *how)
                self.assertEqual(shell(f"cat {out}/part-r-*", cwd=self.tmp.name).decode(), parts)

    def test_a_long_name_is_a_name(self):
        for how, name in ((["--in-process"], "p" * 255), ([], "c" * 255)):
            self.run_here("local", "--workers", "1", "run", "wordcount", "in", "-o", name, *how)
            self.assertIn("_SUCCESS", os.listdir(self.at(name)))
        self.run_here("local", "run", *FREQUENT, "in", "-o", "f" * 255, "--in-process")
        self.assertIn("_SUCCESS", os.listdir(self.at("f" * 255)))

    def taken_meanwhile(self, *how):
        """Runs a job over an input that is held back until somebody else has taken the place of the output; gives what it said."""
        with open(self.at("held"), "w") as f:
            f.write("hold\nword\n")
        fifo = self.at("fifo" + str(len(how)))
        os.mkfifo(fifo)
        out = self.at("late" + str(len(how)))
        run = subprocess.Popen([MILLRACE, "local", "--workers", "1", "--set", "worker.sandbox=off", "run", CRASH[0], "held", "-o", out, "-D", f"crash.hold={fifo}", "-D", "crash.record=none", *how],
                               env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.tmp.name)
        with open(fifo, "w") as f:  # opens when the map waits there
            os.mkdir(out)
            with open(os.path.join(out, "mine"), "w"):
                pass
            f.write("go\n")
        _, error = run.communicate(timeout=LIMIT_SECONDS)
        self.assertEqual(run.returncode, 1, error)
        self.assertEqual(os.listdir(out), ["mine"])
        return error

    def test_what_was_computed_for_a_place_that_was_taken_meanwhile_is_kept(self):
        error = self.taken_meanwhile()
        [kept] = glob.glob(self.at("tmp", "millrace-output-*", "late0"))
        self.assertIn(kept, error)
        self.assertIn("_SUCCESS", os.listdir(kept))
        error = self.taken_meanwhile("--in-process")
        [kept] = glob.glob(self.at(".millrace-*"))
        self.assertIn(os.path.basename(kept), error)
        self.assertIn("_SUCCESS", os.listdir(kept))

    def test_inputs_that_are_urls_are_no_files(self):
        self.refused("there is no local file", "local", "run", "wordcount", "s3://bucket/in", "-o", "out")
        self.refused("without file://", "local", "run", "wordcount", f"file://{self.at('in')}", "-o", "out")

    def test_a_parent_directory_is_an_input(self):
        os.makedirs(self.at("data", "below"))
        with open(self.at("data", "text"), "w") as f:
            f.write("up\n")
        done = subprocess.run([MILLRACE, "local", "--workers", "1", "run", "wordcount", "..", "-o", self.at("out")], env=self.environment, capture_output=True,
                              stdin=subprocess.DEVNULL, timeout=LIMIT_SECONDS, cwd=self.at("data", "below"), text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(shell("cat out/part-r-*", cwd=self.tmp.name), b"up\t1\n")

    def test_files_of_other_commands_are_opened_before_they_work(self):
        workload = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "workloads", "first-steps.toml")
        sim = ["sim", workload, "--scheduler", "fifo"]
        for place, said in (("no/such", "does not exist"), ("tmp", "is a directory"), ("in/x", "not a directory"), ("s3://bucket/x", "is a URL")):
            with self.subTest(place=place):
                self.refused(said, *sim, "--journal", place, status=(1, 2))
                self.refused(said, "history", "export", "-o", place)
                self.refused(said, "text", "--size", "1K", "-o", place, program=os.path.join(BIN, "millrace-generate"))
        self.refused("in", *sim, "-o", "in", status=(1, 2))
        self.refused("URL", *sim, "-o", "s3://bucket/x", status=2)
        self.refused("URL", "compare", workload, "--scheduler", "fifo,fair", "-o", "s3://bucket/x", status=2)
        self.refused("URL", "local", "--keep", "s3://bucket/x", "--", "true", status=2)
        self.refused("exists already", "text", "--size", "1K", "-o", "in", program=os.path.join(BIN, "millrace-generate"))
        self.run_here("text", "--size", "1K", "-o", "/dev/null", program=os.path.join(BIN, "millrace-generate"))
        self.run_here("text", "--size", "1K", "-o", "made", program=os.path.join(BIN, "millrace-generate"))
        self.assertGreater(os.path.getsize(self.at("made")), 0)
        self.assertTrue(stat.S_ISCHR(os.stat("/dev/null").st_mode))

    def test_the_old_log_of_a_job_does_not_hide_the_next(self):
        for n, record in enumerate(("first", "second", "third"), 1):
            with open(self.at("text"), "w") as f:
                f.write(record + "\n")
            log = self.at("out.log" if n == 1 else f"out.{n}.log")
            done = self.run_here("local", "--workers", "1", "run", *CRASH[:1], "text", "-o", "out/", "-D", "crash.how=exit", "-D", "job.max_attempts=1", status=1)
            self.assertIn(os.path.basename(log), done.stderr)
            with open(log) as f:
                self.assertIn("about to end by exit", f.read())
        # Nothing is said of logs where no attempt has failed.
        done = self.run_here("local", "--workers", "1", "run", "grep", "in", "-o", "out", "-D", "grep.pattern=(", status=2)
        self.assertNotIn(".log", done.stderr)
        self.assertEqual(sorted(glob.glob(self.at("out*"))), [self.at(name) for name in ("out.2.log", "out.3.log", "out.log")])


class ClusterTest(Places):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(workers=1)
        cls.cluster.__enter__()
        cls.addClassCleanup(cls.cluster.__exit__, None, None, None)
        cls.cluster.run("fs", "put", "-", "/in", input=b"b a\nb\n")

    def setUp(self):
        super().setUp()
        self.environment["MILLRACE_MASTER"] = self.cluster.address

    def names(self):
        return self.cluster.run("fs", "ls", "/")[0]

    def test_urls_are_no_paths(self):
        before = self.names()
        for job in (["wordcount"], FREQUENT):
            for url in ("s3://bucket/x", "hdfs://one:9000/x", "gs://b/x", "file:///x"):
                self.refused(f'"{url}"', "run", *job, "/in", "-o", url, status=2)
                self.refused(f'"{url}"', "run", *job, url, "-o", "/out", status=2)
        for words in (["put", "in", "s3://bucket/x"], ["ls", "s3://bucket"], ["mkdir", "hdfs://one/x"]):
            done = self.run_here("fs", *words, status=2)
            self.assertIn("URL", done.stderr)
        self.assertEqual(self.names(), before)

    def test_what_the_file_system_refuses_is_refused_before_a_job_runs(self):
        before = self.cluster.run("job", "list", "--json")[0]
        for job in (["wordcount"], FREQUENT):
            for value in ("1000", "1048575"):
                self.refused("output.block_size", "run", *job, "/in", "-o", "/out", "-D", f"output.block_size={value}", status=2)
                self.refused("output.block_size", "local", "run", *job, "in", "-o", "out", "-D", f"output.block_size={value}", "--in-process", status=2)
            self.refused('"/in" is a file', "run", *job, "/in", "-o", "/in/below/out")
        self.assertEqual(self.cluster.run("job", "list", "--json")[0], before)
        self.refused("--block-size", "fs", "put", "--block-size", "1000", "tmp", "/stored", status=2)
        self.assertNotIn(b"/stored", self.names())

    def test_a_slash_at_the_end_of_an_output(self):
        for output in ("slash/", "/slashes//"):
            done = self.run_here("run", "wordcount", "in/", "-o", output)
            self.assertIn('"' + "/" + output.strip("/") + '"', done.stdout)
        self.run_here("run", *FREQUENT, "/in", "-o", "/ranked/")
        self.assertIn("_SUCCESS", self.run_here("fs", "ls", "/ranked").stdout)

    def test_a_map_runs_again_into_a_place_that_was_looked_at(self):
        self.cluster.run("run", *CRASH, "/in", "-o", "/failed", "-D", "job.max_attempts=1", "--name", "failing", status=1)
        [job] = [each["job"] for each in json.loads(self.cluster.run("job", "list", "--json")[0]) if each["name"] == "failing"]
        for place, said in self.wrong_places():
            with self.subTest(place=place):
                self.refused(said, "job", "rerun", f"job{job}.m.0.0", "--local", "-o", place)
        done = self.run_here("job", "rerun", f"job{job}.m.0.0", "--local", "-o", "again/", status=1)
        self.assertIn("threw", done.stderr)

    def test_a_job_without_one_of_its_libraries_says_which(self):
        job, library = os.path.join(JOBS, "linked"), os.path.join(JOBS, "lib")
        self.refused("libgreet.so", "run", job, "/in", "-o", "/greeted", status=2)
        # Here it is found, and on the workers it is not.
        done = self.run_here("run", job, "/in", "-o", "/greeted", "-D", "job.max_attempts=1", status=1, LD_LIBRARY_PATH=library)
        self.assertIn("libgreet.so: cannot open shared object file", done.stderr)


if __name__ == "__main__":
    unittest.main()
