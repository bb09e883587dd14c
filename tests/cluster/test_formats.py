# SPDX-License-Identifier: Apache-2.0
"""Files that are no text, byte order marks, padding, letters and patterns: what a job says of its input is so."""

import bz2
import glob
import gzip
import io
import json
import lzma
import os
import subprocess
import tarfile
import tempfile
import unittest
import zipfile

from cluster import LIMIT_SECONDS, MILLRACE, Cluster
from zstd_library import zstd

TEXT = "the cat\nthe dog\n"
MARK = b"\xef\xbb\xbf"


def archive(kind):
    out = io.BytesIO()
    if kind == "zip":
        with zipfile.ZipFile(out, "w") as made:
            made.writestr("a.txt", TEXT)
    else:
        with tarfile.open(fileobj=out, mode="w") as made:
            info = tarfile.TarInfo("a.txt")
            info.size = len(TEXT)
            made.addfile(info, io.BytesIO(TEXT.encode()))
    return out.getvalue()


# By name: the bytes, and what is said of them.
REFUSED = {
    "xz": (lzma.compress(TEXT.encode()), b"an xz file"),
    "lz4": (b"\x04\x22\x4d\x18\x64\x40\xa7\x10\0\0\x80" + TEXT.encode() + b"\0\0\0\0", b"an lz4 file"),
    "zip": (archive("zip"), b"a zip archive"),
    "tar": (archive("tar"), b"a tar archive"),
    "tar.gz": (gzip.compress(archive("tar")), b"decompresses to a tar archive"),
    "Z": (b"\x1f\x9d\x90t\xd0\x94\x01", b"a file of compress(1)"),
    "seq": (b"SEQ\x06\x19org.apache.hadoop.io.Text\x19org.apache.hadoop.io.Text\0\0", b"a SequenceFile of Hadoop"),
    "parquet": (b"PAR1\x15\x04" + TEXT.encode() + b"\x08\0\0\0PAR1", b"a Parquet file"),
    "orc": (b"ORC" + TEXT.encode() + b"\x08\x03\x10\x01\x82\xf4\x03\x03ORC\x17", b"an ORC file"),
    "avro": (b"Obj\x01\x04\x16avro.schema" + TEXT.encode(), b"an Avro file"),
    "utf16": (TEXT.encode("utf-16"), b"text in UTF-16"),
    "utf16be": (b"\xfe\xff" + TEXT.encode("utf-16-be"), b"text in UTF-16"),
    "utf16.empty": (b"\xff\xfe", b"text in UTF-16"),
    "utf16.gz": (gzip.compress(TEXT.encode("utf-16")), b"decompresses to text in UTF-16"),
    "utf32": (TEXT.encode("utf-32"), b"text in UTF-32"),
}


class FormatsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(workers=2)
        cls.cluster.__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.cluster.__exit__(None, None, None)

    def put(self, path, data):
        self.cluster.run("fs", "put", "-", path, input=data)

    def run_job(self, job, source, out, *args, status=0):
        return json.loads(self.cluster.run("run", job, source, "-o", out, "--json", *args, status=status)[0])

    def counts(self, out):
        return dict(line.rsplit(b"\t", 1) for part in self.cluster.output(out).values() for line in part.splitlines())

    def test_files_that_are_no_text_are_refused_by_name(self):
        for name, (data, said) in REFUSED.items():
            with self.subTest(name=name):
                self.put(f"/refused/{name}", data)
                if not name.endswith(".gz"):
                    before = self.cluster.run("job", "list", "--json")[0]
                    for job, *options in (["wordcount"], ["grep", "-D", "grep.pattern=t"], ["sequencecount"]):
                        _, error = self.cluster.run("run", job, f"/refused/{name}", "-o", "/none", *options, status=1)
                        self.assertEqual(error.count(b"\n"), 1, error)
                        self.assertIn(f'"/refused/{name}" is '.encode() + said, error)
                    self.assertEqual(self.cluster.run("job", "list", "--json")[0], before, "no job was submitted")
                    self.run_job("wordcount", f"/refused/{name}", f"/asitis/{name}", "-D", "input.decompress=false")
                    continue
                # What it decompresses to is seen by its map alone.
                told = self.run_job("wordcount", f"/refused/{name}", "/none", status=1)
                self.assertIn(said.decode(), told["reason"])
                self.assertIn("is not tried again", told["reason"])
                self.assertEqual(told["failed_attempts"], 1)

    def test_one_among_many(self):
        for n in range(100):
            self.put(f"/many/f{n:03}", TEXT.encode())
        self.put("/many/f001x", REFUSED["parquet"][0])
        told = self.run_job("wordcount", "/many", "/none", "-D", "job.pack=0", status=1)
        self.assertIn('"/many/f001x" is a Parquet file', told["reason"])
        self.assertEqual(told["failed_attempts"], 1)
        told = self.run_job("wordcount", "/many", "/left-out", "-D", "job.pack=0", "--max-failed-maps", "1")
        self.assertEqual(told["failed_attempts"], 1)
        self.assertEqual(self.counts("/left-out"), {b"the": b"200", b"cat": b"100", b"dog": b"100"})

    def test_a_byte_order_mark_is_part_of_no_word(self):
        expected = {b"the": b"2", b"cat": b"1", b"dog": b"1"}
        files = {"plain": MARK + TEXT.encode(), "a.gz": gzip.compress(MARK + TEXT.encode()), "b.zst": zstd(MARK + TEXT.encode()),
                 "c.bz2": bz2.compress(MARK + TEXT.encode())}
        for name, data in files.items():
            with self.subTest(name=name):
                self.put(f"/mark/{name}", data)
                self.run_job("wordcount", f"/mark/{name}", f"/words/{name}")
                self.assertEqual(self.counts(f"/words/{name}"), expected)
                self.run_job("grep", f"/mark/{name}", f"/found/{name}", "-D", "grep.pattern=^the")
                self.assertEqual(self.counts(f"/found/{name}"), {b"the": b"2"})
        self.assertEqual(self.cluster.run("fs", "cat", "/mark/plain")[0], files["plain"], "its bytes are kept")
        self.assertEqual(self.cluster.run("fs", "head", "-c", "4", "/mark/plain")[0], MARK + b"t")
        self.put("/empty/mark", MARK)
        self.run_job("wordcount", "/empty", "/words/empty")
        self.assertEqual(self.counts("/words/empty"), {})
        # A pattern over files with a mark, of which one has several blocks.
        block = 1 << 20
        long = MARK + b"word of a line\n" * 200_000
        self.cluster.run("fs", "put", "--block-size", str(block), "-", "/blocks/m1", input=long)
        self.put("/blocks/m2", MARK + b"word")
        self.run_job("wordcount", "/blocks/m[12]", "/words/blocks")
        self.assertEqual(self.counts("/words/blocks"), {b"word": b"200001", b"of": b"200000", b"a": b"200000", b"line": b"200000"})

    def test_nuls_after_compressed_data_are_padding(self):
        packed = {"a.gz": gzip.compress(TEXT.encode()), "b.zst": zstd(TEXT.encode()), "c.bz2": bz2.compress(TEXT.encode())}
        for name, data in packed.items():
            with self.subTest(name=name):
                self.put(f"/padded/{name}", data + bytes(-len(data) % 512))
                self.put(f"/padded/far/{name}", data + bytes(200_000))
                self.put(f"/junk/{name}", data + bytes(100) + b"junk and more")
                _, error = self.cluster.run("run", "wordcount", f"/junk/{name}", "-o", "/none", "-D", "job.max_attempts=1", status=1)
                self.assertRegex(error, rb"/junk/%s.* cannot be decompressed .* at byte %d\d* of its %d" % (name.encode(), (len(data) + 100) // 10, len(data) + 113))
        self.run_job("wordcount", "/padded", "/words/padded")
        self.assertEqual(self.counts("/words/padded"), {b"the": b"12", b"cat": b"6", b"dog": b"6"})

    def test_grep_finds_letters(self):
        text = "un café\nä é\né 㩀\nEN ÉTÉ\n".encode() + b"caf\xe9 caf\n"
        self.put("/letters", text)
        for number, (pattern, options, expected) in enumerate((
            ("caf.", [], {"café": 1}),
            ("[éè]", [], {"é": 3}),
            ("(?i)É", [], {"é": 3, "É": 2}),
            ("(?i)été", [], {"ÉTÉ": 1}),
            ("^. .$", [], {"ä é": 1, "é 㩀": 1}),
            ("caf.", ["-D", "grep.bytes=true"], {b"caf\xc3": 1, b"caf\xe9": 1}),
        )):
            with self.subTest(pattern=pattern, options=options):
                self.run_job("grep", "/letters", f"/grep{number}", "-D", "grep.pattern=" + pattern, *options)
                expected = {key if isinstance(key, bytes) else key.encode(): str(value).encode() for key, value in expected.items()}
                self.assertEqual(self.counts(f"/grep{number}"), expected)
        self.run_job("grep", "/letters", "/lines", "-D", "grep.pattern=caf", "-D", "grep.lines=true")
        self.assertEqual(sorted(self.cluster.output("/lines")["part-r-00000"].splitlines()), [b"caf\xe9 caf", "un café".encode()])

    def test_a_pattern_is_all_that_it_matches(self):
        for name in ("part-*", "part-1", "part-2", "_part-3"):
            self.put(f"/star/{name}", name.replace("*", "star").encode() + b"\n")
        every, star = [b"part-1", b"part-2", b"part-star"], [b"part-star"]
        for number, (pattern, expected) in enumerate((("/star/part-*", every), (r"/star/part-\*", star), ("/star/{part-2,part-[1]}", every[:2]),
                                                       ("/{star,none}/part-?", every))):
            with self.subTest(pattern=pattern):
                self.assertEqual(sorted(self.cluster.run("fs", "cat", pattern)[0].split()), expected)
                out = f"/out{number}"
                self.run_job("wordcount", pattern, out)
                self.assertEqual(sorted(self.counts(out)), expected)
        self.assertEqual(self.cluster.run("fs", "ls", "-1", "/star/*")[0].count(b"\n"), 4)
        self.run_job("wordcount", "/star/*", "/out-marks")
        self.assertEqual(sorted(self.counts("/out-marks")), every)


class LocalFormatsTest(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory(prefix="millrace-test-")

    def tearDown(self):
        self.place.cleanup()

    def path(self, *names):
        return os.path.join(self.place.name, *names)

    def write(self, name, data):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "wb") as f:
            f.write(data)

    def run_local(self, *args, status=0):
        done = subprocess.run([MILLRACE, "local", "--workers", "1", "run", *args], env={**os.environ, "XDG_STATE_HOME": self.place.name},
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT_SECONDS)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def counts(self, out):
        counts = {}
        for part in glob.glob(self.path(glob.escape(out), "part-*")):
            with open(part, "rb") as f:
                counts.update(line.rstrip(b"\n").rsplit(b"\t", 1) for line in f)
        return counts

    def test_what_is_no_text_is_told_before_a_cluster_starts(self):
        self.write("in/good", TEXT.encode())
        self.write("in/sub/bad", REFUSED["zip"][0])
        for flag in ((), ("--in-process",)):
            error = self.run_local("wordcount", self.path("in"), "-o", self.path("out"), *flag, status=1).stderr
            self.assertEqual(error.count(b"\n"), 1, error)
            self.assertIn(f'"{self.path("in/sub/bad")}" is a zip archive'.encode(), error)
            self.assertFalse(os.path.exists(self.path("out")))

    def test_patterns_with_and_without_a_cluster(self):
        for name in ("part-*", "part-1", "_part-3"):
            self.write("in/" + name, MARK + name.replace("*", "star").encode() + b"\n")
        self.write("other/part-1", b"other\n")
        for number, flag in enumerate(((), ("--in-process",))):
            for turn, (pattern, expected) in enumerate((("in/part-*", [b"part-1", b"part-star"]), (r"in/part-\*", [b"part-star"]),
                                                        ("{in,other}/part-1", [b"other", b"part-1"]), ("in/*", [b"part-1", b"part-star"]), ("in/_*", [b"_part-3"]))):
                with self.subTest(pattern=pattern, flag=flag):
                    out = f"out{number}-{turn}"
                    self.run_local("wordcount", self.path(pattern), "-o", self.path(out), *flag)
                    self.assertEqual(sorted(self.counts(out)), expected)

    def test_a_pattern_is_one_input_of_a_join(self):
        job = os.path.join(os.environ["MILLRACE_TEST_JOBS"], "join")
        for name, row in (("users1", b"k1\tann\n"), ("users2", b"k2\tbob\n"), ("orders1", b"k2\ttea\n"), ("orders2", b"k1\tsalt\n")):
            self.write(name + "/part-r-00000", row)
        for number, flag in enumerate(((), ("--in-process",))):
            out = self.path(f"out{number}")
            self.run_local(job, self.path("users?/part-*"), self.path("orders[12]/part-r-00000"), "-o", out, *flag)
            with open(os.path.join(out, "part-r-00000"), "rb") as f:
                joined = [line.split() for line in f]
            self.assertEqual([(words[0], words[1], words[3]) for words in joined], [(b"k1", b"ann", b"salt"), (b"k2", b"bob", b"tea")])


if __name__ == "__main__":
    unittest.main()
