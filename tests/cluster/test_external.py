# SPDX-License-Identifier: Apache-2.0
"""Programs that order the jobs of a live cluster: what they decide, what they may not, and what happens when they fail."""

import glob
import json
import os
import shutil
import signal
import subprocess
import time
import unittest

from cluster import LIMIT_SECONDS, MILLRACE, Cluster, await_line, shell, words

SOURCE = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
PACKAGE = os.path.join(SOURCE, "client", "python", "src")
EXAMPLES = os.path.join(SOURCE, "client", "python", "examples", "policies")
PYTHON = "/usr/bin/python3"
FAST = ["master.heartbeat=200ms", "master.lost_after=5s", "master.startup_grace=1s"]

HELLO = "#!/bin/sh\nread hello\necho 'hello 1 name=hostile kind=ranking'\n"
# Each says hello, since what does not is never put in force.
HOSTILE = {
    "garbage": HELLO + "read line; echo 'no such word'; echo 'seen 1'; cat > /dev/null",
    "another question": HELLO + "echo 'seen 77'; cat > /dev/null",
    "exits": HELLO + "read line; exit 3",
    "kills itself": HELLO + "read line; kill -9 $$",
    "sleeps": HELLO + "sleep 100000",
    "ignores signals": HELLO + "trap '' TERM INT HUP; while :; do sleep 100000; done",
    "writes without end": HELLO + "yes 'order maps=job1'",
    "a line without end": HELLO + "head -c 1000000000 /dev/zero | tr '\\0' x; cat > /dev/null",
    "closes its output": HELLO + "exec 1>&-; cat > /dev/null",
    "floods standard error": HELLO + "yes nonsense >&2",
    "unknown jobs": HELLO + "while read line; do case $line in decide*) for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22; do\n"
                            "echo \"launch kind=map job=job99999 node=n$i\"; done; echo \"seen ${line#decide question=}\";; esac; done",
    "fork bomb": HELLO + "bomb() { bomb | bomb & }; bomb; sleep 100000",
    "leaves its group": HELLO + "setsid sh -c 'trap \"\" TERM; sleep 100000' & sleep 100000",
    "fills its memory": HELLO + "head -c 3000000000 /dev/zero | tail; sleep 100000",
}


def children(pid):
    """The processes below this one."""
    parents = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as stat:
                    parents.setdefault(int(stat.read().rsplit(")", 1)[1].split()[1]), []).append(int(name))
            except OSError:
                continue
    found, at = [], [pid]
    while at:
        below = parents.get(at.pop(), [])
        found += below
        at += below
    return found


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


