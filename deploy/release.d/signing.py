# SPDX-License-Identifier: Apache-2.0
"""The keys of gpg that sign a release, and how the commands of deploy that make one fail."""

import contextlib
import os
import shutil
import subprocess
import tempfile


class Failure(Exception):
    """What happened, to which thing, why, and what to do."""


def run(command, **options):
    """Runs a command and returns what it printed; fails with what it complained of."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, **options)
    if done.returncode:
        raise Failure(f"{os.path.basename(command[0])} failed: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout


def check_tools(tools):
    """Fails if a program of {program: package} is missing."""
    missing = [f"{tool} (install the package {package})" for tool, package in tools.items() if not shutil.which(tool)]
    if missing:
        raise Failure(f"missing: {', '.join(missing)}")


class Keys:
    """Secret keys that gpg has, by their fingerprints."""

    def __init__(self, names):
        self.fingerprints = [self.fingerprint(name) for name in names]
        if len(set(self.fingerprints)) != len(names):
            raise Failure("a key is named twice")
        self.public = run(["gpg", "--batch", "--export-options", "export-minimal", "--export", *self.fingerprints])

    @staticmethod
    def fingerprint(name):
        listed = subprocess.run(["gpg", "--batch", "--with-colons", "--list-secret-keys", "--", name], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False).stdout
        lines = [line.split(":") for line in listed.splitlines()]
        found = [after[9] for line, after in zip(lines, lines[1:]) if line[0] == "sec" and after[0] == "fpr"]
        if len(found) != 1:
            raise Failure(f"gpg has {len(found)} secret keys that \"{name}\" names: give the fingerprint of one (gpg --list-secret-keys; GNUPGHOME says where they are)")
        return found[0]

    def sign(self, form, path, to):
        """Signs a file with all keys; form is --clear-sign or --detach-sign."""
        users = [word for fingerprint in self.fingerprints for word in ("--local-user", fingerprint)]
        run(["gpg", "--batch", "--yes", "--digest-algo", "SHA512", *users, "--armor", form, "--output", to, path])


@contextlib.contextmanager
def test_key(wanted):
    """The name of a key that exists only until the end of the block, if one is wanted; its own name says what it is worth."""
    if not wanted:
        yield None
        return
    before = os.environ.get("GNUPGHOME")
    with tempfile.TemporaryDirectory(prefix="millrace-key-") as home:
        os.environ["GNUPGHOME"] = home
        name = "Millrace TEST KEY, trust nothing that it signs <test@millrace.invalid>"
        try:
            run(["gpg", "--batch", "--passphrase", "", "--quick-generate-key", name, "ed25519", "sign", "1d"])
            yield [name]
        finally:
            subprocess.run(["gpgconf", "--kill", "all"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
            del os.environ["GNUPGHOME"]
            if before is not None:
                os.environ["GNUPGHOME"] = before
