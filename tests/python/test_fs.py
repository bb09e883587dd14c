# SPDX-License-Identifier: Apache-2.0
"""Files of the cluster and the fsspec driver, over a stand-in of the program; `python.cluster` does the same over a real cluster."""

import io
import os
import random
import unittest
import unittest.mock

from test_result import WithFake

try:
    import fsspec
except ImportError:
    fsspec = None
try:
    import pandas
    import pyarrow  # noqa: F401
except ImportError:
    pandas = None
try:
    import polars
except ImportError:
    polars = None

from millrace import fs

import millrace


def _has(name):
    try:
        __import__(name)
    except ImportError:
        return False
    return True


class FilesOfTheCluster:
    """What holds of any cluster; `self.base` is a directory that does not exist yet."""

    base = "/t"

    def test_files_are_written_listed_read_and_removed(self):
        data = os.urandom(3 << 20)
        with fs.put(f"{self.base}/a/b") as stream:
            for at in range(0, len(data), 700_001):
                stream.write(data[at : at + 700_001])
        [entry] = fs.ls(f"{self.base}/a")
        self.assertEqual((entry["path"], entry["length"], entry["type"]), (f"{self.base}/a/b", len(data), "file"))
        self.assertEqual(fs.stat(f"{self.base}/a")["type"], "directory")
        with fs.cat(f"{self.base}/a/b") as stream:
            self.assertEqual(stream.read(), data)
        source = random.Random(1)
        for _ in range(6):
            start, end = source.randrange(len(data)), source.randrange(len(data) + 9)
            self.assertEqual(fs.read(f"{self.base}/a/b", start, end), data[start:end])
        self.assertEqual(fs.read(f"{self.base}/a/b", len(data)), b"")
        self.assertEqual((fs.read(f"{self.base}/a/b", 5, 5), fs.read(f"{self.base}/a/b", 2_000_000)), (b"", data[2_000_000:]))
        self.assertEqual(fs.read(f"{self.base}/a/b", 7, 9, len(data)), data[7:9])
        with self.assertRaisesRegex(millrace.CommandFailed, "replaced while it was read"):
            fs.read(f"{self.base}/a/b", len(data) - 2, len(data) + 2, len(data) + 9)
        fs.mv(f"{self.base}/a/b", f"{self.base}/c")
        fs.cp(f"{self.base}/c", f"{self.base}/d")
        self.assertEqual([os.path.basename(entry["path"]) for entry in fs.ls(self.base)], ["a", "c", "d"])
        fs.rm(self.base, recursive=True)
        self.assertFalse(fs.exists(self.base))

    def test_what_is_not_there_is_not_found(self):
        for call in (fs.ls, fs.stat, fs.read, fs.rm, lambda path: fs.read(path, 3, 9)):
            with self.assertRaises(FileNotFoundError):
                call(f"{self.base}/nowhere")

    def test_odd_names_mean_themselves(self):
        for name in ("a*b", "[x]", "q?", "{1,2}", "back\\slash", "sp ace", "\u00e9", "-dash"):
            path = f"{self.base}/odd/{name}"
            with fs.put(path) as stream:
                stream.write(name.encode())
            self.assertEqual(fs.read(path), name.encode())
            self.assertEqual(fs.stat(path)["path"], path)
        self.assertEqual(len(fs.ls(f"{self.base}/odd")), 8)
        fs.rm(f"{self.base}/odd/a*b")
        self.assertEqual(len(fs.ls(f"{self.base}/odd")), 7)

    def test_an_existing_file_is_replaced_only_if_asked(self):
        for text, overwrite in ((b"1", False), (b"2", True)):
            with fs.put(f"{self.base}/x", overwrite) as stream:
                stream.write(text)
        with self.assertRaisesRegex(millrace.CommandFailed, "exist"):
            fs.put(f"{self.base}/x").close()
        self.assertEqual(fs.read(f"{self.base}/x"), b"2")

    def test_an_upload_may_be_dropped(self):
        stream = fs.put(f"{self.base}/dropped")
        stream.write(b"x" * 100)
        stream.discard()
        self.assertFalse(fs.exists(f"{self.base}/dropped"))

    @unittest.skipIf(fsspec is None, "fsspec is not here")
    def test_fsspec(self):
        from millrace.fsspec_driver import MillraceFileSystem

        files = MillraceFileSystem(skip_instance_cache=True)
        base = self.base
        files.makedirs(f"{base}/f")
        files.pipe({f"{base}/f/one": b"1" * 10, f"{base}/f/two": b"2" * 20})
        self.assertEqual(sorted(files.ls(f"{base}/f", detail=False)), [f"{base}/f/one", f"{base}/f/two"])
        self.assertEqual(files.cat_file(f"{base}/f/two", -5), b"22222")
        self.assertEqual(files.cat_file(f"millrace://{base}/f/two", 3, 7), b"2222")
        self.assertEqual(files.glob(f"{base}/f/t*"), [f"{base}/f/two"])
        self.assertEqual((files.info(f"{base}/f/one")["size"], files.isdir(f"{base}/f"), files.isfile(f"{base}/f/one")), (10, True, True))
        self.assertEqual(files.find(base), [f"{base}/f/one", f"{base}/f/two"])
        self.assertEqual(files.du(base), 30)
        data = bytes(random.Random(2).randrange(256) for _ in range(50_000))
        with files.open(f"{base}/f/three", "wb", block_size=5 << 20) as stream:
            stream.write(data)
        with files.open(f"{base}/f/three", block_size=4096) as stream:
            stream.seek(30_000)
            self.assertEqual(stream.read(100), data[30_000:30_100])
            stream.seek(0)
            self.assertEqual(stream.read(), data)
        with files.open(f"{base}/f/text", "w") as stream:
            stream.write("line\nline\n")
        with files.open(f"{base}/f/text", "r") as stream:
            self.assertEqual(stream.readlines(), ["line\n", "line\n"])
        files.mv(f"{base}/f/text", f"{base}/f/moved")
        files.copy(f"{base}/f/moved", f"{base}/f/copied")
        self.assertEqual(files.cat_file(f"{base}/f/copied"), b"line\nline\n")
        self.assertLess(abs(files.modified(f"{base}/f/moved").timestamp() - files.info(f"{base}/f/moved")["mtime"]), 1)
        files.rm(f"{base}/f", recursive=True)
        self.assertFalse(files.exists(f"{base}/f"))
        with self.assertRaises(FileNotFoundError):
            files.info(f"{base}/f")
        with self.assertRaises(ValueError):
            files.open(f"{base}/x", "ab")
        with self.assertRaisesRegex(ValueError, "three slashes"):
            files.open("millrace://data/x")

    @unittest.skipIf(fsspec is None or pandas is None, "fsspec, pandas or pyarrow is not here")
    def test_data_frames(self):
        fsspec.register_implementation("millrace", "millrace.fsspec_driver.MillraceFileSystem", clobber=True)
        frame = pandas.DataFrame({"a": range(1000), "b": [f"t{n}" for n in range(1000)]})
        frame.to_parquet(f"millrace://{self.base}/p/x.parquet")
        frame.to_csv(f"millrace://{self.base}/p/x.csv", index=False)
        self.assertTrue(frame.equals(pandas.read_parquet(f"millrace://{self.base}/p/x.parquet")))
        self.assertTrue(frame.equals(pandas.read_csv(f"millrace://{self.base}/p/x.csv")))
        if polars is not None:
            with fsspec.open(f"millrace://{self.base}/p/x.parquet") as stream:
                self.assertEqual(polars.read_parquet(stream)["a"].sum(), sum(range(1000)))


