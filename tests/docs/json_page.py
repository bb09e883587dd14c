# SPDX-License-Identifier: Apache-2.0
"""What docs/use/json.md says of the JSON that commands print, as something that values can be held against.

A section is a heading with the commands that it is about, a line that begins with the shape ("One object", "An array", "An object for
each"), and a table of fields. Sections of shared objects are those whose headings have no command.
"""

import json
import os
import re

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGE = os.path.join(ROOT, "docs", "use", "json.md")
SHAPES = ("One object", "An array", "An object for each")
SCALARS = {"text", "integer", "number", "boolean", "bytes", "seconds", "instant", "fraction", "object", "array"}


def _number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _whole(value):
    return isinstance(value, int) and not isinstance(value, bool)


CHECKS = {
    "text": lambda value: isinstance(value, str),
    "integer": _whole,
    "number": _number,
    "boolean": lambda value: isinstance(value, bool),
    "bytes": lambda value: _whole(value) and value >= 0,
    "seconds": _number,
    "instant": lambda value: _number(value) and 1e9 < value < 1e11,  # a number in other units would be far off
    "fraction": lambda value: _number(value) and 0 <= value <= 1,
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
}


class Type:
    """A type of a row: "text", "instant or null", "array of text", "one of `a`, `b`", "[job](#a-job)"."""

    def __init__(self, text):
        self.text = text
        self.optional = text.endswith(", optional")
        text = text.removesuffix(", optional")
        self.array = text.startswith("array of ")
        text = text.removeprefix("array of ")
        self.nullable = text.endswith(" or null")
        text = text.removesuffix(" or null")
        self.shared = self.choices = None
        self.names = []
        if link := re.fullmatch(r"\[[a-z ]+\]\(#([a-z-]+)\)", text):
            self.shared = link[1]
        elif text.startswith("one of "):
            self.choices = re.findall(r"`([^`]+)`", text)
        else:
            self.names = text.removeprefix("any of ").split(", ")
            if unknown := set(self.names) - SCALARS:
                raise ValueError(f"{PAGE}: {unknown} is no type")

    def fits(self, value):
        if self.array:
            return isinstance(value, list) and all(self._fits_one(one) for one in value)
        return self._fits_one(value)

    def _fits_one(self, value):
        if value is None:
            return self.nullable
        if self.choices:
            return value in self.choices
        return any(CHECKS[name](value) for name in self.names)


class Node:
    """A place in a value: the keys of an object, the elements of an array, or a value with a type."""

    def __init__(self):
        self.keys, self.each, self.type, self.row = {}, None, None, None

    def at(self, path):
        node = self
        for word in path.split("."):
            name, arrays = word.replace("[]", ""), word.count("[]")
            node = node.keys.setdefault(name, Node())
            for _ in range(arrays):
                node.each = node.each or Node()
                node = node.each
        return node

    @property
    def optional(self):
        return self.type is not None and self.type.optional


class Section:
    def __init__(self, title, text):
        self.title = title
        self.commands = re.findall(r"`millrace ([^`]+)`", title)
        self.anchor = re.sub(r"[^a-z0-9 -]", "", title.lower()).replace(" ", "-")
        first = next((line for line in text.splitlines() if line.strip()), "")
        self.shape = next((shape for shape in SHAPES if first.startswith(shape)), None)
        self.rows = []  # (path, Type), as they stand
        for line in text.splitlines():
            if row := re.match(r"\| (\.\.\.|`[^|]*`) \| ([^|]+) \|", line):
                for path in re.findall(r"`([^`]+)`", row[1]) or ["..."]:
                    if line.count("|") >= 4:
                        self.rows.append((path, Type(row[2].strip())))


