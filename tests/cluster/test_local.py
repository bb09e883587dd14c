"""millrace local: a whole cluster for the length of one command."""

import glob
import os
import signal
import subprocess
import tempfile
import unittest

from cluster import BIN, LIMIT_SECONDS, MILLRACE, shell


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
