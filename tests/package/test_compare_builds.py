# SPDX-License-Identifier: Apache-2.0
"""deploy/compare-builds names what differs, down to the file within a package, and says nothing of what does not."""

import gzip
import hashlib
import io
import json
import os
import shutil
import subprocess
import tarfile
import tempfile
import unittest
import zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
COMPARE = os.path.join(ROOT, "deploy", "compare-builds")


def tar(mtime=1, **files):
    into = io.BytesIO()
    with tarfile.open(fileobj=into, mode="w") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size, member.mtime = len(content), mtime
            archive.addfile(member, io.BytesIO(content))
    return into.getvalue()


def ar(**files):
    content = b"!<arch>\n"
    for name, data in files.items():
        content += f"{name:<16}{0:<12}{0:<6}{0:<6}{'100644':<8}{len(data):<10}`\n".encode() + data + b"\n" * (len(data) % 2)
    return content


def zipped(**files):
    into = io.BytesIO()
    with zipfile.ZipFile(into, "w") as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0)), content)
    return into.getvalue()


class CompareBuildsTest(unittest.TestCase):
    def setUp(self):
        tmp = tempfile.TemporaryDirectory(prefix="millrace-compare-")
        self.addCleanup(tmp.cleanup)
        self.tmp = tmp.name

    def put(self, **sides):
        for side, files in sides.items():
            for name, content in files.items():
                path = os.path.join(self.tmp, side, name)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "wb") as f:
                    f.write(content)

    def compare(self, status, *options):
        done = subprocess.run([COMPARE, "a", "b", *options], cwd=self.tmp, capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (status, ""), done.stdout)
        *lines, last = done.stdout.splitlines()
        return lines, last

    def test_the_same_is_the_same_but_for_signatures(self):
        same = {"x/p.deb": ar(data=gzip.compress(tar(one=b"1"))), "text": b"t"}
        self.put(a={**same, "SHA256SUMS.asc": b"1", "dists/s/InRelease": b"1"}, b={**same, "SHA256SUMS.asc": b"2", "dists/s/InRelease": b"1"})
        self.assertEqual(self.compare(0), ([], "2 of 2 files are the same byte for byte, 0 are not; not compared: the contents of 2 signatures"))

    def test_names_what_differs_within(self):
        self.put(a={"p.deb": ar(control=b"c", data=gzip.compress(tar(one=b"1", two=b"same"), mtime=0)), "w.whl": zipped(one=b"12", two=b"2"), "only": b"", "same": b"s"},
                 b={"p.deb": ar(control=b"c", data=gzip.compress(tar(one=b"01", two=b"same"), mtime=0)), "w.whl": zipped(one=b"13", three=b"2"), "same": b"s", "x.asc": b""})
        self.assertEqual(self.compare(1), (["only: only in A",
                                           "p.deb > data > (uncompressed) > one: 1 and 2 bytes, different from byte 0 on",
                                           "w.whl > one: 2 and 2 bytes, different from byte 1 on", "w.whl > two: only in A", "w.whl > three: only in B",
                                           "x.asc: only in B"],
                                          "1 of 5 files are the same byte for byte, 4 are not; not compared: the contents of 0 signatures"))

    def test_names_times_order_and_packing(self):
        self.put(a={"mtimes": tar(one=b"1", two=b"2"), "order": zipped(one=b"1", two=b"2"), "packing": gzip.compress(b"x" * 99, mtime=1)},
                 b={"mtimes": tar(one=b"1", two=b"2", mtime=2), "order": zipped(two=b"2", one=b"1"), "packing": gzip.compress(b"x" * 99, mtime=2)})
        lines, _ = self.compare(1)
        self.assertRegex(lines[0], r"^mtimes: 2 of its members have another time, owner or mode, the first is one \(.*, 1, .* and .*, 2, .*\)$")
        self.assertEqual(lines[1:], ["order: its members are in another order", "packing: what is within is the same, and how it is packed is not"])

    def test_names_the_file_in_the_layer_of_an_image(self):
        def image(text):
            blobs = {}

            def blob(content):
                digest = hashlib.sha256(content).hexdigest()
                blobs["blobs/sha256/" + digest] = content
                return {"digest": "sha256:" + digest}
            layers = [blob(gzip.compress(tar(base=b"b"), mtime=0)), blob(gzip.compress(tar(text=text), mtime=0))]
            manifest = blob(json.dumps({"config": blob(b"{}"), "layers": layers}).encode())
            return tar(**{"oci-layout": b"{}", "index.json": json.dumps({"manifests": [manifest]}).encode(), **blobs})
        self.put(a={"i.oci.tar": image(b"one"), "same": image(b"one")}, b={"i.oci.tar": image(b"two"), "same": image(b"one")})
        lines, _ = self.compare(1)
        self.assertIn("i.oci.tar > layer 2 > (uncompressed) > text: 3 and 3 bytes, different from byte 0 on", lines)
        self.assertEqual({line.split(":")[0].split(" > ")[1] for line in lines}, {"manifest", "layer 2"}, "the manifest has the digest of the layer")

    def test_two_files(self):
        self.put(a={"1": b"same"})
        for name, content in (("x", b"same"), ("y", b"sama")):
            with open(os.path.join(self.tmp, name), "wb") as f:
                f.write(content)
        done = subprocess.run([COMPARE, "x", "y"], cwd=self.tmp, capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout.splitlines()[0]), (1, "x: 4 and 4 bytes, different from byte 3 on"))

    def test_wrong_usage(self):
        for command in (["a", "nowhere"], ["a", "a"]):
            os.makedirs(os.path.join(self.tmp, "a"), exist_ok=True)
            self.assertEqual(subprocess.run([COMPARE, *command], cwd=self.tmp, capture_output=True).returncode, 2, command)

    @unittest.skipUnless(shutil.which("diffoscope"), "needs diffoscope")
    def test_details(self):
        self.put(a={"x/text": b"one\n"}, b={"x/text": b"two\n"})
        self.compare(1, "--details", "details")
        with open(os.path.join(self.tmp, "details", "x_text.txt"), encoding="utf-8") as f:
            self.assertIn("-one\n+two\n", f.read())


if __name__ == "__main__":
    unittest.main()
