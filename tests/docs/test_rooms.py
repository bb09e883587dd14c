# SPDX-License-Identifier: Apache-2.0
"""What the page of a room names is there.

A room is a folder that opens with an ARCHITECTURE.md. What stands in backticks on such a page is one of these, and nothing else, so that a
reader can look it up and this test can tell when it is gone:
- a path, from the root or from the room: `dfs/name`, `link.h`;
- a name of the code: `Engine`, `Control::Finish`, `kSilence`;
- a target of the build: `millrace_rpc`, `millrace-launch`;
- a test, as GoogleTest or CTest calls it: `HashKeyTest.IsFrozen`, `docs.folders`;
- an option: `worker.sandbox`.
The heading of the page is the folder, and its lines have at most 140 columns.
"""

import functools
import glob
import os
import re
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
COLUMNS = 140
DECLARED = re.compile(r"\b(?:enum class|class|struct|enum|interface|using|namespace) (?:\w+::)*(\w+)|\b([A-Z]\w*)\(|\b(k[A-Z]\w*)\b")
TEST = re.compile(r"^TEST(?:_F|_P)?\((\w+), (\w+)\)", re.MULTILINE)
TARGET = re.compile(r"\b(?:add_executable|add_library|millrace_library|millrace_test)\(([\w-]+)")
CTEST = re.compile(r"\badd_test\(NAME ([\w.${}-]+)")


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as f:
        return f.read()


def pages():
    tops = [top for top in os.listdir(ROOT) if top != "build" and not top.startswith(".")]
    found = [page for top in tops for page in glob.glob(os.path.join(ROOT, top, "**", "ARCHITECTURE.md"), recursive=True)]
    return sorted(os.path.relpath(page, ROOT) for page in found)


class Tree:
    """What the tree has that a page can name."""

    def __init__(self):
        self.words_of = {}  # by source: the words of its code, comments left out
        self.names, self.targets, self.options, self.tests = set(), set(), set(), set()
        self.patterns = []  # of tests that CMake registers in a loop, each with the words of the file that does
        for top in ("base", "client", "cmake", "dfs", "examples", "lab", "master", "schedulers", "tests", "worker"):
            for directory, folders, files in os.walk(os.path.join(ROOT, top)):
                folders.sort()
                for name in sorted(files):
                    self.take(os.path.relpath(os.path.join(directory, name), ROOT))

    def take(self, path):
        if path.endswith((".h", ".cc", ".capnp")):
            text = read(path)
            code = re.sub(r"#.*" if path.endswith(".capnp") else r"//.*", "", text)
            self.words_of[path] = set(re.findall(r"\w+", code))
            self.names.update(name for found in DECLARED.findall(code) for name in found if name)
            self.options.update(re.findall(r'"([a-z_]+\.[a-z_]+)"', code))
            for suite, case in TEST.findall(code):
                self.names.add(suite)
                self.tests.add(f"{suite}.{case}")
        if os.path.basename(path) == "CMakeLists.txt":
            text = read(path)
            self.targets.update(TARGET.findall(text))
            for test in CTEST.findall(text):
                self.tests.add(test)
                if "${name}" in test:
                    pattern = re.escape(test).replace(re.escape("${name}"), r"([\w-]+)")
                    self.patterns.append((re.compile(pattern), set(re.findall(r"[\w-]+", text))))

    def has_test(self, name):
        loops = ((pattern.fullmatch(name), words) for pattern, words in self.patterns)
        return name in self.tests or any(match and match[1] in words for match, words in loops)

    def has_name(self, name):
        first, *rest = name.split("::")
        if first not in self.names:
            return False
        return not rest or any({first, *rest} <= words for words in self.words_of.values())

    def has(self, name, room):
        if name and any(os.path.exists(os.path.join(ROOT, path)) for path in (name, os.path.join(room, name))):
            return True
        if re.fullmatch(r"\w+(::\w+)*", name) and self.has_name(name):
            return True
        return name in self.targets or name in self.options or self.has_test(name)


@functools.lru_cache(maxsize=None)
def tree():
    return Tree()


def faults(text, room):
    """(line, what is wrong) of a page."""
    lines = text.split("\n")
    if lines[0] != f"# {room}":
        yield 1, f"its heading is not # {room}"
    for number, line in enumerate(lines, 1):
        if len(line) > COLUMNS:
            yield number, f"{len(line)} columns"
        if line.count("`") % 2 == 1:
            yield number, "backticks that do not end on their line"
        for name in re.findall(r"`([^`]*)`", line):
            if not tree().has(name, room):
                yield number, f"there is no {name}"


class RoomsTest(unittest.TestCase):
    def test_what_a_page_names_is_there(self):
        self.assertGreater(len(pages()), 10, "this test looks in the wrong place")
        wrong = [f"{page}:{line}: {what}" for page in pages() for line, what in faults(read(page), os.path.dirname(page))]
        if wrong:
            self.fail("\n".join(wrong))

    def test_takes_what_there_is(self):
        for name in ("base/rpc", "link.h", "base/rpc/link.h", "Link", "Link::Reset", "Server", "kSilence", "millrace_rpc", "millrace-launch",
                     "RpcTest", "RpcTest.GarbageCostsItsConnectionOnly", "docs.rooms", "fuzz.status", "cluster.jobs", "worker.sandbox"):
            self.assertEqual(list(faults(f"# base/rpc\n`{name}`", "base/rpc")), [], name)

    def test_finds_what_is_not_there(self):
        for name in ("base/radio", "chain.h", "rpc/link.h", "Chain", "Link::Chain", "Chain::Reset", "kChain", "millrace_chain", "millrace-chain",
                     "ChainTest", "RpcTest.Chains", "docs.chain", "fuzz.chain", "cluster.chain", "worker.chain", "a link", "link", ""):
            self.assertEqual(list(faults(f"# base/rpc\n`{name}`", "base/rpc")), [(2, f"there is no {name}")], name)

    def test_finds_a_page_that_is_not_in_form(self):
        self.assertEqual(list(faults("# base/kv\n", "base/rpc")), [(1, "its heading is not # base/rpc")])
        self.assertEqual(list(faults("# base/rpc\n" + "x" * 141, "base/rpc")), [(2, "141 columns")])
        self.assertEqual(list(faults("# base/rpc\na `link.h", "base/rpc")), [(2, "backticks that do not end on their line")])


if __name__ == "__main__":
    unittest.main()
