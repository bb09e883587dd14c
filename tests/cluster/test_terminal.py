# SPDX-License-Identifier: Apache-2.0
"""What a person at a terminal sees: completion in three shells, tables of a terminal's width, questions, a master that is away."""

import json
import os
import pty
import re
import select
import shutil
import signal
import struct
import fcntl
import subprocess
import termios
import time
import unittest

from cluster import BIN, LIMIT_SECONDS, MILLRACE, Cluster

FAST = ["master.heartbeat=200ms", "master.lost_after=5s", "master.startup_grace=1s"]


class Terminal:
    """A command on a terminal of so many columns; all that it writes is kept."""

    def __init__(self, environment, columns, *args):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
            os.execve(MILLRACE, [MILLRACE, *args], environment)
        self.text = b""

    def _read(self, deadline):
        if not select.select([self.fd], [], [], max(0, deadline - time.monotonic()))[0]:
            raise AssertionError(f"nothing more came: {self.text!r}")
        try:
            more = os.read(self.fd, 65536)
        except OSError:  # the other end is closed
            more = b""
        self.text += more
        return more

    def until(self, text):
        deadline = time.monotonic() + LIMIT_SECONDS
        while text not in self.text:
            if not self._read(deadline):
                raise AssertionError(f"it ended without {text!r}: {self.text!r}")

    def type(self, text):
        os.write(self.fd, text)

    def end(self):
        """Gives the exit status and the text."""
        deadline = time.monotonic() + LIMIT_SECONDS
        while self._read(deadline):
            pass
        os.close(self.fd)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1]), self.text.decode().replace("\r\n", "\n")


class TerminalTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(workers=2, racks=2, settings=FAST)
        cls.cluster.__enter__()
        cls.cluster.start_worker(2, settings=["worker.name=one-with-a-name"])
        cls.cluster.start_worker(3, settings=["worker.map_slots=4"])
        cls.cluster.run("fs", "put", "-", "/in/a b", input=b"some words\n")
        cls.cluster.run("fs", "put", "-", "/in/$(touch ran)", input=b"words\n")
        cls.cluster.run("run", "wordcount", "/in/a b", "-o", "/out", "--name", "a name of a job that is as long as people make them")
        cls.long = cls.start_job("/long")

    @classmethod
    def tearDownClass(cls):
        cls.cluster.__exit__(None, None, None)

    @classmethod
    def start_job(cls, out, maps=4, time="1h", options=()):
        return cls.cluster.run("run", "sleep", "-o", out, "--detach", "-D", f"input.maps={maps}", "-D", f"sleep.map_time={time}", *options)[0].split()[-1].decode()

    def at(self, columns, *args):
        return Terminal(self.cluster.environment(), columns, *args)

    # Tables.

    def test_no_line_of_a_table_is_wider_than_the_terminal(self):
        for columns in (80, 120, 200):
            for command in (("job", "list"), ("node", "list"), ("job", "tasks", self.long), ("node", "list", "--format", "node,name,state,address,heard")):
                with self.subTest(columns=columns, command=command):
                    status, text = self.at(columns, *command).end()
                    self.assertEqual(status, 0)
                    table = [line for line in text.splitlines() if not line.startswith("node")]
                    self.assertGreater(len(table), 2)
                    self.assertLessEqual(max(map(len, table)), columns, text)

    def test_the_columns_of_the_most_worth_stay(self):
        self.assertEqual(self.at(80, "job", "list").end()[1].split("\n")[0].split()[:2], ["JOB", "STATE"])
        heads = {columns: set(self.at(columns, "job", "list").end()[1].split("\n")[0].split()) for columns in (80, 120, 200)}
        self.assertLessEqual({"JOB", "STATE", "RAN", "MAPS", "REDUCES", "NAME"}, heads[80])
        self.assertLess(heads[80], heads[200])
        self.assertIn("NAME", self.at(80, "node", "list").end()[1].split("\n")[0].split())

    def test_a_pipe_gets_every_column_whole(self):
        piped = self.cluster.run("job", "list")[0].decode()
        self.assertEqual(piped.splitlines()[0].split("  ")[0], "JOB")
        self.assertIn("a name of a job that is as long as people make them", piped)
        self.assertNotIn("jobs: ", piped)
        wide = self.at(80, "job", "list", "-w").end()[1]
        self.assertIn("a name of a job that is as long as people make them", wide)
        self.assertRegex(wide, r"\n\d+ jobs: 1 running, 1 succeeded.*\n$")

    def test_columns_order_and_sums_are_the_users_choice(self):
        said = self.cluster.run("job", "list", "--format", "name,job", "--sort", "name", "--reverse", "--no-head", "--totals")[0].decode().splitlines()
        self.assertRegex(said[-1], r"^\d+ jobs: ")
        names = [line.rsplit(None, 1)[0] for line in said[:-1]]
        self.assertEqual(names, sorted(names, reverse=True))
        numbers = [int(line) for line in self.cluster.run("job", "list", "--format", "job", "--sort", "job", "--no-head")[0].split()]
        self.assertEqual(numbers, sorted(job["job"] for job in json.loads(self.cluster.run("job", "list", "--json")[0])))
        _, error = self.cluster.run("job", "list", "--format", "job,stat", status=2)
        self.assertIn(b'there is no column "stat"; did you mean state?', error)
        _, error = self.cluster.run("node", "list", "--sort", "colour", status=2)
        self.assertIn(b"--sort", error)
        every = self.cluster.run("node", "list", "--wide")[0].decode().splitlines()[0].split("  ")
        self.assertLessEqual({"NODE", "NAME", "ADDRESS", "VERSION", "TO MOVE"}, {head.strip() for head in every})

    def test_what_nodes_have_in_common_is_said_once(self):
        said = self.cluster.run("node", "list")[0].decode()
        self.assertLessEqual(said.count("confined in part"), 1, said)

    def test_the_scheduler_fits_the_terminal(self):
        waiting = self.start_job("/waits", maps=20)
        for columns in (80, 120):
            status, text = self.at(columns, "scheduler", "show").end()
            self.assertEqual(status, 0)
            tables = text.partition("\n\n")[2]
            self.assertIn("WHY", tables)
            self.assertLessEqual(max(map(len, tables.splitlines())), columns, text)
        self.assertIn("WANTS", self.at(80, "scheduler", "show", "-w").end()[1])
        self.cluster.run("job", "kill", waiting)

    def test_times_are_those_of_the_master(self):
        shim = os.environ.get("MILLRACE_TEST_CLOCK")
        if not shim or not os.path.exists(shim):
            self.skipTest("no clock_shim.so")
        for hours in (-5, 5):
            with open(self.cluster.path("clock"), "wb") as f:
                f.write(struct.pack("=q", hours * 3600 * 10**9))
            environment = {**self.cluster.environment(), "LD_PRELOAD": shim, "CHAOS_CLOCK": self.cluster.path("clock")}

            def shifted(*args):
                return subprocess.run([MILLRACE, *args], env=environment, capture_output=True, check=True, timeout=LIMIT_SECONDS).stdout.decode()

            with self.subTest(hours=hours):
                ran = shifted("job", "list", "--live", "--format", "job,ran", "--no-head")
                self.assertRegex(ran, rf"(?m)^{self.long} ")
                self.assertNotRegex(ran, r"\d h|  0 us$|-\d")
                self.assertNotRegex(shifted("job", "tasks", self.long, "--format", "took", "--no-head"), r"\d h|-\d")
                self.assertIn("succeeded", shifted("job", "list", "--since", "2h"))
        self.assertIn("SUBMITTED (UTC)", self.cluster.run("job", "list")[0].decode())

    def test_a_job_that_has_ended_says_things_once(self):
        job = self.start_job("/once", maps=40, time="100ms")
        while json.loads(self.cluster.run("job", "status", "--json", job)[0])["maps"]["done"] < 4:
            pass
        self.cluster.run("job", "kill", job)
        said = self.cluster.run("job", "status", job)[0].decode()
        for once in ("killed in", '"/once"', "reduces", "read "):
            self.assertEqual(said.count(once), 1, said)
        done = int(re.search(r"maps (\d+) of 40 done", said)[1])
        self.assertGreaterEqual(done, 4)
        listed = self.cluster.run("job", "list", "--format", "job,maps", "--no-head")[0].decode()
        self.assertRegex(listed, rf"(?m)^{job} +{done * 100 // 40}% of 40$")

    def test_a_deadline_that_is_over_is_told_of(self):
        job = self.start_job("/late", options=["--deadline", "100ms"])
        late = ""
        while "its deadline was" not in late:
            late = self.cluster.run("job", "status", job)[0].decode()
        self.assertRegex(late, r"  its deadline was .*s ago\n")
        self.cluster.run("job", "kill", job)
        self.assertRegex(self.cluster.run("job", "status", job)[0].decode(), r"  ended .*s after its deadline\n")

    def test_workers_are_told_apart_in_their_logs(self):
        self.assertIn("Z info worker one-with-a-name: registered", self.cluster.log("worker2"))
        self.cluster.start_worker(4, settings=["worker.bind=0.0.0.0", "worker.map_slots=0"])
        self.cluster.workers[4].terminate()
        self.cluster.workers.pop(4).wait(LIMIT_SECONDS)
        with open(self.cluster.path("ready4")) as f:
            node = f.read().strip()
        log = self.cluster.log("worker4")
        self.assertIn(f"Z info worker {os.uname().nodename}: registered", log)
        self.assertIn(f"Z info worker {os.uname().nodename} (node {node}): the worker stops", log)

    # A job that is waited for.

    def test_the_kill_prompt(self):
        job = self.start_job("/asked")
        waiting = self.at(80, "job", "wait", job)
        waiting.until(f"job{job} ".encode())
        waiting.type(b"\x03")
        waiting.until(b"[y/N; Ctrl-C leaves it running] ")
        waiting.type(b"n\n")
        waiting.until(b"goes on, and is waited for")
        waiting.text = b""
        waiting.type(b"\x03")  # it is still waited for, else nobody asked again
        waiting.until(b"[y/N")
        waiting.type(b"\x03")
        status, text = waiting.end()
        self.assertEqual(status, 1)
        self.assertIn(f"job{job} goes on; follow it with: millrace job wait job{job}", text)
        self.assertIn(json.loads(self.cluster.run("job", "status", "--json", job)[0])["state"], ("waiting", "running"))
        waiting = self.at(80, "job", "wait", job)
        waiting.until(f"job{job} ".encode())
        waiting.type(b"\x03")
        waiting.until(b"[y/N")
        waiting.type(b"y\n")
        self.assertEqual(waiting.end()[0], 1)
        self.assertEqual(json.loads(self.cluster.run("job", "status", "--json", job)[0])["state"], "killed")

    def test_a_master_that_is_away_is_told_of(self):
        job = self.start_job("/away")
        waiting = self.at(80, "job", "wait", job)
        waiting.until(f"job{job} ".encode())
        piped = self.cluster.start("job", "wait", job)
        self.assertTrue(json.loads(self.cluster.run("job", "status", "--json", job)[0]))
        self.cluster.stop_master()
        waiting.until(b"no word from the master for ")
        first = piped.stderr.readline()
        while b"the master cannot be reached" not in first:
            self.assertTrue(first)
            first = piped.stderr.readline()
        self.cluster.start_master()
        self.assertIn(b"the master is back after ", piped.stderr.readline())
        waiting.until(b"the master is back after ")
        self.cluster.run("job", "kill", job)
        self.assertIn(b"killed", piped.communicate()[1])
        self.assertEqual(waiting.end()[0], 1)

    # Completion, in each shell that is installed.

    def test_words_of_other_programs_get_a_hint(self):
        """Those in the tables of coming-from.md, which says so."""
        page = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "docs", "use", "coming-from.md")
        with open(page, encoding="utf-8") as f:
            rows = [line.split("|")[1] for line in f if line.startswith("| `")]
        words = {command.split()[0] for row in rows for command in re.findall(r"`([a-z][a-z-]+ [^`]*|[a-z]+)`", row)}
        words -= {"cat", "wait"}
        self.assertLessEqual({"hdfs", "mapred", "yarn", "sbatch", "sacct", "scontrol", "kubectl", "spark-submit"}, words)
        for word in sorted(words):
            done = subprocess.run([MILLRACE, word], capture_output=True, text=True, timeout=LIMIT_SECONDS)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn("did you mean millrace ", done.stderr)

    def test_help_for_what_is_no_command_is_one_line(self):
        for asked in (["help", "nothing"], ["help", "job", "nothing"]):
            done = subprocess.run([MILLRACE, *asked], capture_output=True, text=True, timeout=LIMIT_SECONDS)
            self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1))
        done = subprocess.run([MILLRACE, "help"], capture_output=True, text=True, timeout=LIMIT_SECONDS)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("Options before COMMAND:", done.stdout)

    def offers(self, shell, line):
        """What the shell itself offers at the end of the line."""
        if shutil.which(shell) is None:
            self.skipTest(f"{shell} is not installed: apt-get install {shell}")
        return {"bash": self.bash, "zsh": self.zsh, "fish": self.fish}[shell](line)

    def environment(self):
        return {**self.cluster.environment(), "HOME": self.cluster.directory, "PATH": BIN + os.pathsep + os.environ["PATH"], "TERM": "dumb"}

    def bash(self, line):
        # The line editor's own splitting is what the script has to put together again, so bash itself edits a line here.
        script = self.cluster.path("rc")
        with open(script, "w") as f:
            f.write("PS1='> '\nbind 'set completion-query-items 0'\nbind 'set page-completions off'\nbind 'set enable-bracketed-paste off'\n"
                    "bind 'set show-all-if-ambiguous on'\nsource <(millrace completion bash)\n"
                    "shown() { printf '<%q>\\n' \"${COMPREPLY[@]}\"; echo done; }\n_seen() { _millrace; shown >&2; COMPREPLY=(); }\ncomplete -F _seen millrace\n")
        return self.edited(["bash", "--noprofile", "--rcfile", script, "-i"], line)

    def edited(self, argv, line):
        pid, fd = pty.fork()
        if pid == 0:
            os.chdir(self.cluster.directory)
            os.execvpe(argv[0], argv, self.environment())
        text, typed = b"", False
        try:
            while b"done" not in text:
                ready = select.select([fd], [], [], LIMIT_SECONDS)[0]
                self.assertTrue(ready, text)
                text += os.read(fd, 65536)
                if not typed and b"> " in text:
                    typed = True
                    os.write(fd, line.encode() + b"\t")
        finally:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            os.close(fd)
        return [found.decode() for found in re.findall(rb"<([^\r\n]*)>\r?\n", text)]

    def zsh(self, line):
        # zsh's completion needs a line editor of its own: a pseudo-terminal of its module, whose compadd prints what it is given.
        script = ("autoload -Uz compinit; compinit -u -d $HOME/.zcompdump; source <(millrace completion zsh)\n"
                  "compadd() { local name=${@[-1]}; print -rl -- \"${(@P)name}\" >>$HOME/offered }\n_files() { : }\n"
                  "words=(\"${(@z)LINE}\"); [[ $LINE == *' ' ]] && words+=(''); CURRENT=$#words; _millrace\n")
        offered = self.cluster.path("offered")
        open(offered, "w").close()
        done = subprocess.run(["zsh", "-f", "-c", script], env={**self.environment(), "LINE": line}, cwd=self.cluster.directory, capture_output=True, timeout=LIMIT_SECONDS)
        self.assertEqual(done.stderr, b"")
        with open(offered) as f:
            return [word for word in f.read().splitlines() if word.startswith(line.rpartition(" ")[2])]

    def fish(self, line):
        done = subprocess.run(["fish", "--no-config", "-c", "millrace completion fish | source; complete -C $LINE"], env={**self.environment(), "LINE": line},
                              cwd=self.cluster.directory, capture_output=True, timeout=LIMIT_SECONDS)
        self.assertEqual(done.stderr, b"")
        return done.stdout.decode().splitlines()

    def check_shell(self, shell):
        live = {self.long}
        for line, expected in (("millrace sched", {"scheduler"}), ("millrace fs ch", {"chmod", "chown", "chgrp", "checksum"}), ("millrace job list --stat", {"--state"}),
                               ("millrace job list --state f", {"failed"}), ("millrace --wait 5s node dec", {"decommission"}), ("millrace scheduler set fair+d", {"fair+delay"}),
                               ("millrace run sleep -D sleep.map_t", {"sleep.map_time="}), ("millrace fs ls /ou", {"/out/"}), ("millrace run wordc", {"wordcount"}),
                               ("millrace completion z", {"zsh"})):
            with self.subTest(shell=shell, line=line):
                self.assertEqual(set(self.offers(shell, line)), expected)
        with self.subTest(shell=shell, what="jobs and nodes"):
            self.assertLessEqual(live, set(self.offers(shell, "millrace job kill ")))
            self.assertLessEqual({"1", "2", "one-with-a-name"}, set(self.offers(shell, "millrace node decommission ")))
        with self.subTest(shell=shell, what="an option's value in the same word"):
            self.assertEqual({word.rpartition("=")[2] for word in self.offers(shell, "millrace job list --state=r")}, {"running"})
        with self.subTest(shell=shell, what="names are text"):
            self.assertEqual(len(self.offers(shell, "millrace fs cat /in/")), 2)
            self.assertFalse(os.path.exists(self.cluster.path("ran")))

    def test_completion_in_bash(self):
        self.check_shell("bash")

    def test_completion_in_zsh(self):
        self.check_shell("zsh")

    def test_completion_in_fish(self):
        self.check_shell("fish")


if __name__ == "__main__":
    unittest.main()
