# SPDX-License-Identifier: Apache-2.0
"""The child protocol: what a session answers to which messages, and how failures are told."""

import io
import json
import os
import socket
import struct
import sys
import tempfile
import threading
import unittest
from pathlib import Path
from unittest import mock

import stand_in
import ways
from millrace import bundle, child, emit, errors, keys, solo, values, wire

import millrace


def talk(job, *messages, keep=None):
    """Returns what a session says to messages (kind, payload); dicts become JSON."""
    said = []
    session = child.Session(job, lambda kind, *parts: said.append((kind, b"".join(parts))), keep=keep)
    with mock.patch("sys.stderr", io.StringIO()):
        session.serve(iter([(kind, wire.pack_json(payload) if isinstance(payload, dict) else payload) for kind, payload in messages]))
    return said


def begin(kind, **more):
    return b"J", {"kind": kind, "attempt": "job1.m.0.0", "partition": 0, "reduces": 1, "maps": 1, "job": "x", "options": {}, "scratch": "", **more}


INPUT = (b"I", {"path": "/in/a", "name": "a", "index": 0, "number": 0, "offset": 0, "length": 9})
END = (b"E", b"")


def lines(text, offset=0):
    return b"L", wire.pack_u64(offset) + text


def records(*pairs):
    return b"R", b"".join(wire.pack_record(keys.encode(key), values.encode(value)) for key, value in pairs)


def out(said, kind=wire.OUT):
    return [(keys.decode(key), values.decode(value)) for key, value in wire.unpack_records(payload for each, payload in said if each == kind)]


def failure(said):
    return json.loads(next(payload for kind, payload in said if kind == wire.FAILED))


def counting():
    @millrace.job
    def count(line: str):
        for word in line.split():
            yield word, 1

    @count.reduce
    def total(word, counts):
        yield word, sum(counts)

    return count


