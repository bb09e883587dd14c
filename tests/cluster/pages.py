# SPDX-License-Identifier: Apache-2.0
"""The commands of pages: what stands in code blocks without a language."""

import re

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(path, language=""):
    """The code blocks of a page with this language, in their order."""
    with open(path, encoding="utf-8") as f:
        return [text for named, text in BLOCK.findall(f.read()) if named == language]


def commands(path):
    """The commands of a page, a line each; one that ends with a backslash goes on in the next."""
    text = "".join(blocks(path)).replace("\\\n", " ")
    return [line for line in text.splitlines() if line.strip()]
