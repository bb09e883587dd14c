# SPDX-License-Identifier: Apache-2.0
"""deploy/apt-repository, as apt sees it: a web server with what it made, and an apt with a root of its own that has the keyring package.

The packages are stand-ins, made here. What is changed on its way is refused by apt itself, in the words of gpgv (Debian 12) or sqv (Debian 13).
"""

import functools
import glob
import gzip
import http.server
import lzma
import os
import re
import shutil
import subprocess
import tempfile
import threading
import time
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
APT_REPOSITORY = os.path.join(ROOT, "deploy", "apt-repository")
MISSING = [tool for tool in ("apt-get", "apt-ftparchive", "gpg", "gpgv", "dpkg-deb") if not shutil.which(tool)]
ARCH = subprocess.run(["dpkg", "--print-architecture"], capture_output=True, text=True).stdout.strip() if shutil.which("dpkg") else ""
SUITE = "debian12"
DAY = 86400
NOT_SIGNED_WELL = r"BADSIG|NO_PUBKEY|sqv returned an error|signatures? (were|was) invalid|Signature by key .* is bad"


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def send_head(self):
        del self.headers["If-Modified-Since"]  # which counts in seconds, and files change within one here
        return super().send_head()


def environment(**more):
    given = {name: value for name, value in os.environ.items() if name not in ("SOURCE_DATE_EPOCH", "APT_CONFIG", "DEBFULLNAME", "DEBEMAIL")}
    return {**given, "LC_ALL": "C.UTF-8", **more}


def read(path):
    with open(path, "rb") as f:
        return f.read()


def write(path, content):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(content)