class Attempts(unittest.TestCase):
    def test_a_map_sends_records_and_is_done_after_its_input(self):
        said = talk(counting(), begin("map"), INPUT, lines(b"a b\n"), lines(b"a", 4), END)
        self.assertEqual(out(said), [("a", 1), ("b", 1), ("a", 1)])
        self.assertEqual(said[-1], (wire.DONE, b""))

    def test_a_combiner_folds_within_the_map(self):
        job = counting()
        job.combine(lambda word, counts: [(word, sum(counts))])
        self.assertEqual(sorted(out(talk(job, begin("map"), INPUT, lines(b"a b a\na\n"), END))), [("a", 3), ("b", 1)])

    def test_a_combiner_bounds_its_memory_and_loses_nothing(self):
        job = counting()
        job.combine(lambda word, counts: [(word, sum(counts))])
        text = " ".join(f"w{i % 700}" for i in range(5000)).encode() + b"\n"
        with mock.patch.object(emit, "FOLD_VALUES", 64):
            said = out(talk(job, begin("map"), INPUT, lines(text), END))
        self.assertEqual(sum(count for _, count in said), 5000)
        self.assertEqual(len({word for word, _ in said}), 700)
        self.assertGreater(len(said), 700, "what does not fold well goes on early")

    def test_a_reduce_gets_the_values_of_a_key_across_messages(self):
        key = keys.encode("a")
        first = wire.pack_record(key, values.encode(1))
        same = struct.pack("<II", wire.SAME_KEY, len(values.encode(2))) + values.encode(2)
        said = talk(counting(), begin("reduce"), (b"R", first), (b"R", same), (b"R", wire.pack_record(keys.encode("b"), values.encode(5))), END)
        self.assertEqual([payload for kind, payload in said if kind == wire.WRITE], [b"\x00a\t3\nb\t5\n"])

    def test_a_reduce_may_leave_values_and_may_take_them_only_once(self):
        job = counting()
        job.reducer = lambda word, counts: [(word, next(counts))]
        said = talk(job, begin("reduce"), records(("a", 1), ("a", 2), ("b", 3)), END)
        self.assertEqual(said[-2][1], b"\x00a\t1\nb\t3\n")
        job.reducer = lambda word, counts: [(word, sum(counts) / len(list(counts)))]
        self.assertIn("only once", failure(talk(job, begin("reduce"), records(("a", 1)), END))["message"])

    def test_a_combine_attempt_sends_records(self):
        job = counting()
        job.combine(lambda word, counts: [(word, sum(counts))])
        self.assertEqual(out(talk(job, begin("combine"), records(("a", 1), ("a", 2), ("b", 3)), END)), [("a", 3), ("b", 3)])

    def test_groups_say_how_long_their_part_of_the_key_is(self):
        @millrace.job(group=1)
        def pairs(line: str):
            yield (line, 5), None

        pairs.reduce(lambda key, records: [(key, [key for key, _ in records])])
        said = talk(pairs, begin("map"), INPUT, lines(b"x\n"), END)
        [(key, group, value)] = [record for kind, payload in said if kind == wire.GROUPED for record in wire.unpack_marked(payload)]
        self.assertEqual((key, value), (keys.encode(("x", 5)), b""))
        self.assertTrue(keys.encode(("x", 7)).startswith(key[:group]) and not keys.encode(("xy", 5)).startswith(key[:group]))

    def test_a_partition_of_the_jobs_own(self):
        job = counting()
        job.partition = lambda key, reduces: (len(key) + reduces) % reduces
        said = talk(job, begin("map", reduces=3), INPUT, lines(b"a bbbb\n"), END)
        self.assertEqual(list(wire.unpack_marked(said[0][1])), [(b"a", 1, values.encode(1)), (b"bbbb", 1, values.encode(1))])
        self.assertEqual(said[0][0], wire.PLACED)
        for wrong in (3, -1, 1.0):
            job.partition = lambda key, reduces, wrong=wrong: wrong
            self.assertIn("from 0 to 2", failure(talk(job, begin("map", reduces=3), INPUT, lines(b"a\n"), END))["message"])

    def test_maps_of_bytes_batches_and_records(self):
        takes = {}
        for kind in (bytes, list[str], list[bytes]):

            def see(line, kind=kind):
                takes[str(kind)] = line

            see.__annotations__ = {"line": kind}
            job = millrace.job(see)
            self.assertEqual(talk(job, begin("map_only"), INPUT, lines("\u00e9 x\ny\n".encode()), END)[-1], (wire.DONE, b""))
        self.assertEqual(takes, {str(bytes): b"y", str(list[str]): ["\u00e9 x", "y"], str(list[bytes]): ["\u00e9 x".encode(), b"y"]})

        @millrace.job
        def swap(key, value):
            return value, key

        self.assertEqual(talk(swap, begin("map_only"), INPUT, records((1, "a"), ((2, "b"), None)), END)[0], (wire.WRITE, b"\x00a\t1\n\t2\tb\n"))

        @millrace.job
        def raw(key: bytes, value: bytes):
            return key + b"=" + value

        self.assertEqual(talk(raw, begin("map_only"), INPUT, (b"R", wire.pack_record(b"\xff", b"\x00v")), END)[0][1], b"\x00\xff=\x00v\n")

    def test_whole_files_even_empty_ones(self):
        @millrace.job
        def sizes(file: millrace.File):
            yield file.path, len(file.data)

        def named(path):
            return b"I", {"path": path, "index": 0}

        piece = wire.pack_u64(0) + b"12345"
        said = talk(sizes, begin("map_only"), named("a"), (b"F", piece), (b"F", piece), named("b"), named("c"), (b"F", piece), END)
        self.assertEqual(said[0][1], b"\x00a\t10\nb\t0\nc\t5\n")

    def test_a_map_of_tables_asks_for_what_it_reads(self):
        data = b"".join(b"%d\n" % n for n in range(2000))
        for offset, expected in [(0, [data]), (5000, [])]:
            said, asked = [], []

            @millrace.job
            def sizes(batch: "pa.RecordBatch"):  # noqa: F821
                raise AssertionError("no table was found")

            def parent():
                yield begin("map_only")[0], wire.pack_json(begin("map_only")[1])
                about = {"path": "/x", "index": 0, "offset": offset, "length": 5000, "file_length": len(data), "ranges": True}
                yield wire.INPUT, wire.pack_json(about)
                while said[-1][0] == wire.ASK:
                    start, length = struct.unpack("<QQ", said[-1][1])
                    asked.append(data[start : start + length])
                    for at in range(start, start + length, 3000):
                        yield wire.FILE, wire.pack_u64(at) + data[at : min(at + 3000, start + length)]
                yield wire.END, b""

            session = child.Session(sizes, lambda kind, *parts: said.append((kind, b"".join(parts))))
            with mock.patch("sys.stderr", io.StringIO()):
                session.serve(parent())
            self.assertEqual(asked, [data[:4], *expected])
            if expected:
                self.assertRegex(failure(said)["message"], "neither Parquet|pyarrow")
            else:
                self.assertEqual([kind for kind, _ in said], [wire.ASK, wire.ENOUGH, wire.DONE])

    def test_bytes_that_are_no_utf8_come_out_as_they_came_in(self):
        job = counting()
        said = talk(job, begin("map"), INPUT, lines(b"a\xff\xfe \xed\xa0\x80\n"), END)
        recs = sorted(wire.unpack_records(payload for kind, payload in said if kind == wire.OUT))
        said = talk(job, begin("reduce"), *((b"R", payload) for payload in wire.pack_sorted(recs)), END)
        self.assertEqual(sorted(said[0][1][1:].splitlines()), [b"a\xff\xfe\t1", b"\xed\xa0\x80\t1"])

    def test_hooks_run_in_every_attempt(self):
        job, calls = counting(), []
        job.start(lambda: calls.append("start"))
        job.finish(lambda: [("end", 1)])
        job.finish_reduce(lambda: "last line")
        said = talk(job, begin("map"), INPUT, lines(b"a\n"), END, begin("reduce"), records(("a", 1)), END)
        self.assertEqual(out(said), [("a", 1), ("end", 1)])
        self.assertEqual([payload for kind, payload in said if kind == wire.WRITE], [b"\x00a\t1\nlast line\n"])
        self.assertEqual(calls, ["start", "start"])

    def test_counters_status_and_options(self):
        @millrace.job(options={"least": 2, "name": str, "deep": False})
        def job(line: str):
            millrace.counter("g", "n").add(3)
            millrace.status("at work")
            yield millrace.option("least"), millrace.option("name"), millrace.option("deep")

        said = talk(job, begin("map_only", options={"least": "5", "name": "x", "deep": "true", "of another": "1"}), INPUT, lines(b"a\nb\n"), END)
        self.assertIn((wire.STATUS, b"at work"), said)
        self.assertEqual([json.loads(payload) for kind, payload in said if kind == wire.COUNTERS], [[["g", "n", 6]]])
        self.assertIn((wire.WRITE, b"\x005\tx\ttrue\n" * 1 + b"5\tx\ttrue\n"), said)

    def test_a_long_attempt_gives_signs_of_life(self):
        with mock.patch.object(child, "ALIVE_SECONDS", 0.0):
            said = talk(counting(), begin("map"), INPUT, lines(b"a\n" * 300), END)
        alive = [wire.unpack_u64(payload) for kind, payload in said if kind == wire.ALIVE]
        self.assertEqual(alive, sorted(alive))
        self.assertEqual(alive[-1], 300)
        self.assertGreater(len(alive), 1)

    def test_named_outputs_and_long_ones(self):
        @millrace.job(outputs={"big": "json"})
        def job(line: str):
            yield "small", line
            yield millrace.To("big", {"line": line})

        said = talk(job, begin("map_only"), INPUT, lines(b"x" * 90 + b"\n" + b"y\n" * 40000), END)
        written = {"": b"", "big": b""}
        for kind, payload in said:
            if kind == wire.WRITE:
                name, data = wire.unpack_write(payload)
                written[name] += data
        self.assertEqual(written[""].count(b"\n"), 40001)
        self.assertEqual([json.loads(line) for line in written["big"].splitlines()][:2], [{"line": "x" * 90}, {"line": "y"}])
        self.assertEqual(said[-1][0], wire.DONE)


