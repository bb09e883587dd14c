# SPDX-License-Identifier: Apache-2.0
"""The encoding of keys keeps Python's order and equality, and the encoding of values their types."""

import datetime
import decimal
import enum
import fractions
import itertools
import math
import random
import unittest

import stand_in  # noqa: F401  (finds the package)
from millrace import keys, values

SEEDS = 60
EDGES = [0, 1, -1, 255, 256, -255, -256, -257, 2**31, 2**53, 2**53 + 1, 2**63, -(2**63), 2**64, 10**30, -(10**30), 2**800, 2**800 - 1, 2**801,
         -(2**800), -(2**800) + 1, 2**3000, -(2**3000), 2**9000, True, False, 0.0, -0.0, 0.5, -0.5, 1.0, 1.5, -1.5, 1e-300, 5e-324, -5e-324, 1e308, -1e308,
         math.inf, -math.inf, math.pi, 2.0**53, 0.1, 0.2, 0.1 + 0.2, 255.5, 256.00390625, 255.99609375]


def number(random):
    kind = random.randrange(6)
    if kind == 0:
        return random.choice(EDGES)
    if kind == 1:
        return random.randint(-300, 300)
    if kind == 2:
        return random.randint(-3, 3) / random.choice([1, 2, 4, 3, 256])
    if kind == 3:
        return random.getrandbits(random.randrange(1, 900)) * random.choice([1, -1])
    if kind == 4:
        return random.uniform(-1, 1) * 10.0 ** random.randint(-320, 300)
    return random.choice([True, False])


def text(random):
    alphabet = random.choice(["ab", "\x00\x01\x03\x04\x05a", "a\u00e9\u0800\ud7ff\ud800\udcff\udfff\ue000\uffff\U00010000\U0010ffff", "\x00\xff"])
    return "".join(random.choice(alphabet) for _ in range(random.randrange(5)))


def data(random):
    return bytes(random.choice([0, 1, 2, 254, 255, 97]) for _ in range(random.randrange(5)))


def shaped(random, shape):
    """A key of this shape: keys of one shape can be compared by Python."""
    if isinstance(shape, tuple):
        return tuple(shaped(random, part) for part in shape[: random.randrange(len(shape) + 1)])
    return {"number": number, "text": text, "data": data, "none": lambda _: None}[shape](random)


def shape(random, depth=0):
    kind = random.randrange(6 if depth < 3 else 4)
    if kind >= 4:
        return tuple(shape(random, depth + 1) for _ in range(random.randrange(1, 4)))
    # None compares with nothing, itself included, so Python's order needs shapes without it
    return ("number", "text", "data", "number")[kind]


