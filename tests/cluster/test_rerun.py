# SPDX-License-Identifier: Apache-2.0
"""millrace job rerun: a failed map runs again, alone, and fails in the same way; in a debugger and in valgrind, too."""

import collections
import hashlib
import os
import re
import shutil
import stat
import unittest

from cluster import Cluster

JOBS = os.environ["MILLRACE_TEST_JOBS"]


def crc_table():
    table = []
    for crc in range(256):
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
        table.append(crc)
    return table


def with_crc32c_of(bytes_, wanted):
    """Four bytes longer, so that the crc32c is that of `wanted`."""
    table = crc_table()
    backwards = {crc >> 24: at for at, crc in enumerate(table)}

    def state(data):
        crc = 0xffffffff
        for byte in data:
            crc = crc >> 8 ^ table[(crc ^ byte) & 0xff]
        return crc

    end = state(wanted)
    for _ in range(4):
        at = backwards[end >> 24]
        end = (end ^ table[at]) << 8 | at
    forged = bytes_ + (end ^ state(bytes_)).to_bytes(4, "little")
    assert state(forged) == state(wanted)
    return forged


class RerunTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(workers=1)
        cls.cluster.__enter__()
        cls.addClassCleanup(cls.cluster.__exit__, None, None, None)
        cls.cluster.run("fs", "put", "-", "/in/part-0", input=b"good words\nbad\nmore\n")
        cls.jobs = 0

    def failed(self, name, *options, source="/in", reason=b""):
        """Runs a job that fails; gives its number and what was said."""
        words = [word for option in options for word in ("-D", option)]
        _, said = self.cluster.run("run", os.path.join(JOBS, name), source, "-o", "/out", "-D", "job.max_attempts=1", *words, status=1)
        type(self).jobs += 1
        self.assertIn(reason, said)
        return self.jobs, said

    def rerun(self, attempt, *words, status):
        out, said = self.cluster.run("job", "rerun", attempt, "--local", *words, status=status)
        return (out + said).decode(errors="replace")

    def test_it_fails_as_it_did(self):
        place = "at /in/part-0, byte 11"
        job, said = self.failed("crash", "crash.record=bad", "crash.how=throw")
        failure = "the job's Map threw an exception: thrown on purpose; " + place
        self.assertIn(failure, said.decode())
        before = self.cluster.run("fs", "ls", "-R", "/")[0]
        again = self.rerun(f"job{job}.m.0.0", status=1)
        self.assertIn(f"crash: job{job}.m.0.0: {failure}\n", again)
        self.assertIn("about to end by throw\n", again, "its standard error is that of the command")
        job, _ = self.failed("crash", "crash.record=bad", "crash.how=null")
        again = self.rerun(f"job{job}.m.0.0", status=128 + 11)
        self.assertRegex(again, rf"millrace: SIGSEGV, null pointer \(address 0x0\), in Map: Crash::End\(\).*; {place}\n")
        job, _ = self.failed("crash", "crash.record=bad", "crash.how=exit")
        self.rerun(f"job{job}.m.0.0", status=3)
        self.assertEqual(before, self.cluster.run("fs", "ls", "-R", "/")[0], "nothing has changed")

    def test_it_is_there_after_a_restart_of_the_master(self):
        with Cluster(workers=1) as cluster:
            cluster.run("fs", "put", "-", "/in", input=b"bad\n")
            cluster.run("run", os.path.join(JOBS, "crash"), "/in", "-o", "/out", "-D", "job.max_attempts=1", status=1)
            cluster.stop_master()
            cluster.start_master()
            _, said = cluster.run("--wait", "60s", "job", "rerun", "job1.m.0.0", "--local", status=1)
            self.assertIn(b"thrown on purpose; at /in, byte 0", said)

    def test_in_a_debugger_and_in_valgrind(self):
        for tool in ("gdb", "valgrind"):
            self.assertIsNotNone(shutil.which(tool), tool + " is in deploy/packages.txt")
        job, _ = self.failed("crash", "crash.record=bad", "crash.how=null")
        said = self.rerun(f"job{job}.m.0.0", "--", "gdb", "-q", "-batch", "-ex", "run", "-ex", "bt", "--args", status=0)
        self.assertIn("Program received signal SIGSEGV", said)
        self.assertRegex(said, r"#0 .*\bEnd \(.*crash_job\.cc:[0-9]+")
        said = self.rerun(f"job{job}.m.0.0", "--", "valgrind", "--error-exitcode=9", status=128 + 11)
        self.assertIn("Invalid write of size 4", said)
        self.assertIn("Crash::End", said)
        job, _ = self.failed("crash", "crash.record=bad", "crash.how=throw")
        said = self.rerun(f"job{job}.m.0.0", "--", "valgrind", "--error-exitcode=9", status=1)
        self.assertIn("ERROR SUMMARY: 0 errors", said)
        self.assertIn("thrown on purpose; at /in/part-0, byte 11", said)

    def test_options_side_files_and_output_are_the_attempts(self):
        text = b"the cat and the dog\nand the rat\n"
        self.cluster.run("fs", "put", "-", "/animals", input=text)
        options = ["stop.list=/stop"]
        words = [word for option in options for word in ("-D", option)]
        _, said = self.cluster.run("run", os.path.join(JOBS, "stop_words"), "/animals", "-o", "/out", "--reducers", "0", "-D", "job.max_attempts=1", *words,
                                   status=1)
        type(self).jobs += 1
        self.assertIn(b"/stop", said, "it is not there yet")
        job = self.jobs
        self.cluster.run("fs", "put", "-", "/stop", input=b"the and\n")
        kept = self.cluster.path("kept")
        counters = self.rerun(f"job{job}.m.0.0", "-o", kept, status=0)
        self.assertIn("words left_out 5\n", counters)
        with open(os.path.join(kept, "part-m-00000"), "rb") as f:
            found = collections.Counter(line.split(b"\t")[0] for line in f.read().splitlines())
        self.assertEqual(found, collections.Counter(word for word in text.split() if word not in (b"the", b"and")))
        self.assertIn("exist", self.rerun(f"job{job}.m.0.0", "-o", kept, status=1), "what is there is not overwritten")
        self.rerun(f"job{job}.m.0.0", status=0)

    def test_a_step_of_a_pipeline(self):
        self.cluster.run("fs", "put", "-", "/words", input=b"a b a\nc a b\n")
        words = [word for option in ("frequent.wrong=throw", "job.max_attempts=1") for word in ("-D", option)]
        _, said = self.cluster.run("run", os.path.join(JOBS, "frequent"), "/words", "-o", "/ranked", *words, status=1)
        job = int(re.search(r"step rank: job(\d+): failed", said.decode())[1])
        type(self).jobs = job
        failure = re.search(r"the job's Map threw an exception: cannot rank \w+", said.decode())[0]
        self.assertIn(f"job{job}.m.0.0: {failure}", self.rerun(f"job{job}.m.0.0", status=1), "it is the second job of its program")

    def test_another_program(self):
        job, _ = self.failed("crash", "crash.how=throw")
        program = self.cluster.path("another")
        with open(program, "w", encoding="utf-8") as f:
            f.write('#!/bin/sh\necho "another: $1"\nexit 7\n')
        os.chmod(program, stat.S_IRWXU)
        self.assertIn("another: --millrace-rerun\n", self.rerun(f"job{job}.m.0.0", "--program", program, status=7))
        self.assertIn("nowhere", self.rerun(f"job{job}.m.0.0", "--program", "/nowhere", status=127))
        self.assertIn("no-such-wrapper", self.rerun(f"job{job}.m.0.0", "--", "no-such-wrapper", status=127))

    def test_what_another_stored_under_the_name_of_its_program_is_not_run(self):
        """Length and crc32c are as they were, and the program is gone from the cluster: anybody may store one of its name."""
        program = self.cluster.path("program")
        with open(program, "w", encoding="utf-8") as f:
            f.write(f'#!/bin/sh\nexec {os.path.join(JOBS, "crash")} "$@"\n#' + 200 * "." + "\n")
        os.chmod(program, stat.S_IRWXU)
        job, _ = self.failed(program, "crash.how=throw")
        self.assertIn("thrown on purpose", self.rerun(f"job{job}.m.0.0", status=1))
        with open(program, "rb") as f:
            own = f.read()
        stored = "/.millrace/executables/" + hashlib.sha256(own).hexdigest()
        self.cluster.run("fs", "rm", stored)
        ran = self.cluster.path("ran")
        begin = f"#!/bin/sh\n>{ran}\nexit 0\n#".encode()
        forged = with_crc32c_of(begin + (len(own) - len(begin) - 4) * b".", own)
        self.assertEqual(len(forged), len(own))
        self.cluster.run("fs", "put", "-", stored, input=forged)
        self.assertIn("is not what its name says", self.rerun(f"job{job}.m.0.0", status=1))
        self.assertFalse(os.path.exists(ran))

    def test_what_cannot_be_run_again_is_told(self):
        job, _ = self.failed("crash", "crash.how=throw", "crash.where=Reduce", reason=b'the job\'s Reduce threw an exception: thrown on purpose; at the key "bad"')
        self.assertIn("is a reduce", self.rerun(f"job{job}.r.0.0", status=2))
        self.assertIn("no longer kept", self.rerun(f"job{job}.m.0.0", status=1), "this map did not fail")
        self.assertIn("no such attempt", self.rerun(f"job{job}.m.7.0", status=1))
        self.assertIn("no such job", self.rerun("job999.m.0.0", status=1))
        self.assertIn("is not an attempt", self.rerun("nonsense", status=2))
        _, said = self.cluster.run("job", "rerun", f"job{job}.m.0.0", status=2)
        self.assertIn(b"--local", said)