class Page:
    def __init__(self):
        with open(PAGE, encoding="utf-8") as f:
            self.text = f.read()
        parts = re.split(r"^##+ (.+)$", self.text, flags=re.MULTILINE)
        self.sections = []
        self.events = {}
        for title, text in zip(parts[1::2], parts[2::2]):
            if title.startswith("`millrace job history"):
                text, _, events = text.partition("| event | fields |")
                self._read_events(events)
            if "| field |" in text:
                self.sections.append(Section(title, text))
        self.shared = {section.anchor: section for section in self.sections if not section.commands}
        self.of_command = {command: section for section in self.sections for command in section.commands}

    def _read_events(self, text):
        for line in text.splitlines():
            if row := re.match(r"\| (`[^|]*`) \| ([^|]+) \|", line):
                plain = re.sub(r"\([^)]*\)", "", row[2])
                fields = re.findall(r"`([^`]+)` ([a-z ]+)", plain)
                for name in re.findall(r"`([^`]+)`", row[1]):
                    self.events[name] = [(path, Type(words.strip())) for path, words in fields]

    def rows(self, section):
        """(path, type, where it stands) of each row of a section, those of shared objects in their places: where is the title of the
        section that has the row, and the path there."""
        for path, kind in section.rows:
            if not kind.shared or path != "...":
                yield path, kind, (section.title, path)
            if not kind.shared:
                continue
            prefix = "" if path == "..." else path + "."
            for below, other, where in self.rows(self.shared[kind.shared]):
                yield prefix + below, other, where

    def tree(self, rows):
        root = Node()
        for path, kind, where in rows:
            node = root.at(path)
            node.type, node.row = kind, where
        return root


class Checker:
    """Holds values against the page, and remembers what was seen of each row."""

    def __init__(self):
        self.page = Page()
        self.wrong = []
        self.seen = {}  # where a row stands -> the kinds of values seen: "null", "value"

    def elements(self, section, text):
        """The objects that a command has printed."""
        if section.shape == "An object for each":
            return [json.loads(line) for line in text.splitlines()]
        value = json.loads(text)
        if section.shape == "One object":
            return [value]
        if not isinstance(value, list):
            raise AssertionError(f"{section.title}: {text[:80]!r} is no array")
        return value

    def check(self, command, text):
        """Checks what `millrace command ... --json` has printed. Returns its objects."""
        section = self.page.of_command[command]
        objects = self.elements(section, text)
        for value in objects:
            rows = list(self.page.rows(section))
            if command == "job history":
                rows += [(path, kind, (value.get("event"), path)) for path, kind in self.page.events.get(value.get("event"), [])]
                if value.get("event") not in self.page.events and value.get("event") not in ("woken", "restart", "decide"):
                    self.wrong.append(f"job history: the kind {value.get('event')!r} is not on the page")
            self._check(self.page.tree(rows), value, "", command)
        return objects

    def check_shared(self, anchor, value):
        """Checks a value against the section of a shared object."""
        section = self.page.shared[anchor]
        self._check(self.page.tree(self.page.rows(section)), value, "", section.title)

    def _say(self, command, path, what):
        line = f"{command}: {path or 'the object'}: {what}"
        if line not in self.wrong:
            self.wrong.append(line)

    def _check(self, node, value, path, command):
        if node.row:
            self.seen.setdefault(node.row, set()).add("null" if value is None else "value")
        if value is None:
            if node.type is None or not node.type.nullable:
                self._say(command, path, f"null, which the page does not allow ({node.type.text if node.type else 'an object'})")
            return
        if node.each is not None:
            if not isinstance(value, list):
                self._say(command, path, f"{value!r} is no array")
                return
            for one in value:
                self._check(node.each, one, path + "[]", command)
            return
        if node.keys:
            self._check_object(node, value, path, command)
            return
        if node.type is None or not node.type.fits(value):
            self._say(command, path, f"{json.dumps(value)[:100]} is not {node.type.text if node.type else 'described'}")

    def _check_object(self, node, value, path, command):
        if not isinstance(value, dict):
            self._say(command, path, f"{json.dumps(value)[:100]} is no object")
            return
        prefix = path + "." if path else ""
        if "*" in node.keys:
            for key in value:
                self._check(node.keys["*"], value[key], prefix + "*", command)
            return
        for key, one in value.items():
            if key in node.keys:
                self._check(node.keys[key], one, prefix + key, command)
            elif not (key.endswith("_encoding") and key.removesuffix("_encoding") in value and one == "percent"):
                self._say(command, prefix + key, f"{json.dumps(one)[:100]} is not on the page")
        for key, below in node.keys.items():
            if key not in value and not below.optional:
                self._say(command, prefix + key, "is not there")

    def unseen(self):
        """(title, path, what) of each row that no command has printed: its value, or its null."""
        for section in self.page.sections:
            for path, kind in section.rows:
                if path == "...":
                    continue  # the fields of the shared object have rows of their own
                found = self.seen.get((section.title, path), set())
                if "value" not in found:
                    yield section.title, path, "value"
                if kind.nullable and not kind.array and "null" not in found:
                    yield section.title, path, "null"
