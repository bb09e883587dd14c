# SPDX-License-Identifier: Apache-2.0
"""Records at which user code fails are left out, as many as --skip-bad-records allows, and named."""

import gzip
import json
import os
import unittest

from cluster import Cluster, shell, words

MIB = 1 << 20
MARKS = (b"ABORT", b"THROW", b"EXIT", b"HANG")


def count(records):
    """What the job gives, without the records at which it fails."""
    counts = {}
    for record in records:
        if any(mark in record for mark in MARKS):
            continue
        for word in record.split():
            counts[word] = counts.get(word, 0) + 1
    return sorted(word + b"\t%d" % n for word, n in counts.items())


def places(path, data, width=None):
    """Where the bad records of a file begin."""
    found, at = [], 0
    records = [data[i:i + width] for i in range(0, len(data), width)] if width else data.splitlines(keepends=True)
    for record in records:
        if any(mark in record for mark in MARKS):
            found.append((path, at))
        at += len(record)
    return found


class BadRecordsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(workers=2, map_slots=2)
        cls.cluster.__enter__()
        cls.cluster.run("scheduler", "set", "fair+ccs")

    @classmethod
    def tearDownClass(cls):
        cls.cluster.__exit__(None, None, None)

    def put(self, path, data):
        self.cluster.run("fs", "put", "--block-size", "1M", "--replication", "2", "-", path, input=data)

    def run_job(self, name, source, out, *args, status=0):
        job = os.path.join(os.environ["MILLRACE_TEST_JOBS"], name)
        return self.cluster.run("run", job, source, "-o", out, "--json", *args, status=status)

    def result(self, out):
        return sorted(line for part in self.cluster.output(out).values() for line in part.splitlines())

    def left_out(self, said):
        return sorted((one["path"], one["offset"]) for one in said["left_out_records"])

    def counter(self, job):
        return {(one["group"], one["name"]): one["value"] for one in json.loads(self.cluster.run("job", "counters", "--json", str(job))[0])}.get(("millrace", "skipped_records"))

    def test_lines(self):
        lines = words(11, 250_000).splitlines(keepends=True)
        for at, bad in ((100, b"an ABORT here\n"), (101, b"a THROW here\n"), (7000, b"EXIT\n"), (len(lines) - 1, b"ABORT in the last block\n")):
            lines.insert(at, bad)
        text = b"".join(lines)
        over = text.rfind(b"\n", 0, MIB - 5) + 1  # this line goes on in the next block
        text = text[:over] + b"across " * (MIB - over) + b"THROW\n" + text[over:]
        self.assertLess(over, MIB)
        self.assertGreater(text.index(b"\n", over), MIB)
        self.assertGreater(len(text), MIB + 100_000)
        small = b"good words\nABORT\nmore of them"  # several of the same share a map, with bad records at the same offset
        files = {"/lines/text": text, "/lines/a": small, "/lines/b": small, "/lines/c": b"good\n", "/lines/d": b"THROW"}
        for path, data in files.items():
            self.put(path, data)

        self.run_job("bad_lines", "/lines", "/without", status=1)
        self.cluster.run("fs", "stat", "/without", status=1)

        said = json.loads(self.run_job("bad_lines", "/lines", "/with", "--skip-bad-records", "5", "-r", "3", "-D", "job.max_attempts=1")[0])
        expected = sorted(place for path, data in files.items() for place in places(path, data))
        self.assertEqual(len(expected), 8)
        self.assertEqual(self.left_out(said), expected)
        self.assertEqual(said["records_left_out"], 8)
        self.assertEqual(said["failed_attempts"], 16)
        self.assertEqual(self.counter(said["job"]), 8)
        self.assertEqual(self.result("/with"), count(b"".join(data + b"\n" for data in files.values()).splitlines()))
        status = self.cluster.run("job", "status", str(said["job"]))[0].decode()
        self.assertIn("left out 8 records, at which maps failed", status)
        for path, offset in expected:
            self.assertIn(f"{path}, byte {offset}\n", status)

    def test_more_than_may_be_left_out(self):
        good = b"good words\n" * 10
        self.put("/many", good + b"ABORT\n" + good + b"THROW\n" + good + b"EXIT here\n" + good)
        out, error = self.run_job("bad_lines", "/many", "/too-many", "--skip-bad-records", "2", "-D", "job.max_attempts=2", status=1)
        said = json.loads(out)
        self.assertIn("2 of its records are left out, and no more than 2 may be", said["reason"])
        self.assertIn(f"at the record at byte {3 * len(good) + 12} of /many: ended itself (exit status 0)", said["reason"])
        self.assertEqual(said["failed_attempts"], 6)
        self.assertEqual(self.left_out(said), [("/many", len(good)), ("/many", 2 * len(good) + 6)])

    def test_records_of_fixed_length(self):
        records = [b"record %08d" % i for i in range(150_000)]
        for at in (0, 69904, 69905, 149_999):  # record 69905 lies in two blocks
            records[at] = records[at][:9] + b"ABORT!"
        data = b"".join(records)
        self.put("/fixed", data)
        said = json.loads(self.run_job("bad_fixed", "/fixed", "/fixed-out", "-D", "job.skip_bad_records=3", "-D", "input.record_bytes=15")[0])
        self.assertEqual(self.left_out(said), places("/fixed", data, 15))
        self.assertEqual(self.counter(said["job"]), 4)
        self.assertEqual(self.result("/fixed-out"), count(records))

    def test_lines_of_a_compressed_file(self):
        lines = [b"good words\n"] * 20_000
        for at in (100, 15_000):
            lines[at] = b"THROW\n"
        text = b"".join(lines)
        packed = gzip.compress(text)
        self.assertLess(len(packed), text.rindex(b"THROW"), "a record lies beyond the length of the file")
        self.put("/lines.gz", packed)
        said = json.loads(self.run_job("bad_lines", "/lines.gz", "/lines-out", "--skip-bad-records", "2")[0])
        self.assertEqual(self.left_out(said), places("/lines.gz", text), "offsets are those in what it decompresses to")
        self.assertEqual(self.result("/lines-out"), count(lines))

    def test_local_run(self):
        with open(self.cluster.path("some"), "wb") as f:
            f.write(b"good words\nTHROW\nmore\n")
        job, out = os.path.join(os.environ["MILLRACE_TEST_JOBS"], "bad_lines"), self.cluster.path("some-out")
        self.cluster.run("local", "--workers", "1", "run", job, self.cluster.path("some"), "-o", out, "--skip-bad-records", "1", "--max-failed-maps", "0")
        self.assertEqual(shell("cat part-r-*", cwd=out), b"good\t1\nmore\t1\nwords\t1\n")

    def test_a_record_that_hangs(self):
        self.put("/hangs", b"good\nHANG\nmore\n")
        said = json.loads(self.run_job("bad_lines", "/hangs", "/hung", "--skip-bad-records", "1", "-D", "task.timeout=2s")[0])
        self.assertEqual(self.left_out(said), [("/hangs", 5)])
        self.assertEqual(self.result("/hung"), [b"good\t1", b"more\t1"])


if __name__ == "__main__":
    unittest.main()