class Failures(unittest.TestCase):
    def test_the_record_its_place_and_the_traceback(self):
        @millrace.job
        def parse(line: str):
            yield int(line), None

        parse.reduce(lambda key, values: [key])
        for text, offset, found in [(b"1\n22\nthree\n4\n", 100, 105), ("1\n\u0662\n\u00e9\n".encode(), 0, 5), (b"1\n\n", 7, 9)]:
            told = failure(talk(parse, begin("map"), INPUT, lines(text, offset), END))
            bad = next(line for line in text.decode().split("\n") if not line.isdecimal())
            self.assertEqual(told["record"], repr(bad))
            self.assertEqual(told["offset"], found)
            self.assertEqual((told["type"], told["path"]), ("ValueError", "/in/a"))
            self.assertIn("invalid literal", told["message"])
            self.assertIn("in parse", told["traceback"][1], "the traceback begins with the job's own code")
            self.assertLessEqual(len(told["traceback"]), 20)

    def test_a_long_record_is_cut_and_a_broken_repr_does_no_harm(self):
        class Nasty:
            def __repr__(self):
                raise RuntimeError("no")

        place = child.Place()
        place.find = lambda: ("x" * 10000, 5)
        self.assertEqual(len(child.describe(ValueError("v"), place)["record"]), 500)
        place.find = lambda: (Nasty(), 5)
        self.assertIn("repr failed", child.describe(ValueError("v"), place)["record"])

    def test_the_key_of_a_reduce_is_named(self):
        job = counting()
        job.reducer = lambda word, counts: 1 / 0
        told = failure(talk(job, begin("reduce"), records((("a", 1), 1)), END))
        self.assertEqual((told["type"], told["record"]), ("ZeroDivisionError", "('a', 1)"))

    def test_the_next_attempt_runs_after_one_that_failed(self):
        job = counting()
        job.mappers[0] = job.mappers[0]._replace(function=lambda line: [(line, 1 / int(line))])
        said = talk(job, begin("map"), INPUT, lines(b"0\n"), lines(b"1\n"), END, begin("map"), INPUT, lines(b"4\n"), END)
        self.assertEqual([kind for kind, _ in said], [wire.FAILED, wire.OUT, wire.DONE])
        self.assertEqual(out(said), [("4", 0.25)])

    def test_what_is_no_pair_no_key_no_value_is_said(self):
        for result, what in [("ab", "yields pairs"), (("a", 1, 2), "yields pairs"), ((["a"], 1), r"yield tuple\(key\)"), ((float("nan"), 1), "nan"),
                             (("a", lambda: 0), "and function cannot be"), (millrace.To("x", 1), "named output")]:
            for combined in (False, True):
                job = counting()
                job.mappers[0] = job.mappers[0]._replace(function=lambda line, result=result: [result])
                if combined:
                    job.combine(lambda word, counts: [(word, sum(counts))])
                told = failure(talk(job, begin("map"), INPUT, lines(b"a\n"), END))
                self.assertRegex(told["type"] + ": " + told["message"], what)

    def test_an_unknown_output_is_said(self):
        job = counting()
        job.reducer = lambda word, counts: millrace.To("large", word)
        self.assertIn("outputs=", failure(talk(job, begin("reduce"), records(("a", 1)), END))["message"])

    def test_the_end_of_the_program_is_a_failure_of_the_attempt(self):
        job = counting()
        job.reducer = lambda word, counts: sys.exit(3)
        self.assertEqual(failure(talk(job, begin("reduce"), records(("a", 1)), END))["type"], "SystemExit")

    def test_records_for_a_map_of_lines_are_refused(self):
        self.assertIn("key and value", failure(talk(counting(), begin("map"), INPUT, records(("a", 1)), END))["message"])

    def test_the_log_holds_the_failure_for_the_caller(self):
        job = counting()
        job.reducer = lambda word, counts: 1 / 0
        said, log = [], io.StringIO()
        with mock.patch("sys.stderr", log):
            session = child.Session(job, lambda kind, *parts: said.append(kind))
            session.serve(iter([(kind, wire.pack_json(p) if isinstance(p, dict) else p) for kind, p in (begin("reduce"), records(("a", 1)), END)]))
        told = errors.failure_in(log.getvalue() + "a later line\n")
        self.assertEqual(told["type"], "ZeroDivisionError")
        error = errors.job_failed(told, reason="job 3 failed", job=3)
        self.assertEqual((error.record, error.job), ("'a'", 3))
        self.assertIn("1 / 0", str(error.__cause__))