class OverAStandIn(FilesOfTheCluster, WithFake):
    @unittest.skipIf(fsspec is None or not _has("pyarrow"), "fsspec or pyarrow is not here")
    def test_a_column_is_read_without_the_others(self):
        import pyarrow
        import pyarrow.parquet
        from millrace.fsspec_driver import MillraceFileSystem

        out = io.BytesIO()
        table = pyarrow.table({"wide": [os.urandom(1000) for _ in range(2000)], "n": list(range(2000))})
        pyarrow.parquet.write_table(table, out, compression="none", row_group_size=500)
        self.put("/t.parquet", out.getvalue())
        with MillraceFileSystem(skip_instance_cache=True).open("/t.parquet", block_size=4096) as stream:
            found = pyarrow.parquet.ParquetFile(stream).read(columns=["n"])
        self.assertEqual(found["n"].to_pylist(), list(range(2000)))
        ranges = [call[call.index("--length") + 1] for call in self.calls() if call[:2] == ["fs", "cat"]]
        self.assertLess(sum(map(int, ranges)), len(out.getvalue()) // 5)

    def test_names_that_are_no_utf8(self):
        name = os.fsdecode(b"\xff\xe9")
        self.put(f"/odd/{name}", b"x")
        self.assertEqual([entry["path"] for entry in fs.ls("/odd")], [f"/odd/{name}"])
        self.assertEqual(fs.read(f"/odd/{name}"), b"x")

    def test_the_master_being_out_of_reach_is_no_missing_file(self):
        with unittest.mock.patch.dict(os.environ, {"FAKE_UNREACHABLE": "1"}):
            for call in (fs.stat, fs.exists, lambda path: fs.cat(path).read(), lambda path: fs.put(path).close()):
                with self.assertRaises(millrace.CommandFailed) as caught:
                    call("/x")
                self.assertEqual(caught.exception.status, 3)

    def test_a_stream_can_be_left_early(self):
        self.put("/big", b"x" * (8 << 20))
        with fs.cat("/big") as stream:
            self.assertEqual(stream.read(5), b"xxxxx")
        self.assertIsInstance(stream, io.BufferedReader)


if __name__ == "__main__":
    unittest.main()
