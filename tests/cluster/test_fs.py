# SPDX-License-Identifier: Apache-2.0
"""millrace fs as a user of coreutils and Hadoop expects it."""

import filecmp
import hashlib
import json
import os
import random
import signal
import subprocess
import unittest

from cluster import LIMIT_SECONDS, MILLRACE, Cluster


class FsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(workers=3, racks=2)
        cls.cluster.__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.cluster.__exit__(None, None, None)

    def run_fs(self, *args, **more):
        return self.cluster.run("fs", *args, **more)[0]

    def local(self, name, data):
        path = self.cluster.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            f.write(data)
        return path

    def entries(self, path, *flags):
        out = self.run_fs("ls", "--json", *flags, path)
        return json.loads(out)

    def test_put_get_round_trip_of_many_sizes(self):
        rng = random.Random(3)
        for size in (0, 1, 65535, 65536, 65537, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 3_500_000):
            with self.subTest(size=size):
                data = rng.randbytes(size)
                path = self.local(f"sizes/{size}", data)
                self.run_fs("put", "--block-size", "1M", path, f"/sizes/{size}")
                self.assertEqual(self.run_fs("cat", f"/sizes/{size}"), data)
                self.run_fs("get", f"/sizes/{size}", path + ".back")
                self.assertTrue(filecmp.cmp(path, path + ".back", shallow=False))

    def test_directories_go_and_come_back(self):
        for name in ("tree/a", "tree/sub/b c", "tree/sub/deep/d\ne", "tree/empty"):
            self.local(name, b"" if name.endswith("empty") else name.encode() * 100)
        self.run_fs("put", self.cluster.path("tree"), "/tree")
        self.run_fs("get", "/tree", self.cluster.path("tree-back"))
        comparison = filecmp.dircmp(self.cluster.path("tree"), self.cluster.path("tree-back"))
        self.assertEqual((comparison.left_only, comparison.right_only, comparison.diff_files), ([], [], []))
        with open(self.cluster.path("tree-back", "sub", "deep", "d\ne"), "rb") as f:
            self.assertEqual(f.read(), b"tree/sub/deep/d\ne" * 100)

    def test_put_on_a_workers_machine_writes_into_the_workers_file(self):
        writer = self.cluster.start_writer("/by-file")
        data = os.urandom(12 << 20)
        writer.stdin.write(data)  # more than the pipe and the window hold: a block is under way when this returns
        writer.stdin.flush()
        fds = f"/proc/{writer.pid}/fd"
        opened = [os.readlink(os.path.join(fds, fd)) for fd in os.listdir(fds)]
        self.assertTrue([path for path in opened if "/writing/" in path], opened)
        writer.stdin.close()
        self.assertEqual(writer.wait(), 0)
        writer.stdout.close()
        writer.stderr.close()
        self.assertEqual(self.run_fs("cat", "/by-file"), b"begin" + data)

    def test_standard_input_and_output(self):
        data = os.urandom(300_000)
        self.run_fs("put", "-", "/stdin", input=data)
        self.assertEqual(self.run_fs("cat", "/stdin"), data)
        self.assertEqual(self.run_fs("get", "/stdin", "-"), data)
        self.assertEqual(self.run_fs("tail", "-c", "1000", "/stdin"), data[-1000:])

    def test_a_reader_that_wants_no_more_is_no_failure(self):
        data = os.urandom(3 << 20)  # more than a pipe holds
        self.run_fs("put", "--block-size", "1M", "-", "/long", input=data)
        for command in (["fs", "cat", "/long"], ["fs", "get", "/long", "-"], ["fs", "cat", "/long", "/long"]):
            with self.subTest(command=command):
                cat = self.cluster.start(*command)
                self.assertEqual(cat.stdout.read(10), data[:10])
                cat.stdout.close()
                self.assertEqual(cat.stderr.read(), b"")
                cat.stderr.close()
                self.assertEqual(cat.wait(), -signal.SIGPIPE)
        # A table, which is printed at once and by other means.
        listed = self.cluster.start("fs", "ls", "/long")
        listed.stdout.close()
        self.assertEqual(listed.stderr.read(), b"")
        listed.stderr.close()
        self.assertEqual(listed.wait(), -signal.SIGPIPE)

    def test_mkdir_mv_rm_du_stat_setrep(self):
        path = self.local("one", b"x" * 1000)
        self.run_fs("mkdir", "/m/n")
        self.run_fs("put", path, "/m/n/one")
        self.run_fs("mv", "/m/n/one", "/m/two")
        self.assertEqual(self.run_fs("cat", "/m/two"), b"x" * 1000)
        self.cluster.run("fs", "stat", "/m/n/one", status=1)
        self.run_fs("setrep", "1", "/m/two")
        self.assertIn(b"1", self.run_fs("stat", "/m/two"))
        self.assertIn(b"1000", self.run_fs("du", "--json", "/m"))
        self.cluster.run("fs", "rm", "/m", status=1)
        self.run_fs("rm", "-r", "/m")
        self.cluster.run("fs", "stat", "/m", status=1)

    def test_verbs_as_coreutils_and_hadoop_have_them(self):
        one, two = random.Random(5).randbytes(3000), b"second\n"
        for name, data in (("2023/one", one), ("2024/two", two), ("2024/_SUCCESS", b"")):
            self.run_fs("put", self.local(f"verbs/{name}", data), f"/verbs/{name}")
        self.assertEqual(self.run_fs("cat", "/verbs/{2024,2023}/[!_]*"), one + two)
        self.assertEqual(self.run_fs("ls", "-1t", "/verbs/2023/one", "/verbs/2024/two").split(), [b"/verbs/2024/two", b"/verbs/2023/one"])
        self.assertEqual(self.run_fs("ls", "-1tr", "/verbs/2023/one", "/verbs/2024/two").split(), [b"/verbs/2023/one", b"/verbs/2024/two"])
        self.assertEqual(self.run_fs("ls", "-1S", "/verbs/*").split(), [b"/verbs/2023/one", b"/verbs/2024/two", b"/verbs/2024/_SUCCESS"])
        self.assertEqual(self.run_fs("ls", "-d1", "/verbs").split(), [b"/verbs/"])
        self.assertIn(b"2.9", self.run_fs("du", "-sh", "/verbs"))
        self.assertEqual(self.run_fs("count", "/verbs").split(), [b"3", b"3", b"3007", b"/verbs"])
        self.assertEqual(self.run_fs("find", "/verbs", "-type", "f", "-size", "+1k").split(), [b"/verbs/2023/one"])
        self.assertEqual(self.run_fs("find", "/verbs", "-empty", "-print0"), b"/verbs/2024/_SUCCESS\0")
        self.assertEqual(self.run_fs("find", "/verbs", "-mtime", "+0"), b"")
        self.assertEqual(self.run_fs("find", "/verbs", "-mmin", "-60", "-name", "o*").split(), [b"/verbs/2023/one"])
        self.assertEqual(self.run_fs("checksum", "/verbs/2023/one"), hashlib.sha256(one).hexdigest().encode() + b"  /verbs/2023/one\n")
        self.assertEqual(self.run_fs("stat", "-c", "%s %a %F", "/verbs/2024/two"), b"7 644 regular file\n")
        self.run_fs("getmerge", "/verbs/2023", "/verbs/2024", self.cluster.path("merged"))
        with open(self.cluster.path("merged"), "rb") as f:
            self.assertEqual(f.read(), one + two)
        self.run_fs("chmod", "-r,u+r", "/verbs/2024/two")
        self.assertEqual(self.run_fs("stat", "-c", "%A", "/verbs/2024/two"), b"-rw-------\n")
        for flag, path, status in (("-e", "/verbs", 0), ("-d", "/verbs/2024/two", 1), ("-z", "/verbs/2024/_SUCCESS", 0), ("-s", "/verbs/2023/*", 0), ("-e", "/verb", 1)):
            self.assertEqual(self.cluster.run("fs", "test", flag, path, status=status), (b"", b""))
        heads = b"==> /verbs/2024/two <==\nsecond\n\n==> /verbs/2024/_SUCCESS <==\n"
        for verb in ("head", "tail"):
            self.assertEqual(self.run_fs(verb, "-n", "1", "/verbs/2024/two", "/verbs/2024/_SUCCESS"), heads)
            self.assertEqual(self.run_fs(verb, "-n", "1", "/verbs/2024/t*"), two, "a single file")
            self.assertEqual(self.run_fs(verb, "-q", "/verbs/2024/*"), two)
            self.assertEqual(self.run_fs(verb, "-v", "-n", "1", "/verbs/2024/two"), heads.split(b"\n\n")[0] + b"\n")
            out, error = self.cluster.run("fs", verb, "/verbs/nope", "/verbs/2024", "/verbs/2024/two", status=1)
            self.assertEqual(out, heads.split(b"\n\n")[0] + b"\n")
            self.assertEqual(error.count(b"\n"), 2)
            self.cluster.run("fs", verb, "-q", "-v", "/verbs/2024/two", status=2)
        self.run_fs("mkdir", "/verbs/empty")
        for path in ("/verbs/empty", "/verbs/2024"):
            self.assertIn(b"is a directory; -r removes it", self.cluster.run("fs", "rm", path, status=1)[1])
        self.cluster.run("fs", "rm", "-d", "/verbs/2024", status=1)
        self.run_fs("rm", "-d", "/verbs/empty")
        self.cluster.run("fs", "test", "-e", "/verbs/empty", status=1)
        self.run_fs("rm", "-f", "/verbs/empty")
        self.run_fs("touch", "/verbs/new/marker")
        self.assertEqual(self.run_fs("stat", "-c", "%s", "/verbs/new/marker"), b"0\n")
        _, error = self.cluster.run("fs", "touch", "/verbs/2024/two")
        self.assertIn(b"exists already and stays as it is", error)
        self.assertEqual(self.run_fs("cat", "/verbs/2024/two"), two)
        self.cluster.run("fs", "touch", "/verbs/2024/two/below", status=1)

    def test_nothing_goes_where_no_directory_is(self):
        self.run_fs("put", self.local("stays", b"1"), "/stays")
        for verb in ("mv", "cp"):
            _, error = self.cluster.run("fs", verb, "/stays", "/typo/stays", status=1)
            self.assertIn(b'there is no directory "/typo"', error)
            self.assertEqual(error.count(b"\n"), 1, error)
        self.assertEqual(self.run_fs("cat", "/stays"), b"1")
        self.cluster.run("fs", "test", "-e", "/typo", status=1)
        local = os.path.basename(self.local("there", b""))
        _, error = self.cluster.run("fs", "cat", local, status=2, cwd=self.cluster.directory)
        self.assertIn(b"a file of this machine has that name", error)

    def test_existing_files_are_kept_unless_forced(self):
        first, second = self.local("first", b"1"), self.local("second", b"2")
        self.run_fs("put", first, "/kept")
        _, error = self.cluster.run("fs", "put", second, "/kept", status=1)
        self.assertEqual(error.count(b"\n"), 1, error)
        self.assertEqual(self.run_fs("cat", "/kept"), b"1")
        self.run_fs("put", "-f", second, "/kept")
        self.assertEqual(self.run_fs("cat", "/kept"), b"2")

    def test_a_second_writer_is_told(self):
        first = self.cluster.start_writer("/contended")
        try:
            _, error = self.cluster.run("fs", "put", self.local("other", b"o"), "/contended", status=1)
            self.assertIn(b"/contended", error)
            self.assertIn(b"written", error)
        finally:
            first.stdin.write(b"done")
            first.stdin.close()
            self.assertEqual(first.wait(60), 0)
            first.stdout.close()
            first.stderr.close()
        self.assertEqual(self.run_fs("cat", "/contended"), b"begindone")

    def test_a_writer_that_dies_leaves_nothing(self):
        writer = self.cluster.start_writer("/half")
        writer.kill()
        writer.wait()
        for pipe in (writer.stdin, writer.stdout, writer.stderr):
            pipe.close()
        self.cluster.run("fs", "stat", "/half", status=1)
        self.assertNotIn(b"half", self.run_fs("ls", "-R", "/"))

    def test_a_put_that_fails_leaves_its_path_to_the_next_one(self):
        unreadable = os.open("/", os.O_RDONLY)
        self.addCleanup(os.close, unreadable)
        for _ in range(30):
            done = subprocess.run([MILLRACE, "fs", "put", "-", "/failed"], env=self.cluster.environment(), stdin=unreadable, stderr=subprocess.PIPE, timeout=LIMIT_SECONDS)
            self.assertEqual(done.returncode, 1)
            self.assertIn(b"Is a directory", done.stderr)

    def test_fsck_is_healthy(self):
        self.run_fs("put", self.local("healthy", os.urandom(2_000_000)), "/healthy")
        self.cluster.run("fs", "fsck", status=0)

    def test_checksums_of_what_other_workers_read(self):
        data = os.urandom(5_000_000)
        self.run_fs("put", "--block-size", "1M", "--replication", "1", self.local("spread", data), "/spread")
        self.assertEqual(hashlib.sha256(self.run_fs("cat", "/spread")).digest(), hashlib.sha256(data).digest())


if __name__ == "__main__":
    unittest.main()