class CrashTest(unittest.TestCase):
    """What is said of tasks that crash, hang, or eat their memory."""

    def test_words(self):
        with Cluster(workers=1, settings=["worker.memory=1GiB"]) as cluster:
            cluster.run("fs", "put", "-", "/in", input=b"good words\nbad\nmore\n")
            for how, where, expected in (
                ("null", "Map", r"killed by signal 11 \(SIGSEGV\).*millrace: SIGSEGV, null pointer \(address 0x0\), in Map: Crash::End\(\)( crash_job\.cc:[0-9]+)?( < [^;]*)?; at /in, byte 11"),
                ("call", "Map", r"millrace: SIGSEGV, null pointer \(address 0x0\), in Map: Crash::End\(\)( crash_job\.cc:[0-9]+)?( < [^;]*)?; at /in, byte 11"),
                ("wild", "Map", r"millrace: SIGSEGV(, wild pointer| \(address 0x[14]+\)), in Map: Crash::End\(\)"),
                ("overflow", "Map", r"millrace: SIGSEGV, stack overflow \(address 0x[0-9a-f]+\), in Map: Crash::Deeper\(int\)( crash_job\.cc:[0-9]+)? \([0-9]+ times\); at /in, byte 11"),
                ("abort", "Map", r"millrace: SIGABRT, in Map: Crash::End\(\)( crash_job\.cc:[0-9]+)?( < [^;]*)?; at /in, byte 11"),
                ("abort", "Reduce", r'millrace: SIGABRT, in Reduce: Crash::End\(\)( crash_job\.cc:[0-9]+)?( < [^;]*)?; at the key "bad"'),
                ("abort", "FinishReduce", r"millrace: SIGABRT, in FinishReduce: Crash::End\(\)( crash_job\.cc:[0-9]+)?( < [^;]*)?; after its last key"),
                ("throw", "Start", r"the job's Start threw an exception: thrown on purpose; before its first record"),
                ("throw", "FinishMap", r"the job's FinishMap threw an exception: thrown on purpose; after its last record"),
                ("throw", "Reduce", r'the job\'s Reduce threw an exception: thrown on purpose; at the key "bad"'),
                ("memory", "Map", r"the job's Map ran out of its memory: limit 1 GiB \(task.memory_limit\); at /in, byte 11"),
            ):
                with self.subTest(how=how, where=where):
                    _, said = cluster.run("run", os.path.join(JOBS, "crash"), "/in", "-o", "/out", "-D", "crash.record=bad", "-D", "crash.how=" + how, "-D",
                                          "crash.where=" + where, "-D", "job.max_attempts=1", status=1)
                    self.assertRegex(said.decode(), expected)


if __name__ == "__main__":
    unittest.main()