class ExternalTest(unittest.TestCase):
    def setUp(self):
        self.cluster = Cluster(workers=2, map_slots=2, settings=FAST)
        self.programs = self.cluster.path("programs")
        os.makedirs(self.programs)
        os.chmod(os.path.dirname(self.programs), 0o755)
        # A program answers within a second even of a busy machine, unless a test is about what does not.
        self.file = self.cluster.path("scheduler.toml")
        with open(self.file, "w", encoding="utf-8") as f:
            f.write('[external]\npatience = "30s"\ntolerate = 1000\n')
        self.cluster.settings += [f"master.programs={self.programs}", f"master.program_paths={PACKAGE}", f"master.scheduler_file={self.file}"]
        self.cluster.__enter__()
        self.addCleanup(self.cluster.__exit__, None, None, None)
        os.makedirs(self.cluster.path("in"))
        for i in range(4):
            with open(self.cluster.path("in", f"t{i}"), "wb") as f:
                f.write(words(i, 3000))
        self.cluster.run("fs", "put", self.cluster.path("in"), "/in")
        self.expected = shell("cat in/* | tr -s ' ' '\\n' | grep . | sort | uniq -c | awk '{print $2 \"\\t\" $1}'", cwd=self.cluster.directory)
        self.outputs = 0

    def put(self, name, text):
        path = os.path.join(self.programs, name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(path, 0o755)

    def put_example(self, name):
        with open(os.path.join(EXAMPLES, name), encoding="utf-8") as f:
            self.put(name, f.read().replace("#!/usr/bin/env python3\n", f"#!{PYTHON}\n", 1))

    def set(self, name, *more, status=0):
        out, err = self.cluster.run("scheduler", "set", name, *more, status=None if status == 0 else status)
        if status == 0 and b"cannot be confined on this machine" in err:
            self.skipTest(err.decode())
        if status == 0 and b"from now on" not in out:
            raise AssertionError(err.decode())
        return err.decode()

    def scheduler(self):
        return json.loads(self.cluster.run("scheduler", "show", "--json")[0])

    def run_job(self):
        self.outputs += 1
        output = f"/out{self.outputs}"
        self.cluster.run("run", "wordcount", "/in", "-o", output, "--reducers", "1")
        self.assertEqual(b"".join(self.cluster.output(output).values()), self.expected)

    def await_ends(self, pids):
        """They have been killed, which takes the kernel a moment."""
        deadline = time.monotonic() + LIMIT_SECONDS
        for pid in pids:
            while alive(pid):
                self.assertLess(time.monotonic(), deadline, pid)

    def assert_replays(self):
        """Without the programs."""
        journal = self.cluster.path("journal")
        with open(journal, "wb") as f:
            f.write(self.cluster.run("job", "history")[0])
        self.assertIn(b"the same decisions", self.cluster.run("sim", "--replay", journal)[0])

    @unittest.skipUnless(os.access(PYTHON, os.X_OK), f"there is no {PYTHON}")
    def test_a_program_orders_jobs_over_its_end_and_the_masters(self):
        for name in ("fifo.py", "fair.py", "shortest.py"):
            self.put_example(name)
        for spec in ("external:fifo.py", "external:fair.py+delay+ccs", "external:shortest.py"):
            with self.subTest(spec):
                self.set(spec, "--fallback", "sjf")
                jobs = [self.cluster.start("run", "wordcount", "/in", "-o", f"/many-{spec[9:13]}-{i}", "--reducers", "1") for i in range(4)]
                for job in jobs:
                    self.assertEqual(job.wait(LIMIT_SECONDS), 0, job.communicate()[1])
                shown = self.scheduler()
                self.assertEqual(shown["name"], "external" + ("+delay+ccs" if "+" in spec else ""))
                self.assertEqual((shown["facts"]["external.program"], shown["facts"]["external.fallback"]), (spec[9:].split("+")[0], "sjf"))
                self.assertGreater(shown["facts"]["answers"], 1)
                self.assertEqual(shown["facts"]["refused parts of answers"], 0)
        # The master's end: the program ends with it, and is started again.
        before = children(self.cluster.master.pid)
        self.assertTrue(before)
        self.cluster.kill_master()
        self.cluster.start_master()
        self.run_job()
        self.assertEqual(self.scheduler()["name"], "external")
        self.await_ends(before)
        # Its own end.
        seen = os.path.getsize(self.cluster.path("master.log"))
        os.kill(children(self.cluster.master.pid)[-1], signal.SIGKILL)
        self.run_job()
        await_line(self.cluster.path("master.log"), b"was relieved", seen)
        self.assertEqual(self.scheduler()["name"], "sjf")
        self.run_job()
        for name in glob.glob(os.path.join(self.programs, "*")):
            os.unlink(name)
        self.assert_replays()

    def test_what_it_may_not(self):
        secret = self.cluster.path("master", "token-key")
        self.assertTrue(os.path.exists(secret))
        self.put("spy", HELLO + f"""
cat {secret} > /dev/null 2>&1 && echo "read the key" >&2
ls {self.cluster.path("in")} {self.cluster.path("master.log")} 2> /dev/null | grep . && echo "read the directory" >&2
echo x > {self.programs}/left 2> /dev/null && echo "wrote" >&2
kill -0 {self.cluster.master.pid} 2> /dev/null && echo "could signal the master" >&2
env | grep -q MILLRACE_SPY && echo "saw the environment" >&2
echo "tried all" >&2
exit 4
""")
        self.set("external:spy")
        seen = 0
        self.run_job()
        await_line(self.cluster.path("master.log"), b"was relieved", seen)
        said = self.dump()
        self.assertIn("tried all", said)
        for what in ("read the", "wrote", "could signal", "saw the"):
            self.assertNotIn(what, said)

    def dump(self):
        relieved = self.scheduler()["facts"]["relieved"]
        path = relieved[relieved.index(" is in ") + len(" is in "):].split(" of the master's machine")[0]
        deadline = time.monotonic() + LIMIT_SECONDS
        while not os.path.exists(path):  # it is written on a thread of its own
            self.assertLess(time.monotonic(), deadline, path)
        with open(path, encoding="utf-8", errors="replace") as f:
            return f.read()

    def test_hostile_programs(self):
        self.cluster.stop_master()
        os.unlink(self.file)
        self.cluster.settings = [setting for setting in self.cluster.settings if not setting.startswith("master.scheduler_file")]
        self.cluster.start_master()
        for name, text in HOSTILE.items():
            with self.subTest(name):
                file = name.replace(" ", "-")
                self.put(file, text)
                seen = os.path.getsize(self.cluster.path("master.log"))
                self.set(f"external:{file}", "--fallback", "fair")
                begin = time.monotonic()
                job = self.cluster.start("run", "wordcount", "/in", "-o", f"/hostile-{file}", "--reducers", "1")
                await_line(self.cluster.path("master.log"), b"was relieved", seen)
                took = time.monotonic() - begin
                self.assertEqual(job.wait(LIMIT_SECONDS), 0, job.communicate()[1])
                print(f"{name}: the fallback decides after {took:.1f} s", flush=True)
                self.assertEqual(self.scheduler()["name"], "fair")
                self.assertIn(f'"{file}"', self.scheduler()["facts"]["relieved"])
                self.assertLess(took, 30)
                codes = [warning["code"] for warning in json.loads(self.cluster.run("cluster", "status", "--json", status=None)[0])["warnings"]]
                self.assertIn("scheduler-relieved", codes)
                self.assertIn("was relieved", self.dump())
                self.await_ends(children(self.cluster.master.pid))
        self.assertLessEqual(len(glob.glob(self.cluster.path("master", "scheduler-programs", "*"))), 10)
        self.assertEqual(self.cluster.run("fs", "cat", "/hostile-exits/part-r-00000")[0], self.expected)

    def test_what_does_not_say_hello_is_not_put_in_force(self):
        self.put("exits", "#!/bin/sh\nexit 7\n")
        self.put("talks", "#!/bin/sh\necho 'good morning'\ncat > /dev/null")
        self.put("old", "#!/bin/sh\necho 'hello 0 name=old kind=ranking'\ncat > /dev/null")
        with open(os.path.join(self.programs, "plain"), "w", encoding="utf-8") as f:
            f.write("#!/bin/sh\n")
        for name, status, why in (("exits", 1, "ended with status 7"), ("talks", 1, "has not answered within"), ("old", 2, "does not speak version 1"), ("gone", 1, "gone"),
                                  ("plain", 1, "plain"), ("../master/token-key", 2, "is not the name of a program"), ("/bin/sh", 2, "is not the name of a program")):
            with self.subTest(name):
                said = self.set(f"external:{name}", status=status)
                if "cannot be confined on this machine" in said:
                    self.skipTest(said)
                self.assertIn(why, said)
                self.assertEqual(self.scheduler()["name"], "fifo")
        self.assertIn("asks no program", self.set("fair", "--fallback", "fifo", status=2))
        self.assertIn("external.fallback", self.set("external:exits", "--fallback", "nonsense", status=2))
        self.assertIn("--program goes with", self.set("fair", "--program", "exits", status=2))
        self.run_job()

    def test_without_a_directory_there_are_no_programs(self):
        self.cluster.settings = [setting for setting in self.cluster.settings if not setting.startswith("master.program")]
        self.cluster.stop_master()
        self.cluster.start_master()
        self.assertIn("master.programs names no directory", self.set("external:any", status=2))


class LocalTest(unittest.TestCase):
    """A local cluster runs the user's own program with his rights."""

    def test_a_local_cluster_asks_a_program(self):
        with Cluster(workers=0) as place:
            with open(place.path("text"), "w", encoding="utf-8") as f:
                f.write("a b a\n")
            shutil.copy(os.path.join(EXAMPLES, "shortest.py"), place.path("mine.py"))
            done = subprocess.run([MILLRACE, "local", "--workers", "1", "--scheduler", "external:mine.py+delay", "--", "sh", "-c",
                                   f"{MILLRACE} fs put text /text && {MILLRACE} run wordcount /text -o /out && {MILLRACE} scheduler show --json"],
                                  cwd=place.directory, env={**os.environ, "PYTHONPATH": PACKAGE}, capture_output=True, timeout=LIMIT_SECONDS, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            shown = json.loads(done.stdout[done.stdout.index(b"{"):])
            self.assertEqual((shown["name"], shown["facts"]["external.program"]), ("external+delay", "mine.py"))
            done = subprocess.run([MILLRACE, "local", "--scheduler", "external:none.py", "--", "true"], cwd=place.directory, capture_output=True, timeout=LIMIT_SECONDS,
                                  check=False)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(b"none.py", done.stderr)


if __name__ == "__main__":
    unittest.main()
