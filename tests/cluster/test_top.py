# SPDX-License-Identifier: Apache-2.0
"""millrace top: on terminals of several sizes, with a master that is lost and comes back, under the signals that end or stop it."""

import fcntl
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import termios
import time
import unittest

from cluster import LIMIT_SECONDS, MILLRACE, Cluster

FAST = ["master.heartbeat=200ms", "master.lost_after=5s", "master.startup_grace=1s"]
ENTERS, LEAVES = b"\x1b[?1049h", b"\x1b[?1049l"
HOSTILE = "evil \x1b[2J\x1b]0;owned\x07 name"


class Screen:
    """A command on a terminal of its own, whose mode is looked at from this side."""

    def __init__(self, environment, *args, columns=80, rows=24):
        self.master, self.slave = pty.openpty()
        self.resize(columns, rows)
        self.before = termios.tcgetattr(self.slave)
        self.process = subprocess.Popen([MILLRACE, *args], env=environment, stdin=self.slave, stdout=self.slave, stderr=self.slave, start_new_session=True,
                                        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        self.text = b""

    def resize(self, columns, rows):
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def until(self, *texts):
        """Reads until all of them came since the last call."""
        deadline = time.monotonic() + LIMIT_SECONDS
        while not all(text in self.text for text in texts):
            if not select.select([self.master], [], [], max(0, deadline - time.monotonic()))[0]:
                raise AssertionError(f"{texts} did not come: {self.text!r}")
            self.text += os.read(self.master, 65536)
        seen, self.text = self.text, b""
        return seen

    def type(self, keys):
        os.write(self.master, keys)

    def end(self):
        """The exit status, once what is left is read."""
        deadline = time.monotonic() + LIMIT_SECONDS
        while self.process.poll() is None and time.monotonic() < deadline:
            if select.select([self.master], [], [], 0.05)[0]:
                self.text += os.read(self.master, 65536)
        while select.select([self.master], [], [], 0)[0]:
            self.text += os.read(self.master, 65536)
        return self.process.wait(LIMIT_SECONDS)

    def restored(self):
        return termios.tcgetattr(self.slave) == self.before

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.slave)
        os.close(self.master)


class TopTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(workers=2, settings=FAST)
        cls.cluster.__enter__()
        cls.job = cls.start_job("/long", "sleeper")
        cls.waits = cls.start_job("/waits", HOSTILE)

    @classmethod
    def tearDownClass(cls):
        cls.cluster.__exit__(None, None, None)

    @classmethod
    def start_job(cls, out, name, maps=6):
        return cls.cluster.run("run", "sleep", "-o", out, "--detach", "--name", name, "-D", f"input.maps={maps}", "-D", "sleep.map_time=1h")[0].split()[-1].decode()

    def screen(self, *args, **size):
        screen = Screen(self.cluster.environment(), "top", *args, **size)
        self.addCleanup(screen.close)
        return screen

    def test_once_fits_and_has_no_escapes(self):
        for columns in (80, 200):
            environment = {**self.cluster.environment(), "COLUMNS": str(columns)}
            out = subprocess.run([MILLRACE, "top", "--once"], env=environment, capture_output=True, check=True, timeout=LIMIT_SECONDS).stdout.decode()
            with self.subTest(columns=columns):
                self.assertLessEqual(max(map(len, out.splitlines())), columns, out)
                self.assertNotRegex(out, r"[\x00-\x09\x0b-\x1f\x7f]")
                self.assertIn("2 of 2 map and 0 of 2 reduce slots busy; 1 job runs, 1 waits; 2 nodes live", " ".join(out.split()))
                self.assertRegex(out, rf"(?m)^{self.job} .*map 0%")
                self.assertRegex(out, rf"(?m)^{self.waits} .*waiting")
                self.assertRegex(out, r"(?m)^NODE ")
        self.assertIn("\\x1b[2J", out)
        reason = re.search(r"waits for map slots \(.*?\): (.*)", self.cluster.run("job", "status", self.waits)[0].decode())[1]
        self.assertIn(reason[:20], out)

    def test_without_a_terminal_it_says_what_to_do(self):
        self.assertIn(b"--once", self.cluster.run("top", status=2)[1])
        self.assertIn(b"--delay", self.cluster.run("top", "--delay", "1us", "--once", status=2)[1])

    def test_the_master_cannot_be_reached(self):
        environment = {**self.cluster.environment(), "MILLRACE_MASTER": "127.0.0.1:1", "MILLRACE_WAIT": "0s"}
        for args in (["--once"], []):
            screen = Screen(environment, "top", *args)
            self.addCleanup(screen.close)
            self.assertEqual(screen.end(), 3)
            self.assertNotIn(ENTERS, screen.text)

    def test_keys(self):
        screen = self.screen("--delay", "100ms", columns=120)
        screen.until(ENTERS, b"sleeper", b"[j jobs 2]")
        screen.type(b"n")
        screen.until(b"[n nodes 2]", b"HEARD")
        screen.type(b"h")
        screen.until(b"Page Down")
        screen.type(b"j\x1b[H\r")
        seen = screen.until(b"ATTEMPT", f"job{self.job}.m.0.0".encode(), b"maps 0 of 6 done, 2 running")
        self.assertNotIn(b"owned\x07", seen)
        screen.type(b"\x1b")
        screen.until(b"[j jobs 2]")
        screen.type(b"q")
        self.assertEqual(screen.end(), 0)
        self.assertTrue(screen.text.endswith(LEAVES), screen.text[-40:])
        self.assertTrue(screen.restored())

    def test_signals_restore_the_terminal(self):
        for number, status in ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)):
            screen = self.screen()
            screen.until(ENTERS, b"sleeper")
            self.assertFalse(screen.restored())
            if number == signal.SIGINT:
                screen.type(b"\x03")
            else:
                screen.process.send_signal(number)
            with self.subTest(signal=number):
                self.assertEqual(screen.end(), status)
                self.assertTrue(screen.text.endswith(LEAVES), screen.text[-40:])
                self.assertTrue(screen.restored())

    def test_another_size(self):
        screen = self.screen("--delay", "1h")
        screen.until(b"sleeper")
        screen.resize(200, 50)
        screen.process.send_signal(signal.SIGWINCH)
        screen.until(b"OWNER", b"POOL")
        screen.resize(20, 2)
        screen.process.send_signal(signal.SIGWINCH)
        screen.until(b"\x1b[2;1H")
        screen.type(b"q")
        self.assertEqual(screen.end(), 0)

    def test_stopped_and_continued(self):
        screen = self.screen()
        screen.until(ENTERS, b"sleeper")
        screen.process.send_signal(signal.SIGTSTP)
        screen.until(LEAVES)
        _, status = os.waitpid(screen.process.pid, os.WUNTRACED)
        self.assertTrue(os.WIFSTOPPED(status))
        self.assertTrue(screen.restored())
        screen.process.send_signal(signal.SIGCONT)
        screen.until(ENTERS, b"sleeper")
        self.assertFalse(screen.restored())
        screen.type(b"q")
        self.assertEqual(screen.end(), 0)
        self.assertTrue(screen.restored())

    def test_a_terminal_that_goes_away_ends_it(self):
        pid, fd = pty.fork()
        if pid == 0:
            os.execve(MILLRACE, [MILLRACE, "top"], self.cluster.environment())
        seen = b""
        while b"sleeper" not in seen:
            seen += os.read(fd, 65536)
        os.close(fd)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 129)

    def test_a_master_that_is_lost_and_comes_back(self):
        with Cluster(workers=1, settings=FAST) as cluster:
            cluster.run("run", "sleep", "-o", "/o", "--detach", "--name", "outlives it", "-D", "input.maps=1", "-D", "sleep.map_time=1h")
            screen = Screen(cluster.environment(), "top", "--delay", "100ms", columns=100)
            self.addCleanup(screen.close)
            screen.until(b"outlives it", b"1 of 1 map")
            cluster.kill_master()
            seen = screen.until(b"The master has not answered since")
            screen.until(b"outlives it")  # the last picture stays
            screen.type(b"h")  # and keys work
            screen.until(b"Page Down")
            screen.type(b"h")
            cluster.start_master()
            screen.until(b"outlives it", b"1 of 1 map")
            deadline = time.monotonic() + LIMIT_SECONDS
            while True:
                screen.text = b""
                seen = screen.until(b"\x1b[1;1H", b"[j jobs", b"outlives it")
                if b"not answered" not in seen:
                    break
                self.assertLess(time.monotonic(), deadline)
            cluster.kill_master()
            screen.until(b"not answered")
            begin = time.monotonic()
            screen.type(b"q")
            self.assertEqual(screen.end(), 0)
            self.assertLess(time.monotonic() - begin, 4)  # it does not wait for an answer
            self.assertTrue(screen.restored())
            cluster.start_master()

    def test_ten_thousand_tasks_cost_the_master_little(self):
        def processor_time(pid):
            with open(f"/proc/{pid}/stat") as f:
                fields = f.read().rpartition(")")[2].split()
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

        with Cluster(workers=1, map_slots=4, settings=FAST) as cluster:
            cluster.run("run", "sleep", "-o", "/o", "--detach", "--name", "large", "-D", "input.maps=10000", "-D", "sleep.map_time=1h", "--reducers", "1")
            screen = Screen(cluster.environment(), "top", "--delay", "100ms", columns=120)
            self.addCleanup(screen.close)
            screen.until(b"large")
            screen.type(b"\r")
            screen.until(b"maps 0 of 10000 done, 4 running", b"job1.m.")
            begin, used = time.monotonic(), processor_time(cluster.master.pid)
            for _ in range(10):
                seen = screen.until(b"\x1b[1;1H", b"maps 0 of 10000 done")
                self.assertLess(len(seen), 200_000)
            passed = time.monotonic() - begin
            self.assertLess(processor_time(cluster.master.pid) - used, 0.2 * passed + 0.05)
            screen.type(b"q")
            self.assertEqual(screen.end(), 0)

    @unittest.skipUnless(shutil.which("tmux"), "tmux is not installed (deploy/install-packages)")
    def test_in_tmux(self):
        """What a person sees, by another program's reading of the escapes."""
        for columns in (80, 200):
            socket = self.cluster.path(f"tmux{columns}")

            def tmux(*args):
                return subprocess.run(["tmux", "-f", "/dev/null", "-S", socket, *args], env=self.cluster.environment(), capture_output=True, text=True, timeout=LIMIT_SECONDS, check=True).stdout

            tmux("new-session", "-d", "-x", str(columns), "-y", "30", f"echo BEFORE; {MILLRACE} top --delay 100ms; echo ended $?; cat")
            try:
                def until(text):
                    deadline = time.monotonic() + LIMIT_SECONDS
                    while text not in (shown := tmux("capture-pane", "-p")):
                        self.assertLess(time.monotonic(), deadline, shown)
                        time.sleep(0.05)
                    return shown

                with self.subTest(columns=columns):
                    shown = until("sleeper")
                    self.assertRegex(shown, rf"(?m)^{self.job} +\[[=> ]+\] +map 0%")
                    self.assertIn("\\x1b[2J" if columns == 200 else "evil", shown)
                    self.assertIn("WHY IT WAITS"[: 12 if columns == 200 else 6], shown)  # the last column is cut at 80
                    if columns == 200:
                        self.assertLessEqual({"OWNER", "POOL", "SLOTS", "RAN", "DONE"}, set(shown.split()))
                    tmux("send-keys", "n")
                    self.assertRegex(until("HEARD" if columns == 200 else "DISK"), r"(?m)^\d+ .*1 of 1")
                    tmux("send-keys", "j", "Home", "Enter")
                    self.assertRegex(until("ATTEMPT"), rf"job{self.job}\.m\.\d\.0 +running")
                    tmux("send-keys", "q")
                    self.assertRegex(until("ended 0"), r"(?s)^BEFORE\n.*ended 0")
            finally:
                tmux("kill-server")


if __name__ == "__main__":
    unittest.main()
