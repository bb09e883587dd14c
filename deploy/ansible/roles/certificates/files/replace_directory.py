#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Replaces the directory of an authority by what a tar file has, so that whoever is killed meanwhile leaves the old one or the new one:

  replace_directory.py DIRECTORY TAR     replaces it
  replace_directory.py DIRECTORY         finishes what was cut short

The new directory is written in full beside the old one, which is renamed before the new one takes its place.
"""

import os
import shutil
import sys
import tarfile


def finish(directory):
    new, old = directory + ".new", directory + ".old"
    if not os.path.exists(directory) and os.path.exists(old):
        os.rename(new if os.path.exists(new) else old, directory)
    for left in (new, old):
        shutil.rmtree(left, ignore_errors=True)


def synced(path):
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def unpack(file, directory):
    """Plain files and directories alone: the file comes from another machine, and none of it may land elsewhere."""
    os.mkdir(directory, 0o700)
    with tarfile.open(file) as archive:
        for member in archive.getmembers():
            name = os.path.normpath(member.name)
            if name == ".":
                continue
            if os.path.isabs(name) or name.split("/")[0] == ".." or not (member.isreg() or member.isdir()):
                sys.exit(f"replace_directory.py: {member.name!r} in {file} is not a file within the authority")
            path = os.path.join(directory, name)
            os.makedirs(path if member.isdir() else os.path.dirname(path), mode=0o700, exist_ok=True)
            if member.isreg():
                with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as f:
                    shutil.copyfileobj(archive.extractfile(member), f)
                    f.flush()
                    os.fsync(f.fileno())
                os.chmod(path, member.mode & 0o644)
    for place, _, _ in os.walk(directory):
        synced(place)


def main():
    directory = sys.argv[1].rstrip("/")
    finish(directory)
    if len(sys.argv) < 3:
        return
    unpack(sys.argv[2], directory + ".new")
    os.rename(directory, directory + ".old")
    os.rename(directory + ".new", directory)
    synced(os.path.dirname(directory))
    shutil.rmtree(directory + ".old")


if __name__ == "__main__":
    main()