@unittest.skipIf(MISSING, f"needs {', '.join(MISSING)}")
class RepositoryTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.home = tempfile.TemporaryDirectory(prefix="mr-gpg-")  # short: gpg's sockets lie within
        for name in ("old", "new"):
            subprocess.run(["gpg", "--homedir", cls.home.name, "--batch", "--passphrase", "", "--quick-generate-key", f"{name} <{name}@millrace.invalid>", "ed25519", "sign", "never"],
                           check=True, capture_output=True)

    @classmethod
    def tearDownClass(cls):
        subprocess.run(["gpgconf", "--homedir", cls.home.name, "--kill", "all"], check=False, capture_output=True)
        cls.home.cleanup()

    def setUp(self):
        tmp = tempfile.TemporaryDirectory(prefix="millrace-repository-")
        self.addCleanup(tmp.cleanup)
        self.tmp = tmp.name
        self.served = os.path.join(self.tmp, "served")
        os.mkdir(self.served)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=self.served))
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        self.url = f"http://127.0.0.1:{server.server_address[1]}"
        self.now = int(time.time()) - 30 * DAY

    def deb(self, version, says="one"):
        root = os.path.join(self.tmp, "deb", version + says)
        write(os.path.join(root, "DEBIAN/control"), f"Package: millrace\nVersion: {version}\nArchitecture: {ARCH}\nMaintainer: Test <test@millrace.invalid>\nSection: net\nPriority: optional\nDescription: stand-in\n".encode())
        write(os.path.join(root, "usr/share/millrace/says"), says.encode())
        path = f"{root}.deb"
        subprocess.run(["dpkg-deb", "--root-owner-group", "-b", root, path], check=True, capture_output=True, env=environment(SOURCE_DATE_EPOCH=str(self.now)))
        return path

    def publish(self, *debs, day=0, keys=("old",), options=(), status=0, url=None):
        """Runs deploy/apt-repository as of a day; returns what it printed."""
        command = [APT_REPOSITORY, "--url", url or self.url, *(word for key in keys for word in ("--key", key)), "--suite", SUITE, *options, self.served, *debs]
        done = subprocess.run(command, env=environment(GNUPGHOME=self.home.name, SOURCE_DATE_EPOCH=str(self.now + day * DAY)), capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def client(self, name="client"):
        """Makes the root of an apt that has installed the keyring package as it is now served."""
        root = os.path.join(self.tmp, name)
        for directory in ("etc/apt/apt.conf.d", "etc/apt/preferences.d", "var/lib/apt/lists/partial", "var/cache/apt/archives/partial", "var/log"):
            os.makedirs(os.path.join(root, directory))
        write(os.path.join(root, "status"), b"")
        self.install_keyring(root, os.path.join(self.served, SUITE, "millrace-archive-keyring.deb"))
        write(os.path.join(root, "apt.conf"), (f'Dir "{root}"; Dir::State::status "{root}/status"; APT::Architecture "{ARCH}"; APT::Architectures {{ "{ARCH}"; }}; APT::Sandbox::User "";\n'
                                               'Acquire::Languages "none"; Acquire::Retries "0"; Acquire::http::Proxy "DIRECT"; Dir::Bin::Methods "/usr/lib/apt/methods";\n').encode())
        return root

    def install_keyring(self, root, deb):
        subprocess.run(["dpkg-deb", "-x", deb, root], check=True)
        sources = os.path.join(root, "etc/apt/sources.list.d/millrace.sources")
        # apt takes the name of the keyring from the top of the machine, whatever its own root is.
        write(sources, read(sources).replace(b"Signed-By: /", f"Signed-By: {root}/".encode()))

    def apt(self, root, *words):
        done = subprocess.run(words, cwd=root, env=environment(APT_CONFIG=os.path.join(root, "apt.conf")), capture_output=True, text=True, timeout=120)
        return done.returncode, done.stdout + done.stderr

    def update(self, root, status=0):
        code, said = self.apt(root, "apt-get", "update")
        self.assertEqual(code == 0, status == 0, said)
        return said

    def refused(self, root, words):
        """An update fails, in these words, and there is nothing that could be installed."""
        self.assertRegex(self.update(root, status=100), words)
        self.assertEqual(self.versions(root), [])

    def versions(self, root, package="millrace"):
        return re.findall(r"^\s*\S+ \|\s*(\S+) \|", self.apt(root, "apt-cache", "madison", package)[1], re.MULTILINE)

    def fetched(self, root, version):
        """What apt downloads to install this version."""
        code, said = self.apt(root, "apt-get", "install", "--download-only", "-y", "--allow-downgrades", f"millrace={version}")
        self.assertEqual(code, 0, said)
        return read(os.path.join(root, f"var/cache/apt/archives/millrace_{version}_{ARCH}.deb"))

    def at(self, path):
        return os.path.join(self.served, path)

    def change(self, path, was, becomes):
        content = read(self.at(path))
        self.assertIn(was, content)
        write(self.at(path), content.replace(was, becomes))

    def test_installs_from_it_and_a_second_release_keeps_the_first(self):
        one, two = self.deb("0.1.0"), self.deb("0.2.0", "two")
        self.publish(one)
        root = self.client()
        self.update(root)
        self.assertEqual(self.versions(root), ["0.1.0"])
        self.assertEqual(self.fetched(root, "0.1.0"), read(one))
        first = sorted(glob.glob(self.at(f"dists/{SUITE}/main/binary-{ARCH}/by-hash/SHA256/*")))
        self.publish(two, day=1)
        self.update(root)
        self.assertEqual(self.versions(root), ["0.2.0", "0.1.0"])
        self.assertEqual(self.fetched(root, "0.2.0"), read(two))
        os.remove(os.path.join(root, f"var/cache/apt/archives/millrace_0.1.0_{ARCH}.deb"))
        self.assertEqual(self.fetched(root, "0.1.0"), read(one))
        now = glob.glob(self.at(f"dists/{SUITE}/main/binary-{ARCH}/by-hash/SHA256/*"))
        self.assertEqual((len(first), len(now)), (3, 6))
        self.assertLess(set(first), set(now))
        self.assertEqual(len(glob.glob(self.at("pool/*/millrace-archive-keyring_*"))), 1, "the same keys need no other keyring package")

    def test_the_same_again_is_the_same(self):
        one = self.deb("0.1.0")
        self.publish(one)
        before = {path: read(path) for path in glob.glob(self.at("**"), recursive=True) if os.path.isfile(path)}
        self.publish(one)
        after = {path: read(path) for path in glob.glob(self.at("**"), recursive=True) if os.path.isfile(path)}
        signed = {self.at(f"dists/{SUITE}/{name}") for name in ("InRelease", "Release.gpg")}
        self.assertEqual({path for path in {*before, *after} if before.get(path) != after.get(path)} - signed, set())
        self.assertGreater(len(before), 8)

    def test_a_changed_index_is_refused(self):
        self.publish(self.deb("0.1.0"))
        packages = f"dists/{SUITE}/main/binary-{ARCH}/Packages"
        text = read(self.at(packages)).replace(b"stand-in", b"evil one")
        for name in glob.glob(self.at(f"{packages}*")) + glob.glob(self.at(f"dists/{SUITE}/main/binary-{ARCH}/by-hash/SHA256/*")):
            was = read(name)
            write(name, gzip.compress(text) if was.startswith(b"\x1f\x8b") else lzma.compress(text) if was.startswith(b"\xfd7z") else text)
        self.refused(self.client(), "Hash Sum mismatch|File has unexpected size")

    def test_a_changed_release_is_refused_and_what_was_known_stays(self):
        self.publish(self.deb("0.1.0"))
        known = self.client("known")
        self.update(known)
        self.publish(self.deb("0.2.0"), day=1)
        self.change(f"dists/{SUITE}/InRelease", b"Description: Packages", b"Description: packages")
        self.refused(self.client("fresh"), NOT_SIGNED_WELL)
        self.assertRegex(self.update(known), NOT_SIGNED_WELL)
        self.assertEqual(self.versions(known), ["0.1.0"])
        # Without InRelease apt asks for the pair.
        os.remove(self.at(f"dists/{SUITE}/InRelease"))
        self.change(f"dists/{SUITE}/Release", b"Description: Packages", b"Description: packages")
        self.refused(self.client("pair"), NOT_SIGNED_WELL)
        os.remove(self.at(f"dists/{SUITE}/Release.gpg"))
        self.refused(self.client("unsigned"), "is not signed")

    def test_a_changed_package_is_refused(self):
        self.publish(self.deb("0.1.0"))
        root = self.client()
        self.update(root)
        path = f"pool/{SUITE}/millrace_0.1.0_{ARCH}.deb"
        content = bytearray(read(self.at(path)))
        content[-20] ^= 1
        write(self.at(path), bytes(content))
        code, said = self.apt(root, "apt-get", "install", "--download-only", "-y", "millrace")
        self.assertEqual(code, 100, said)
        self.assertRegex(said, "Hash Sum mismatch")
        self.assertEqual(glob.glob(os.path.join(root, "var/cache/apt/archives/*.deb")), [])

    def test_another_key_is_refused(self):
        self.publish(self.deb("0.1.0"))
        root = self.client()
        shutil.rmtree(self.at("dists"))
        self.publish(day=1, keys=("new",))
        self.refused(root, NOT_SIGNED_WELL)

    def test_an_index_that_has_expired_is_refused(self):
        self.publish(self.deb("0.1.0"), options=("--valid-days", "29"))
        self.refused(self.client("late"), "is expired|expired since")
        self.publish(options=("--valid-days", "31"))
        root = self.client("in-time")
        self.update(root)
        self.assertEqual(self.versions(root), ["0.1.0"])

    def test_an_old_index_does_not_take_the_place_of_a_new_one(self):
        self.publish(self.deb("0.1.0"))
        old = os.path.join(self.tmp, "old")
        shutil.copytree(self.served, old)
        self.publish(self.deb("0.2.0"), day=1)
        root = self.client()
        self.update(root)
        shutil.copytree(old, self.served, dirs_exist_ok=True)
        self.update(root)
        self.assertEqual(self.versions(root), ["0.2.0", "0.1.0"])

    def test_who_is_in_the_midst_of_an_update_gets_the_index_that_it_began_with(self):
        self.publish(self.deb("0.1.0"))
        began = read(self.at(f"dists/{SUITE}/InRelease"))
        self.publish(self.deb("0.2.0"), day=1)
        write(self.at(f"dists/{SUITE}/InRelease"), began)
        root = self.client("by-hash")
        self.update(root)
        self.assertEqual(self.versions(root), ["0.1.0"])
        # What makes this work is that the earlier index is there by its hash.
        shutil.rmtree(self.at(f"dists/{SUITE}/main/binary-{ARCH}/by-hash"))
        self.refused(self.client("by-name"), "Hash Sum mismatch|File has unexpected size")

    def test_keys_are_rolled_over(self):
        self.publish(self.deb("0.1.0"))
        follows, sleeps = self.client("follows"), self.client("sleeps")
        self.publish(day=1, keys=("old", "new"))
        verified = subprocess.run(["gpgv", "--keyring", self.at("millrace-archive-keyring.gpg"), self.at(f"dists/{SUITE}/InRelease")], capture_output=True, text=True)
        self.assertEqual((verified.returncode, verified.stderr.count("Good signature")), (0, 2), verified.stderr)
        for root in (follows, sleeps):
            self.update(root)  # one of the two keys is enough
        self.assertEqual(len(self.versions(follows, "millrace-archive-keyring")), 2)
        code, said = self.apt(follows, "apt-get", "install", "--download-only", "-y", "millrace-archive-keyring")
        self.assertEqual(code, 0, said)
        self.install_keyring(follows, glob.glob(os.path.join(follows, "var/cache/apt/archives/millrace-archive-keyring_*.deb"))[0])
        self.publish(self.deb("0.2.0"), day=2, keys=("new",))
        self.update(follows)
        self.assertEqual(self.versions(follows), ["0.2.0", "0.1.0"])
        self.assertRegex(self.update(sleeps), NOT_SIGNED_WELL)
        self.assertEqual(self.versions(sleeps), ["0.1.0"])

    def test_refuses_what_would_break_the_machines_that_follow_it(self):
        self.publish(self.deb("0.1.0"))
        index = read(self.at(f"dists/{SUITE}/InRelease"))
        other = self.publish(self.deb("0.1.0", "something else"), day=1, status=1)
        self.assertIn(f"has millrace_0.1.0_{ARCH}.deb with other contents", other)
        self.assertIn("would be older, which apt refuses", self.publish(self.deb("0.2.0"), day=-1, status=1))
        self.assertIn("0 secret keys that \"nobody@millrace.invalid\" names", self.publish(day=1, keys=("nobody@millrace.invalid",), status=1))
        self.assertIn("2 secret keys that \"millrace.invalid\" names", self.publish(day=1, keys=("millrace.invalid",), status=1))
        self.assertIn("a key is named twice", self.publish(day=1, keys=("old", "old@millrace.invalid"), status=1))
        write(os.path.join(self.tmp, "no.deb"), b"no package")
        self.assertIn("dpkg-deb failed", self.publish(os.path.join(self.tmp, "no.deb"), day=1, status=1))
        self.assertIn("is no address", self.publish(url="ftp:host", status=2))
        self.assertEqual(read(self.at(f"dists/{SUITE}/InRelease")), index)

    def test_a_test_key_is_thrown_away(self):
        command = [APT_REPOSITORY, "--url", self.url, "--make-test-key", "--suite", SUITE, self.served, self.deb("0.1.0")]
        done = subprocess.run(command, env=environment(TMPDIR=self.tmp), capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        root = self.client()
        self.update(root)
        self.assertEqual(self.versions(root), ["0.1.0"])
        self.assertEqual([path for path in os.listdir(self.tmp) if path.startswith(("millrace-apt-", "millrace-key-"))], [])
        shown = subprocess.run(["gpg", "--homedir", self.home.name, "--show-keys", self.at("millrace-archive-keyring.gpg")], capture_output=True, text=True)
        self.assertIn("TEST KEY, trust nothing", shown.stdout)


if __name__ == "__main__":
    unittest.main()
