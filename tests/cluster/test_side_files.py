# SPDX-License-Identifier: Apache-2.0
"""Files that jobs read besides their input, mapped: where they lie, and how often they are copied."""

import os
import subprocess
import unittest

from cluster import LIMIT_SECONDS, MILLRACE, Cluster, shell

JOB = os.path.join(os.environ["MILLRACE_TEST_JOBS"], "mapped")
NUMBERS = 200_000


class SideFilesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(workers=2, map_slots=2)
        cls.cluster.__enter__()
        cls.table = b"".join(b"%07d\n" % (n * 7919 % 10_000_000) for n in range(NUMBERS))
        cls.numbers = b"".join(b"%d\n" % (n * 31 % NUMBERS) for n in range(3000))
        cls.expected = sorted(b"%s\t%s" % (n, cls.table[int(n) * 8:int(n) * 8 + 7]) for n in cls.numbers.split())
        for n in range(8):
            cls.put(f"/numbers/{n}", b"".join(cls.numbers.splitlines(keepends=True)[n::8]))

    @classmethod
    def tearDownClass(cls):
        cls.cluster.__exit__(None, None, None)

    @classmethod
    def put(cls, path, data, *args):
        cls.cluster.run("fs", "put", "--replication", "1", *args, "-", path, input=data)

    def counter(self, job, name):
        lines = self.cluster.run("job", "counters", str(job))[0].decode().splitlines()
        return sum(int(line.split()[-1]) for line in lines if f" {name} " in f" {line} ")

    def look_up(self, table, out, *args, status=0):
        said, error = self.cluster.run("run", JOB, "/numbers", "-o", out, "-D", f"mapped.file={table}", "-D", "job.pack=0", *args, status=status)
        if status:
            return error.decode()
        self.assertEqual(sorted(line for part in self.cluster.output(out).values() for line in part.splitlines()), self.expected)
        return max(int(line.split()[0]) for line in self.cluster.run("job", "list")[0].decode().splitlines() if line[:1].isdigit())

    def await_no_copies(self):
        """The workers hear of a job's end after its user, so this asks the master for other things meanwhile."""
        for _ in range(500):
            left = shell(f"find {self.cluster.directory}/worker*/jobs -name bytes 2>/dev/null || true")
            if not left:
                return
            self.cluster.run("node", "list")
        self.fail(f"copies stay: {left}")

    def test_a_file_of_several_blocks_is_copied_once_to_each_machine(self):
        self.put("/table", self.table, "--block-size", "1M")
        job = self.look_up("/table", "/several")
        maps = self.counter(job, "map_input_records")
        self.assertEqual(maps, 3000)
        copied = self.counter(job, "mapped_bytes_copied")
        self.assertIn(copied, (len(self.table), 2 * len(self.table)), "for eight maps")
        self.await_no_copies()

    def test_a_file_of_one_block_is_mapped_where_it_lies(self):
        self.cluster.run("fs", "put", "--replication", "2", "-", "/block", input=self.table)
        job = self.look_up("/block", "/one")
        self.assertEqual(self.counter(job, "mapped_bytes_copied"), 0)

    def test_a_directory_is_mapped_as_one(self):
        half = len(self.table) // 2
        self.put("/directory/a", self.table[:half])
        self.put("/directory/b", self.table[half:])
        self.put("/directory/_SUCCESS", b"hidden")
        self.look_up("/directory", "/whole")

    def test_what_goes_wrong(self):
        self.put("/large", self.table, "--block-size", "1M")
        said = self.look_up("/large", "/x", "-D", "task.mapped_files=1MiB", "-D", "job.max_attempts=1", status=1)
        self.assertIn('map "/large": its 1.5 MiB and the 0 B of the job\'s other mapped files are more than task.mapped_files = 1 MiB', said)
        self.assertIn("/nowhere", self.look_up("/nowhere", "/x", "-D", "job.max_attempts=1", status=1))

    def test_local_runs(self):
        for name, data in (("numbers", self.numbers), ("table", self.table)):
            with open(self.cluster.path(name), "wb") as f:
                f.write(data)
        for out, more in (("alone", ["--in-process"]), ("local", [])):
            done = subprocess.run([MILLRACE, "local", "--workers", "1", "run", JOB, self.cluster.path("numbers"), "-o", self.cluster.path(out),
                                   "--file", self.cluster.path("table") + "=/t", "-D", "mapped.file=/t", *more], capture_output=True, timeout=LIMIT_SECONDS)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(sorted(shell("cat part-*", cwd=self.cluster.path(out)).splitlines()), self.expected)


if __name__ == "__main__":
    unittest.main()