class Channels(unittest.TestCase):
    def test_messages_of_any_size_pass_while_both_sides_write(self):
        a, b = socket.socketpair()
        ours, theirs = wire.Channel(a), wire.Channel(b)
        big = os.urandom(5 << 20)

        def echo():
            for kind, payload in theirs.messages():
                theirs.send(kind, payload[:3], payload[3:])

        thread = threading.Thread(target=echo)
        thread.start()
        got = ours.messages()
        for payload in (b"", b"x", big):
            writer = threading.Thread(target=ours.send, args=(b"L", payload))
            writer.start()
            self.assertEqual(next(got), (b"L", payload))
            writer.join()
        a.shutdown(socket.SHUT_WR)
        thread.join()
        theirs.close()
        ours.close()

    def test_a_message_that_is_cut_off_or_too_long_is_an_error(self):
        for data, error in ((b"\x05\x00\x00\x00Lab", wire.ChannelClosed), (b"\x05\x00", wire.ChannelClosed), (b"\xff\xff\xff\xffL", ValueError)):
            a, b = socket.socketpair()
            a.sendall(data)
            a.close()
            channel = wire.Channel(b)
            with self.assertRaises(error):
                list(channel.messages())
            channel.close()

    def test_damaged_batches_are_refused(self):
        good = wire.pack_record(b"k", b"v")
        for bad in (good[:-1], good + b"\x01", struct.pack("<II", wire.SAME_KEY, 1) + b"v"):
            with self.assertRaises(ValueError):
                list(wire.unpack_records([bad]))