class KeysTest(unittest.TestCase):
    def test_order_and_equality_are_pythons(self):
        for seed in range(SEEDS):
            source = random.Random(seed)
            form = shape(source)
            made = [shaped(source, form) for _ in range(120)]
            with self.subTest(seed=seed, shape=form):
                by_bytes = sorted(made, key=keys.encode)
                self.assertEqual(by_bytes, sorted(made))
                for a, b in itertools.pairwise(by_bytes) if hasattr(itertools, "pairwise") else zip(by_bytes, by_bytes[1:]):
                    self.assertEqual(keys.encode(a) == keys.encode(b), a == b, (a, b))

    def test_all_edges_of_numbers(self):
        for a, b in itertools.product(EDGES, EDGES):
            x, y = keys.encode(a), keys.encode(b)
            self.assertEqual((x < y, x == y), (a < b, a == b), (repr(a)[:50], repr(b)[:50]))
            self.assertEqual(keys.encode((a, "z")) < keys.encode((b, "a")), (a, "z") < (b, "a"))

    def test_a_key_comes_back_equal(self):
        for seed in range(SEEDS):
            source = random.Random(seed)
            for _ in range(100):
                key = shaped(source, shape(source))
                self.assertEqual(keys.decode(keys.encode(key)), key, seed)
        for key in [None, (None,), (None, (None, "a"), b""), "", b"", (), ((),), "\x00", ("\x00", "\x00\xff")]:
            self.assertEqual(keys.decode(keys.encode(key)), key)

    def test_numbers_come_back_by_value(self):
        for key, back in [(True, 1), (1.0, 1), (-0.0, 0), (2.5, 2.5), (1e300, int(1e300))]:
            self.assertEqual(repr(keys.decode(keys.encode(key))), repr(back))

    def test_kinds_have_a_fixed_order(self):
        order = [None, -math.inf, 0, 1.5, math.inf, "", "\x00", "a", "\U0010ffff", b"", b"\xff", (), (None,), (0,), ("",), (b"",), ((),)]
        self.assertEqual(sorted(order[::-1], key=keys.encode), order)
        inside = [(kind,) for kind in order]
        self.assertEqual(sorted(inside[::-1], key=keys.encode), inside)

    def test_texts_are_encoded_as_native_jobs_do_it(self):
        for key in ["word", "\u00e9", "\x04", " "]:
            self.assertEqual(keys.encode(key), key.encode())

    def test_the_group_is_a_prefix_that_equal_groups_share(self):
        for seed in range(SEEDS):
            source = random.Random(seed)
            made = [(shaped(source, "number"), shaped(source, "text"), source.random()) for _ in range(50)]
            for size in (1, 2, 3):
                pairs = [keys.encode_group(key, size) for key in made]
                self.assertEqual([encoded for encoded, _ in pairs], [keys.encode(key) for key in made])
                for (a, (x, n)), (b, (y, m)) in itertools.product(list(zip(made, pairs))[:12], repeat=2):
                    self.assertEqual(x[:n] == y[:m], a[:size] == b[:size], (seed, a, b))
        with self.assertRaisesRegex(TypeError, "tuple of at least 2 elements"):
            keys.encode_group(("a",), 2)

    def test_other_keys_are_refused_with_advice(self):
        class Colour(enum.Enum):
            RED = 1

        for key, advice in [([1], "tuple"), ({1}, "sorted"), ({}, "items"), (datetime.datetime(2026, 1, 1), "timestamp"), (decimal.Decimal(1), "str"),
                            (fractions.Fraction(1, 3), "as_integer_ratio"), (Colour.RED, "value"), (object(), "tuple"), (("a", [1]), "tuple")]:
            with self.assertRaisesRegex(TypeError, advice):
                keys.encode(key)
        for key in (math.nan, (1, math.nan)):
            with self.assertRaisesRegex(ValueError, "nan"):
                keys.encode(key)

    def test_subclasses_of_plain_types_are_keys(self):
        class Level(enum.IntEnum):
            HIGH = 7

        class Word(str):
            pass

        self.assertEqual(keys.decode(keys.encode(Level.HIGH)), 7)
        self.assertEqual(keys.encode(Word("a")), b"a")

    def test_foreign_bytes_are_refused(self):
        source = random.Random(1)
        for _ in range(3000):
            garbage = bytes([source.choice([0, 1, 0xFB, 0xF8, 0xFF, 0xFA])]) + source.randbytes(source.randrange(8)) if hasattr(source, "randbytes") else b"\xff"
            try:
                keys.decode(garbage)
            except ValueError:
                pass
        for broken in (b"", b"\xff", b"\x01", b"\x01\x85\x01", b"\xfb", b"\xfb\x04a", b"\x00\x00"):
            with self.assertRaises(ValueError):
                keys.decode(broken)


class ValuesTest(unittest.TestCase):
    def test_a_value_comes_back_with_its_type(self):
        source = random.Random(5)
        made = [None, True, False, 0, 1, -1, 127, 128, -128, -129, 1023, 1024, 2**62, -(2**63), 2**100, 0.0, -0.0, 1.5, math.inf, "", "a", "\udcff", b"", b"\x00",
                (1, "a"), [1], {"a": (1, 2)}, {1}, decimal.Decimal("1.10"), datetime.date(2026, 1, 2)]
        made += [source.getrandbits(source.randrange(1, 200)) * source.choice([1, -1]) for _ in range(2000)]
        for value in made:
            back = values.decode(values.encode(value))
            self.assertEqual((type(back), repr(back)), (type(value), repr(value)))

    def test_foreign_bytes_are_refused(self):
        for broken in (b"x", b"f123", b"Tx"):
            with self.assertRaises(ValueError):
                values.decode(broken)


if __name__ == "__main__":
    unittest.main()
