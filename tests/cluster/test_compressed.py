# SPDX-License-Identifier: Apache-2.0
"""Compressed input files are opened, each by one map, compared with what coreutils make of the files before they were compressed."""

import bz2
import gzip
import json
import os
import unittest

from cluster import Cluster, shell, words
from zstd_library import zstd

BLOCK = 1 << 20
WORDCOUNT = "cat * | tr -s ' \\t\\n\\v\\f\\r' '\\n' | sed '/^$/d' | sort | uniq -c | sed -E 's/^ *([0-9]+) (.*)/\\2\\t\\1/' | sort"


def blocks(data):
    return -(-len(data) // BLOCK)


class CompressedTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(workers=2, map_slots=2)
        cls.cluster.__enter__()
        cls.plain = cls.cluster.path("plain")
        os.mkdir(cls.plain)
        texts = {name: words(n, 2_500_000) for n, name in enumerate(("gz", "zst", "bz2", "text", "nameless"))}
        for name, text in texts.items():
            with open(os.path.join(cls.plain, name), "wb") as f:
                f.write(text)
        middle = 1_000_001  # a line that goes on from one member to the next
        cls.files = {
            "/in/a.gz": gzip.compress(texts["gz"][:middle]) + gzip.compress(b"") + gzip.compress(texts["gz"][middle:]),
            "/in/b.zst": zstd(texts["zst"][:middle]) + zstd(texts["zst"][middle:]),
            "/in/c.bz2": bz2.compress(texts["bz2"][:middle]) + bz2.compress(texts["bz2"][middle:]),
            "/in/text": texts["text"],
            "/in/nameless": gzip.compress(texts["nameless"]),
            "/in/empty.gz": gzip.compress(b""),
            "/in/nothing.gz": b"",
        }
        for path in ("/in/a.gz", "/in/b.zst", "/in/c.bz2", "/in/text", "/in/nameless"):
            assert blocks(cls.files[path]) > 1, path
        for path, data in cls.files.items():
            cls.put(path, data)

    @classmethod
    def tearDownClass(cls):
        cls.cluster.__exit__(None, None, None)

    @classmethod
    def put(cls, path, data):
        cls.cluster.run("fs", "put", "--block-size", str(BLOCK), "--replication", "1", "-", path, input=data)

    def run_job(self, job, source, out, *args, status=0):
        return json.loads(self.cluster.run("run", job, source, "-o", out, "--json", "-D", "job.pack=0", *args, status=status)[0])

    def result(self, out):
        return sorted(line for part in self.cluster.output(out).values() for line in part.splitlines())

    def test_wordcount_over_files_of_every_kind(self):
        expected = sorted(shell(WORDCOUNT, cwd=self.plain).splitlines())
        said = self.run_job("wordcount", "/in", "/out", "--reducers", "3")
        self.assertEqual(self.result("/out"), expected)
        self.assertEqual(said["maps"]["total"], blocks(self.files["/in/text"]) + 5, "one for each of the others that is not of no bytes")
        self.assertEqual(said["input_bytes"], sum(map(len, self.files.values())))
        self.assertEqual(said["failed_attempts"], 0)
        self.cluster.run("run", "wordcount", "/in", "-o", "/packed")  # those of little share a map
        self.assertEqual(self.result("/packed"), expected)

    def test_chunks_of_lines(self):
        expected = sorted(shell("cat * | grep '^a.*z$'", cwd=self.plain).splitlines())
        self.assertGreater(len(expected), 0)
        self.run_job("grep", "/in", "/lines", "-D", "grep.pattern=^a.*z$", "-D", "grep.lines=true")
        self.assertEqual(self.result("/lines"), expected)

    def test_bytes_as_they_are(self):
        data = self.files["/in/a.gz"]
        counts = {}
        for word in data.split():
            counts[word] = counts.get(word, 0) + 1
        said = self.run_job("wordcount", "/in/a.gz", "/raw", "-D", "input.decompress=false")
        expected = b"".join(word + b"\t%d\n" % counts[word] for word in sorted(counts))
        self.assertTrue(b"".join(self.cluster.output("/raw").values()) == expected)
        self.assertEqual(said["maps"]["total"], blocks(data), "it is cut as any other file")

    def test_a_file_that_is_cut_off(self):
        size = len(self.files["/in/a.gz"]) - 1000
        self.put("/cut.gz", self.files["/in/a.gz"][:size])
        said = self.run_job("wordcount", "/cut.gz", "/cut-out", status=1)
        self.assertIn(f'"/cut.gz" cannot be decompressed (gzip) at byte {size} of its {size}: the file ends inside of it; was it cut off?', said["reason"])
        self.cluster.run("fs", "stat", "/cut-out", status=1)

    def test_a_file_that_is_damaged(self):
        data = bytearray(self.files["/in/b.zst"])
        data[len(data) // 2] ^= 0x10
        self.put("/bad.zst", bytes(data))
        said = self.run_job("wordcount", "/bad.zst", "/bad-out", status=1)
        self.assertRegex(said["reason"], f'"/bad.zst" cannot be decompressed \\(zstd\\) at byte [0-9]+ of its {len(data)}: ')

    def test_a_name_alone_makes_no_compressed_file(self):
        self.put("/text.gz", b"one two\n" * 200_000)
        said = self.run_job("wordcount", "/text.gz", "/text-out", status=1)
        self.assertIn('"/text.gz" has the name of a gzip file, and does not begin like one', said["reason"])
        self.assertEqual(said["maps"]["total"], 1)

    def test_local_files(self):
        with open(self.cluster.path("local.gz"), "wb") as f:
            f.write(gzip.compress(b"b a\nc b\n" * 500))
        out = self.cluster.path("local-out")
        self.cluster.run("local", "--workers", "1", "run", "wordcount", self.cluster.path("local.gz"), "-o", out)
        self.assertEqual(shell("cat part-r-*", cwd=out), b"a\t500\nb\t1000\nc\t500\n")


if __name__ == "__main__":
    unittest.main()