class Children(unittest.TestCase):
    """Children that are started from a bundle, as tasks start them."""

    def start(self, place, python=sys.executable, data=None, log=None):
        import wordcount

        Path(place, bundle.NAME).write_bytes(data or bundle.build(wordcount.wordcount).data)
        return solo.InChild([python, bundle.NAME], cwd=place, log=log, env={"PATH": os.environ["PATH"]})

    def test_says_hello_and_ends_when_the_channel_is_closed(self):
        with tempfile.TemporaryDirectory() as place:
            started = self.start(place)
            kind, payload = started.hello
            self.assertEqual((kind, json.loads(payload)["version"]), (wire.HELLO, 1))
            self.assertTrue(json.loads(payload)["language"].startswith("python 3."))
            self.assertEqual(started.close(), 0)

    def test_an_attempt_may_be_abandoned(self):
        with tempfile.TemporaryDirectory() as place, open(os.path.join(place, "log"), "w+b") as log:
            started = self.start(place, log=log)
            started._channel.send(b"J", wire.pack_json(begin("map")[1]))
            started._channel.send(b"L", wire.pack_u64(0) + b"a b\n")
            self.assertEqual(started.close(), 0)
            log.seek(0)
            self.assertEqual(log.read(), b"")

    def test_prints_of_the_job_go_to_the_log(self):
        @millrace.job
        def loud(line: str):
            print("said", line)

        if not ways_has_cloudpickle():
            self.skipTest("cloudpickle is not here")
        with tempfile.TemporaryDirectory() as place, open(os.path.join(place, "log"), "w+b") as log:
            with self.start(place, data=bundle.build(loud).data, log=log) as started:
                list(started(begin("map_only")[1], [(b"I", wire.pack_json(INPUT[1])), lines(b"a\n"), END]))
                log.seek(0)
                self.assertEqual(log.read(), b"said a\n")

    def test_another_python_is_refused_in_a_sentence(self):
        import zipfile

        with tempfile.TemporaryDirectory() as place:
            import wordcount

            other = io.BytesIO()
            with zipfile.ZipFile(io.BytesIO(bundle.build(wordcount.wordcount).data)) as old, zipfile.ZipFile(other, "w") as new:
                for name in old.namelist():
                    about = json.loads(old.read(name)) | {"by": "cloudpickle", "python": [3, 2]} if name == "job.json" else None
                    new.writestr(name, json.dumps(about) if about else old.read(name))
            with open(os.path.join(place, "log"), "w+b") as log, self.start(place, data=other.getvalue(), log=log) as started:
                for _ in range(2):
                    with self.assertRaisesRegex(errors.JobFailed, "pickled by Python 3.2"):
                        started(begin("map")[1], [END])
                log.seek(0)
                self.assertIn("3.2", errors.failure_in(log.read().decode())["message"])

    def test_an_old_python_is_refused_in_a_sentence(self):
        import shutil
        import subprocess

        old = [shutil.which(f"python3.{minor}") for minor in (6, 7, 8)]
        old = [path for path in old if path and subprocess.run([path, "-c", ""], capture_output=True, check=False).returncode == 0]
        if not old:
            self.skipTest("no Python before 3.9 is here")
        for python in old:
            with tempfile.TemporaryDirectory() as place, open(os.path.join(place, "log"), "w+b") as log:
                with self.start(place, python=python, log=log) as started, self.assertRaisesRegex(errors.JobFailed, "jobs need 3.9 or later"):
                    started(begin("map")[1], [END])

    def test_a_job_that_cannot_be_imported_fails_each_attempt(self):
        with tempfile.TemporaryDirectory() as place:
            sys.path.insert(0, place)
            Path(place, "breaks.py").write_text("import millrace, sys\nif hasattr(sys.modules['__main__'], 'BUNDLE'): raise RuntimeError('not here')\n"
                                                "@millrace.job\ndef job(line: str): yield line\n")
            try:
                import breaks

                data = bundle.build(breaks.job).data
            finally:
                sys.path.remove(place)
                sys.modules.pop("breaks", None)
            with open(os.path.join(place, "log"), "w+b") as log, self.start(place, data=data, log=log) as started:
                with self.assertRaisesRegex(errors.JobFailed, "RuntimeError: not here"):
                    started(begin("map_only")[1], [END])

    def test_a_job_that_runs_itself_when_it_is_imported_says_so(self):
        with tempfile.TemporaryDirectory() as place:
            script = Path(place, "script.py")
            script.write_text("import millrace\n@millrace.job\ndef job(line: str): yield line\njob.run('/in', '/out')\n")
            import subprocess

            env = {**os.environ, "PYTHONPATH": os.path.join(stand_in.PACKAGE, "src"), "MILLRACE_BIN": stand_in.make_program(place),
                   "FAKE_DFS": place}
            os.mkdir(os.path.join(place, "in"))
            Path(place, "in", "a").write_text("x\n")
            done = subprocess.run([sys.executable, str(script)], env=env, capture_output=True, text=True, check=False)
            self.assertIn('under `if __name__ == "__main__":`', done.stderr)


def ways_has_cloudpickle():
    try:
        import cloudpickle  # noqa: F401
    except ImportError:
        return False
    return ways is not None


if __name__ == "__main__":
    unittest.main()
