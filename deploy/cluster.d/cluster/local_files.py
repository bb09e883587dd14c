# SPDX-License-Identifier: Apache-2.0
"""Files and directories of this machine that are brought to a cluster, and directories that come back."""

import hashlib
import os
import shutil
import stat
import tempfile

from cluster.failure import Failure, WrongUse

PIECE = 1 << 20


def _reading(path):
    try:
        return open(path, "rb")
    except OSError as error:
        raise WrongUse(f'"{path}" cannot be read: {error.strerror}') from None


def checksum(path):
    """The SHA-256 of a file, and its size."""
    digest, size = hashlib.sha256(), 0
    with _reading(path) as f:
        while piece := f.read(PIECE):
            digest.update(piece)
            size += len(piece)
    return digest.hexdigest(), size


def checked_pieces(path, size, sha256):
    """The bytes of a file. The last of them come only if the file is still the one that had this size and checksum."""
    digest, held = hashlib.sha256(), b""
    with _reading(path) as f:
        while size > 0:
            piece = f.read(min(PIECE, size))
            if not piece:
                break
            size -= len(piece)
            digest.update(piece)
            if held:
                yield held
            held = piece
    if size > 0 or digest.hexdigest() != sha256:
        raise Failure(f'"{path}" changed while it was sent')
    if held:
        yield held


class Input:
    """A file, or a directory with all below it. Links are followed to files, and not to directories, which could lead in a circle."""

    def __init__(self, path):
        self.path = path
        self.name = os.path.basename(os.path.abspath(path))
        self.directories, self.files = [], []  # relative; "" is the path itself
        if os.path.isdir(path):
            if not self.name:
                raise WrongUse(f'"{path}" is a whole file system; name a directory')
            self._walk()
        else:
            self._add("", path)
        self.files = [(name, *reversed(checksum(self.full(name)))) for name in self.files]
        digest = hashlib.sha256()
        for name in self.directories:
            digest.update(b"d" + os.fsencode(name) + b"\0")
        for name, size, found in self.files:
            digest.update(b"f" + os.fsencode(name) + b"\0" + f"{size} {found}".encode() + b"\0")
        self.sha256 = digest.hexdigest()

    def _walk(self):
        def refuse(error):
            raise WrongUse(f'"{error.filename}" cannot be read: {error.strerror}')
        for directory, below, names in os.walk(self.path, onerror=refuse):
            below.sort()
            for name in below:
                if os.path.islink(os.path.join(directory, name)):
                    raise WrongUse(f'"{os.path.join(directory, name)}" is a link to a directory, which is not followed; name the directory itself')
            relative = os.path.relpath(directory, self.path)
            self.directories.append("" if relative == "." else relative)
            for name in sorted(names):
                self._add(os.path.normpath(os.path.join(relative, name)), os.path.join(directory, name))

    def _add(self, name, path):
        try:
            about = os.stat(path)
        except OSError as error:
            raise WrongUse(f'"{path}" cannot be read: {error.strerror}') from None
        if not stat.S_ISREG(about.st_mode):
            raise WrongUse(f'"{path}" is no file')
        self.files.append(name)

    def full(self, name):
        return os.path.join(self.path, name) if name else self.path

    def about(self):
        """What the other side is told: the name, the checksum of names and bytes, and what is in it."""
        return {"name": self.name, "sha256": self.sha256, "directories": self.directories, "files": [[name, size] for name, size, _ in self.files]}

    def size(self):
        return sum(size for _, size, _ in self.files)

    def pieces(self):
        """The bytes of all files, one after another."""
        for name, size, found in self.files:
            yield from checked_pieces(self.full(name), size, found)


class Arriving:
    """A directory that gets its name only once all of it is here."""

    def __init__(self, path):
        self.path = os.path.abspath(path)
        if os.path.lexists(self.path) and (not os.path.isdir(self.path) or os.listdir(self.path)):
            raise WrongUse(f'"{path}" exists already; --fetch takes a directory that does not, or an empty one')
        above = os.path.dirname(self.path)
        if not os.path.isdir(above) or not os.access(above, os.W_OK):
            raise WrongUse(f'"{above}" is no directory in which "{os.path.basename(self.path)}" can be made')
        self.aside = None

    def __enter__(self):
        self.aside = tempfile.mkdtemp(prefix=f".{os.path.basename(self.path)[:100]}.", dir=os.path.dirname(self.path))
        return self

    def __exit__(self, kind, value, trace):
        if self.aside:
            shutil.rmtree(self.aside, ignore_errors=True)

    def place(self, name):
        """The path of a file or directory in it, whose name has come from elsewhere."""
        parts = name.split("/")
        if name.startswith("/") or "\0" in name or any(part in ("", ".", "..") for part in parts):
            raise Failure(f'the cluster names "{name}", which is not within the output')
        return os.path.join(self.aside, *parts)

    def directory(self, name):
        os.makedirs(self.place(name), exist_ok=True)

    def file(self, name, size, stream):
        path = self.place(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "xb") as f:
            while size > 0:
                piece = stream.read(min(PIECE, size))
                if not piece:
                    raise Failure("the connection ended before all was here")
                f.write(piece)
                size -= len(piece)
                yield len(piece)

    def done(self):
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(self.aside, 0o777 & ~umask)
        os.replace(self.aside, self.path)  # an empty directory of that name is replaced
        self.aside = None
