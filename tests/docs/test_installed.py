# SPDX-License-Identifier: Apache-2.0
"""The links of the pages that are installed lead to what is installed with them, as cmake/MillraceService.cmake has it."""

import glob
import os
import re
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


def installed():
    """By name below the directory of documentation: the file of the tree."""
    with open(os.path.join(ROOT, "cmake", "MillraceService.cmake")) as f:
        rules = f.read()
    found = {}
    for files, name in re.findall(r"install\(FILES ((?:[\w./]+ )+)COMPONENT runtime DESTINATION \$\{CMAKE_INSTALL_DOCDIR\}(?: RENAME ([\w.]+))?\)", rules):
        for file in files.split():
            found[name or os.path.basename(file)] = os.path.join(ROOT, file)
    kinds = re.search(r"install\(DIRECTORY docs/ COMPONENT runtime DESTINATION \$\{CMAKE_INSTALL_DOCDIR\}/docs\s+FILES_MATCHING ([^)]*)\)", rules)[1]
    for kind in re.findall(r'PATTERN "([^"]*)"', kinds):
        for file in glob.glob(os.path.join(ROOT, "docs", "**", kind), recursive=True):
            found[os.path.relpath(file, ROOT)] = file
    return found


class InstalledPages(unittest.TestCase):
    def test_the_rules_are_understood(self):
        self.assertLessEqual({"README.md", "CHANGELOG.md", "docs/README.md", "docs/use/terminal.md", "docs/schedulers/report.png"}, set(installed()))
        self.assertIn("deploy", installed()["README.md"])

    def test_links_lead_to_what_is_installed(self):
        pages = installed()
        directories = {os.path.dirname(name) for name in pages}
        links = 0
        for name, file in pages.items():
            if not name.endswith(".md"):
                continue
            with open(file) as f:
                text = re.sub(r"```.*?```|`[^`\n]*`", "", f.read(), flags=re.S)
            for link in LINK.findall(text):
                if link.startswith(("http://", "https://")):
                    continue
                links += 1
                target = os.path.normpath(os.path.join(os.path.dirname(name), link))
                self.assertTrue(target in pages or target in directories, f"{name} has a link to {link}, which is not installed")
        self.assertGreater(links, 50)

    def test_the_first_page_names_nothing_of_the_tree(self):
        with open(installed()["README.md"]) as f:
            text = f.read()
        self.assertNotRegex(text, r"\b(deploy|tests|examples|build|cmake)/")


if __name__ == "__main__":
    unittest.main()
