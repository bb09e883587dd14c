# SPDX-License-Identifier: Apache-2.0
"""deploy/build-release and deploy/bill-of-materials, over a small project with a commit of its own in place of Millrace.

The scripts are those of this tree; what they call to build Millrace is replaced by a program of one file that is compiled, linked and packed in a second.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DEPLOY = os.path.join(ROOT, "deploy")
MISSING = [tool for tool in ("apt-ftparchive", "cmake", "dpkg-deb", "git", "gpg", "gpgv", "help2man", "ninja") if not shutil.which(tool)]
PROJECT = {
    "CMakeLists.txt": """cmake_minimum_required(VERSION 3.25)
project(small C CXX)
option(MILLRACE_TESTS "" ON)
add_executable(small main.cc)
target_compile_options(small PRIVATE "-ffile-prefix-map=${PROJECT_SOURCE_DIR}=.")
target_link_libraries(small PRIVATE ${STATIC})
""",
    "main.cc": '#include <zlib.h>\n#include <cstdio>\nint main() { return std::puts(__FILE__) + std::puts(zlibVersion()); }\n',
    "deploy/build-packages": """#!/bin/sh
set -eu
cd "$(dirname "$0")/.."
[ "$1" = --arch ]
static=$(c++ -print-file-name=libz.a)
cmake -G Ninja -B build/release -DSTATIC="$static" >/dev/null
cmake --build build/release >/dev/null
mkdir -p root/usr/bin root/DEBIAN
cp build/release/small root/usr/bin
strip root/usr/bin/small
printf 'Package: millrace\\nVersion: 0.1.0\\nArchitecture: %s\\nMaintainer: Test <t@millrace.invalid>\\nDepends: libc6 (>= 2.30), nothing | libstdc++6, awk, missing-of-debian (>= 1)\\nSection: net\\nDescription: small\\n' "$2" >root/DEBIAN/control
dpkg-deb --root-owner-group -b root "$3/millrace_0.1.0_$2.deb" >/dev/null
echo "cache: ${CCACHE_DISABLE:-used}, flags: ${CXXFLAGS:-none}, date: $SOURCE_DATE_EPOCH"
""",
    "deploy/build-wheel": """#!/usr/bin/env python3
import json, os, subprocess, sys, zipfile
assert sys.argv[1] == "--build", sys.argv
subprocess.run(["cmake", "-G", "Ninja", "-B", sys.argv[2], "-DSTATIC=z"], check=True, stdout=subprocess.DEVNULL)
subprocess.run(["cmake", "--build", sys.argv[2]], check=True, stdout=subprocess.DEVNULL)
noted = {"components": [{"type": "library", "name": "fmt", "version": "9", "bom-ref": "pkg:generic/fmt@9"}]}
with zipfile.ZipFile(os.path.join(sys.argv[3], "millrace-0.1.0-py3-none-any.whl"), "w") as wheel:
    for name, content in (("millrace.libs/libz.so.1", b"a library"), ("millrace-0.1.0.dist-info/sboms/sources.json", json.dumps(noted))):
        wheel.writestr(zipfile.ZipInfo(name, (2026, 10, 1, 0, 0, 0)), content)
