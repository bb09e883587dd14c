# SPDX-License-Identifier: Apache-2.0
"""Output formats: what they write, byte for byte, and that they read it again."""

import io
import math
import random
import struct
import unittest
from decimal import Decimal

import stand_in  # noqa: F401
from millrace import formats, tables

try:
    import pyarrow
except ImportError:
    pyarrow = None


def written(kind, items, pieces=1):
    file = formats.find(kind)()
    size = -(-len(items) // pieces) or 1
    return b"".join(file.encode(items[at : at + size]) for at in range(0, len(items), size)) + file.end()


def read(kind, data):
    return list(formats.find(kind).read(io.BytesIO(data)))


class Formats(unittest.TestCase):
    def test_text_is_what_native_jobs_write(self):
        for item, line in [(("a", 1), "a\t1"), (("a", "b"), "a\tb"), ("line", "line"), (("a", None), "a"), ((None, "b"), "\tb"), ((("a", 1), (2.5, True)), "a\t1\t2.5\ttrue"),
                           (("a", 1.0), "a\t1"), (("a", 1e5), "a\t1e+05"), (("a", False), "a\tfalse"), (7, "7"), (("a", b"\xff"), "a\t\udcff"), (("a", "b", "c"), "a\tb\tc"),
                           (("a", Decimal("1.10")), "a\t1.10"), (("a", [1, 2]), "a\t1\t2"), ((1, 2), "1\t2"), ("", "")]:
            self.assertEqual(written("text", [item]), (line + "\n").encode("utf-8", "surrogateescape"), item)
        self.assertEqual(read("text", b"a\t1\n\xff\n"), [("a", "1"), ("\udcff",)])

    def test_numbers_are_as_short_as_they_can_be(self):
        # what std::to_chars gives for these
        for number, text in [(0.0, "0"), (-0.0, "-0"), (1.0, "1"), (-2.5, "-2.5"), (0.1, "0.1"), (100000.0, "1e+05"), (123456.0, "123456"), (120000.0, "120000"),
                             (1e20, "1e+20"), (1.2345678901234568e20, "123456789012345683968"), (1e-5, "1e-05"), (0.001, "0.001"), (0.0001, "1e-04"), (0.00012, "0.00012"),
                             (5e-324, "5e-324"), (1.7976931348623157e308, "1.7976931348623157e+308"), (math.inf, "inf"), (-math.inf, "-inf"), (9007199254740992.0, "9007199254740992")]:
            self.assertEqual(formats.number_text(number), text)
        source = random.Random(1)
        for _ in range(20000):
            [number] = struct.unpack("<d", struct.pack("<Q", source.getrandbits(64)))
            if number == number:
                self.assertEqual(float(formats.number_text(number)), number)

    def test_json_csv_and_bytes(self):
        items = [{"a": "\u00e9"}, ["x", 1], 5]
        self.assertEqual(written("json", items, 2), '{"a": "\u00e9"}\n["x", 1]\n5\n'.encode())
        self.assertEqual(read("json", written("json", items)), items)
        rows = [("a,b", 'q"'), ("line\nbreak", 1.5), {"x": 1, "y": None}, (("k", 1), "v"), 7]
        self.assertEqual(read("csv", written("csv", rows)), [["a,b", 'q"'], ["line\nbreak", "1.5"], ["1", ""], ["k", "1", "v"], ["7"]])
        self.assertEqual(written("bytes", [b"a", b"\x00"]), b"a\x00")

    def test_the_checksum_is_crc32c(self):
        self.assertEqual(formats.crc32c(b"123456789"), 0xE3069283)
        self.assertEqual(formats.crc32c(b"6789", formats.crc32c(b"12345")), 0xE3069283)
        source = random.Random(3)
        for _ in range(50):
            data = bytes(source.randrange(256) for _ in range(source.randrange(60)))
            plain = 0xFFFFFFFF
            for byte in data:
                plain ^= byte
                for _ in range(8):
                    plain = plain >> 1 ^ (0x82F63B78 if plain & 1 else 0)
            self.assertEqual(formats.crc32c(data), plain ^ 0xFFFFFFFF)

    def test_record_files_have_the_layout_of_native_ones(self):
        data = written("records", [("k", 1)])
        marker = data[12:28]
        self.assertEqual(data[:12], b"MILLRREC\x01\x00\x00\x00")
        self.assertEqual(struct.unpack_from("<I", data, 28)[0], formats.crc32c(data[:28]))
        block = data[32:]
        previous, stored, raw, flags, _ = struct.unpack_from("<QIIII", block, 16)
        self.assertEqual((block[:16], previous, stored, raw, flags, block[40 : 40 + stored]), (marker, 0, 5, 5, 0, b"\x01k\x02i\x01"))
        trailer = block[45:]
        self.assertEqual((trailer[:16], *struct.unpack_from("<QIII", trailer, 16)), (marker, 32, 16, 16, 2))
        self.assertEqual(struct.unpack_from("<QQ", trailer, 40), (1, 1))

    def test_records_come_back_and_damage_is_found(self):
        source = random.Random(2)
        items = [((n, "x" * source.randrange(300)), [n] * source.randrange(100)) for n in range(700)]
        data = written("records", items, 7)
        self.assertEqual(read("records", data), items)
        self.assertEqual(read("records", written("records", [])), [])
        for _ in range(15):
            at = source.randrange(len(data))
            broken = bytearray(data)
            broken[at] ^= 1 << source.randrange(8)
            with self.assertRaises(ValueError):
                read("records", bytes(broken))
        with self.assertRaises(ValueError):
            read("records", data[:-30])
        with self.assertRaises(ValueError):
            read("records", data + data[-56:])

    @unittest.skipIf(pyarrow is None, "pyarrow is not here")
    def test_parquet(self):
        rows = [{"n": n, "text": f"t{n}"} for n in range(25_000)]
        data = written("parquet", rows, 3)
        self.assertEqual(read("parquet", data), rows)
        self.assertEqual(read("parquet", written("parquet", [pyarrow.table({"a": [1]}), pyarrow.record_batch({"a": [2]})])), [{"a": 1}, {"a": 2}])
        self.assertEqual(read("parquet", written("parquet", [])), [])
        with self.assertRaises(TypeError):
            written("parquet", [("k", 1)])

    @unittest.skipIf(pyarrow is None, "pyarrow is not here")
    def test_tables_by_content_and_name(self):
        table = pyarrow.table({"a": [1, 2]})
        sink = io.BytesIO()
        with pyarrow.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
        for name, data in [("x", written("parquet", [table])), ("x", sink.getvalue()), ("x.csv", b"a\n1\n2\n"), ("x.jsonl", b'{"a": 1}\n{"a": 2}\n')]:
            self.assertEqual([row for batch in formats.tables(data, name) for row in batch.to_pylist()], [{"a": 1}, {"a": 2}])
        with self.assertRaisesRegex(ValueError, "neither Parquet"):
            formats.tables(b"?", "x")


@unittest.skipIf(pyarrow is None, "pyarrow is not here")
class RowGroups(unittest.TestCase):
    """A Parquet file that is read by splits."""

    def setUp(self):
        import pyarrow.parquet

        out = io.BytesIO()
        self.rows = [{"n": n, "text": f"t{n * 7919 % 1000}"} for n in range(20_000)]
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(self.rows), out, row_group_size=1000)
        self.data = out.getvalue()

    def split(self, data, offset, length):
        def ask(at, size):
            self.assertTrue(0 <= at and 0 < size and at + size <= len(data), "a range lies within the file")
            self.read += size
            return data[at : at + size]

        return [row for batch in tables.of_split(ask, "/t.parquet", offset, length, len(data)) for row in batch.to_pylist()]

    def test_each_row_group_is_read_by_one_split_wherever_the_file_is_cut(self):
        source = random.Random(4)
        for pieces in (1, 2, 3, 7, 40, 500):
            cuts = sorted({0, len(self.data), *(source.randrange(len(self.data)) for _ in range(pieces - 1))})
            self.read = 0
            found = [self.split(self.data, begin, end - begin) for begin, end in zip(cuts, cuts[1:])]
            self.assertEqual([row for rows in found for row in rows], self.rows)
            if pieces == 7:
                self.assertGreater(sum(map(bool, found)), 3, "several maps have a share")

    def test_a_split_reads_its_row_groups_and_the_footer(self):
        self.read = 0
        self.assertEqual(self.split(self.data, 4, 1), self.rows[:1000])
        footer = int.from_bytes(self.data[-8:-4], "little")
        self.assertLess(self.read, len(self.data) // 10 + max(footer, 1 << 16) + (1 << 16))

    def test_what_is_damaged_or_replaced_is_refused(self):
        self.read = 0
        other = self.data[: len(self.data) // 2]
        for data in (other, other + b"x" * (len(self.data) - len(other)), b"PAR1", b"PAR1" * 5, self.data[:-1]):
            with self.assertRaisesRegex(ValueError, "/t.parquet begins as Parquet, and its footer cannot be read.*replaced"):
                self.split(data, 0, 100)

        class Column:
            file_path, dictionary_page_offset, data_page_offset = "", None, 10**9

        class Group:
            num_columns = 1

            def column(self, number):
                return Column

        for path, at, what in [("", 10**9, "at byte 1000000000 of 50"), ("", -5, "at byte -5"), ("", 0, "at byte 0"), ("/etc/x", 4, "in the file /etc/x")]:
            Column.file_path, Column.data_page_offset = path, at
            with self.assertRaisesRegex(ValueError, what):
                tables._begin(Group(), "/t.parquet", 50)

    def test_other_files_are_read_whole_by_the_first_split(self):
        self.read = 0
        self.assertEqual(self.split(b"a\n1\n2\n", 3, 3), [])
        with self.assertRaisesRegex(ValueError, "neither Parquet"):
            self.split(b"a\n1\n2\n", 0, 3)


if __name__ == "__main__":
    unittest.main()
