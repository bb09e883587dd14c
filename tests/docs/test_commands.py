# SPDX-License-Identifier: Apache-2.0
"""test_commands.py MILLRACE: the commands in the pages below exist, and so do their options.

A command is what begins with `millrace` in a code span or in a line of a block of code; it ends at a pipe, a semicolon, `&&`, a redirection or
a remark. Its verb is looked up in the help, and so is each of its options.
"""

import functools
import glob
import os
import re
import shlex
import subprocess
import sys
import unittest

MILLRACE = sys.argv[1]
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGES = sorted(glob.glob(os.path.join(ROOT, "docs", "use", "*.md")) + glob.glob(os.path.join(ROOT, "docs", "operate", "*.md"))) + [os.path.join(ROOT, "README.md")]
SPAN = re.compile(r"`(millrace [^`]+)`")
GLOBAL = ("--master", "--wait", "--tls")
# Alternatives of another program in the same command line: what comes after is not ours.
ENDS = {"|", ";", "&&", "||", ">", ">>", "<", "2>", "&", "--"}


@functools.lru_cache(maxsize=None)
def help_of(*words):
    """The help of a verb, or None if there is no such verb."""
    done = subprocess.run([MILLRACE, *words, "--help"], capture_output=True, text=True, check=False, timeout=60, stdin=subprocess.DEVNULL)
    return done.stdout if done.returncode == 0 and re.search(r"^Usage: millrace " + " ".join(words) + r"\b", done.stdout, re.MULTILINE) else None


def commands(text):
    """The command lines of a page, each with its line."""
    fenced = False
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif fenced:
            for found in re.finditer(r"(?:^|[;&|(]\s*|sudo -u millrace |^export \S+ && )(millrace [^;&|)]*)", line.strip()):
                yield number, found[1]
        else:
            for found in SPAN.finditer(line):
                yield number, found[1]


def words_of(command):
    """The words of one command after `millrace`, up to what is not part of it."""
    command = re.split(r"\s+#|\s\.\.\.", command)[0]
    try:
        words = shlex.split(command)[1:]
    except ValueError:
        words = command.split()[1:]
    while words and words[0].split("=")[0] in GLOBAL:
        words = words[1 if "=" in words[0] else 2:]
    end = next((i for i, word in enumerate(words) if word in ENDS), len(words))
    return words[:end]


def options_in(text):
    """The options that a help lists: --long and -s."""
    columns = re.findall(r"^  (-\S+)", text, re.MULTILINE)
    return {name for column in columns for name in column.split(",")}


def faults_of(words):
    """What is wrong with a command, as texts."""
    if not words or words[0].startswith("--") or words[0].isupper():
        return []
    verb = [words[0]]
    if words[0] in ("help",):
        return faults_of(words[1:])
    if len(words) > 1 and help_of(*words[:2]):
        verb = words[:2]
    text = help_of(*verb)
    if text is None:
        return ["there is no command " + " ".join(words[:2])]
    if verb == [words[0]] and f"Usage: millrace {verb[0]} COMMAND" in text and len(words) > 1 and re.fullmatch(r"[a-z][a-z-]*", words[1]):
        return ["there is no command " + " ".join(words[:2])]
    known, wrong = options_in(text), []
    for word in words[len(verb):]:
        if verb == ["local"] and word in ("run",):
            return wrong + faults_of(["local", *words[words.index("run"):]])
        name = word.split("=")[0]
        if not name.startswith("-") or name == "-" or re.fullmatch(r"-\d+", name) or name in known or "-" + name in known or name == "--help":
            continue
        if not name.startswith("--") and all("-" + letter in known for letter in name[1:]):
            continue
        wrong.append(f"{' '.join(verb)} has no option {name}")
    return wrong


class Commands(unittest.TestCase):
    def test_commands_of_the_pages_exist_with_their_options(self):
        wrong, seen = [], 0
        for path in PAGES:
            with open(path, encoding="utf-8") as f:
                text = f.read()
            for number, command in commands(text):
                words = words_of(command)
                seen += bool(words)
                wrong += [f"{os.path.relpath(path, ROOT)}:{number}: {command}: {what}" for what in faults_of(words)]
        self.assertGreater(seen, 250)
        self.assertEqual(wrong, [])

    def test_what_is_wrong_is_found(self):
        for command, what in (("millrace job lst", "there is no command job lst"), ("millrace jobs", "there is no command jobs"),
                              ("millrace job list --lives", "job list has no option --lives"), ("millrace fs ls -Q /", "fs ls has no option -Q"),
                              ("millrace --master a:1 node list --wid | head", "node list has no option --wid"), ("millrace local --worker 2 run JOB", "local has no option --worker"),
                              ("millrace local run JOB --in-proces", "local run has no option --in-proces")):
            self.assertEqual(faults_of(words_of(command)), [what], command)
        for command in ("millrace fs du -sh /in", "millrace fs find / -name '*.log' -mtime +7", "millrace fs tail -20 /a", "millrace run wordcount /in -o /out -D a=b",
                        "millrace job list --json | jq .", "millrace help job list", "millrace fs"):
            self.assertEqual(faults_of(words_of(command)), [], command)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