""",
}


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, timeout=300, **options)


def read(path):
    with open(path, "rb") as f:
        return f.read()


@unittest.skipIf(MISSING, f"needs {', '.join(MISSING)}")
class ReleaseTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.tmp = tempfile.TemporaryDirectory(prefix="mr-rel-")  # short: gpg's sockets lie within
        cls.tree = os.path.join(cls.tmp.name, "tree")
        shutil.copytree(DEPLOY, os.path.join(cls.tree, "deploy"), ignore=shutil.ignore_patterns("ansible", "__pycache__"))
        for name, text in PROJECT.items():
            with open(os.path.join(cls.tree, name), "w", encoding="utf-8") as f:
                f.write(text)
        for name in ("build-packages", "build-wheel"):
            os.chmod(os.path.join(cls.tree, "deploy", name), 0o755)
        tools = os.path.join(cls.tmp.name, "tools")  # asked for, and not run by what stands in for the build of wheels
        os.mkdir(tools)
        os.symlink("/bin/false", os.path.join(tools, "nasm"))
        cls.environment = {**{name: value for name, value in os.environ.items() if name != "SOURCE_DATE_EPOCH"}, "GNUPGHOME": os.path.join(cls.tmp.name, "gpg"), "CXXFLAGS": "-O0",
                           "PATH": os.environ["PATH"] + os.pathsep + tools}
        os.mkdir(cls.environment["GNUPGHOME"], 0o700)
        run("gpg", "--batch", "--passphrase", "", "--quick-generate-key", "release <r@millrace.invalid>", "ed25519", "sign", "never", env=cls.environment, check=True)
        git = ("git", "-C", cls.tree, "-c", "user.name=t", "-c", "user.email=t@millrace.invalid", "-c", "commit.gpgsign=false")
        for command in (("init", "-q"), ("add", "-A"), ("commit", "-q", "-m", "one", "--date", "2026-10-01T00:00:00Z")):
            run(*git, *command, env={**cls.environment, "GIT_COMMITTER_DATE": "2026-10-01T00:00:00Z"}, check=True)
        cls.commit = run("git", "-C", cls.tree, "rev-parse", "HEAD", check=True).stdout.strip()

    @classmethod
    def tearDownClass(cls):
        run("gpgconf", "--kill", "all", env=cls.environment)
        cls.tmp.cleanup()

    def release(self, name, *options, status=0, **more):
        """Builds a release into NAME; returns the directory and what was printed."""
        to = os.path.join(self.tmp.name, name)
        arch = run("dpkg", "--print-architecture").stdout.strip()
        done = run(os.path.join(self.tree, "deploy", "build-release"), "--url", "https://millrace.invalid/apt", "--key", "release", "--suite", "debian12", "--arch", arch, *options, to,
                   env={**self.environment, **more})
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return to, done.stdout + done.stderr

    def test_two_releases_at_two_paths_are_the_same(self):
        parts = ("--only", "packages,wheels,repository,sboms,provenance")
        one, said = self.release("one", *parts, "--work", os.path.join(self.tmp.name, "here"))
        self.assertIn("cache: 1, flags: none, date: 1790812800", said)
        self.assertIn("left out: image, ", said)
        two, _ = self.release("two", *parts, "--work", os.path.join(self.tmp.name, "some", "where", "else"))
        compared = run(os.path.join(DEPLOY, "compare-builds"), one, two)
        self.assertEqual(compared.returncode, 0, compared.stdout)
        self.assertRegex(compared.stdout, r"^(\d+) of \1 files are the same")

        files = os.path.join(one, "files")
        names = sorted(os.listdir(files))
        deb = next(name for name in names if re.fullmatch(r"millrace_0.1.0_\w+\.deb", name))
        self.assertEqual(names, sorted([deb, deb + ".cdx.json", "millrace-0.1.0-py3-none-any.whl", "millrace-0.1.0-py3-none-any.whl.cdx.json",
                                        "millrace-archive-keyring_debian12.deb", "provenance.json", "provenance.json.asc", "SHA256SUMS", "SHA256SUMS.asc"]))
        checked = run("sha256sum", "--check", "--strict", "SHA256SUMS", cwd=files)
        self.assertEqual((checked.returncode, checked.stdout.count(": OK\n")), (0, 6), checked.stdout)
        keyring = os.path.join(one, "apt", "millrace-archive-keyring.gpg")
        for name in ("SHA256SUMS", "provenance.json"):
            self.assertEqual(run("gpgv", "--keyring", keyring, name + ".asc", name, cwd=files).returncode, 0, name)
        with open(os.path.join(files, "SHA256SUMS"), "a", encoding="utf-8") as f:
            f.write("0" * 64 + "  evil.deb\n")
        self.assertIn("BAD signature", run("gpgv", "--keyring", keyring, "SHA256SUMS.asc", "SHA256SUMS", cwd=files).stderr)

        statement = json.loads(read(os.path.join(files, "provenance.json")))
        self.assertEqual((statement["_type"], statement["predicateType"]), ("https://in-toto.io/Statement/v1", "https://slsa.dev/provenance/v1"))
        self.assertEqual({subject["name"]: subject["digest"]["sha256"] for subject in statement["subject"]},
                         {name: hashlib.sha256(read(os.path.join(files, name))).hexdigest() for name in names if not name.startswith(("provenance", "SHA256SUMS"))})
        inputs = statement["predicate"]["buildDefinition"]["resolvedDependencies"]
        self.assertIn({"uri": "urn:millrace:source", "digest": {"gitCommit": self.commit}}, inputs)
        version = run("dpkg-query", "-W", "-f", "${Version}", "cmake").stdout.replace("+", "%2B")
        self.assertTrue(any(entry["uri"].startswith(f"pkg:deb/debian/cmake@{version}?") for entry in inputs), inputs)

        bill = json.loads(read(os.path.join(files, deb + ".cdx.json")))
        self.assertEqual(bill["metadata"]["component"]["hashes"], [{"alg": "SHA-256", "content": hashlib.sha256(read(os.path.join(files, deb))).hexdigest()}])
        how = {component["name"]: component["properties"][0]["value"] for component in bill["components"]}
        self.assertEqual({name: how.get(name) for name in ("zlib1g-dev", "libc6", "libstdc++6", "d3")},
                         {"zlib1g-dev": "linked statically", "libc6": "used at run time, a package of its own", "libstdc++6": "used at run time, a package of its own", "d3": "part of the source tree"})
        self.assertTrue({"mawk", "gawk", "original-awk", "busybox"} & set(how), "a name that other packages provide")
        self.assertEqual(how["missing-of-debian"], "used at run time, a package of its own; not on the machine that built it")
        wheel = json.loads(read(os.path.join(files, "millrace-0.1.0-py3-none-any.whl.cdx.json")))
        how_of_wheel = {component["name"]: component["properties"][0]["value"] for component in wheel["components"]}
        self.assertEqual({name: how_of_wheel.get(name) for name in ("zlib1g-dev", "millrace.libs/libz.so.1", "fmt")},
                         {"zlib1g-dev": "headers compiled in", "millrace.libs/libz.so.1": "brought as a shared library", "fmt": "noted in the wheel's sources.json"})
        self.assertEqual(bill["dependencies"][0]["dependsOn"], sorted(component["bom-ref"] for component in bill["components"]))

    def test_what_a_part_lacks_ends_it_before_anything_is_built(self):
        tool = os.path.join(self.tmp.name, "bin")
        os.mkdir(tool)
        for name in ("python3", "git", "gpg", "gpgv", "gpg-agent", "gpgconf", "dpkg", "env", "cmake", "ninja"):
            os.symlink(shutil.which(name) or "/usr/bin/" + name, os.path.join(tool, name))
        to, said = self.release("nothing", "--only", "packages", status=1, PATH=tool)
        self.assertIn("missing: help2man (install the package help2man)", said)
        self.assertFalse(os.path.exists(to))
        for options, words in ((("--only", "repository"), "add packages to --only"), (("--make-test-key",), "not allowed with argument --key"), (("--only", "provenance,sboms"), "nothing that an SBOM would be of"), (("--only", "everything"), "is none of packages, wheels")):
            to, said = self.release("nothing", *options, status=2)
            self.assertIn(words, said)
            self.assertFalse(os.path.exists(to))


if __name__ == "__main__":
    unittest.main()
