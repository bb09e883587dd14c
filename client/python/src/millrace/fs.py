# SPDX-License-Identifier: Apache-2.0
"""Files of the cluster, through `millrace fs`: each call runs the program, so ask for much at a time.

`millrace.fsspec_driver` makes of this a file system of fsspec, by which pandas, polars, dask and duckdb read `millrace://` paths.
"""

from __future__ import annotations

import contextlib
import io
import subprocess
import threading
import urllib.parse
from typing import IO, Any, BinaryIO, Optional

from . import program
from .errors import CommandFailed

_PIECE = 1 << 20


def literal(path: str) -> str:
    """Returns the pattern that means exactly this path."""
    if not any(letter in path for letter in "*?[{"):
        return path
    return "".join("\\" + letter if letter in "*?[]{},\\" else letter for letter in path)


def ls(path: str) -> list[dict[str, Any]]:
    """Returns the entries of a directory, or that of a file, as docs/use/json.md says ("A file"). Raises FileNotFoundError."""
    return [_plain(entry) for entry in _asked(["fs", "ls"], path)]


def stat(path: str) -> dict[str, Any]:
    """Returns what is known of a path, its blocks included. Raises FileNotFoundError."""
    return _plain(_asked(["fs", "stat"], path)[0])


def exists(path: str) -> bool:
    try:
        program.run(["fs", "test", "-e", "--", literal(path)])
    except CommandFailed as error:
        if error.status == 1:
            return False
        raise
    return True


def _asked(words: list[str], path: str) -> list[dict[str, Any]]:
    try:
        found = program.run_json([*words, "--json", "--", literal(path)])
    except CommandFailed as error:
        if error.status == 1 and not exists(path):
            raise FileNotFoundError(path) from None
        raise
    assert isinstance(found, list)
    return found


def _plain(entry: dict[str, Any]) -> dict[str, Any]:
    """Returns an entry with its path as it is; other bytes than UTF-8 as surrogates, as Python's own functions have them."""
    if entry.pop("path_encoding", None) == "percent":
        entry["path"] = urllib.parse.unquote(entry["path"], "utf-8", "surrogateescape")
    return entry


def read(path: str, start: int = 0, end: Optional[int] = None, size: Optional[int] = None) -> bytes:
    """Returns the bytes of a file from `start` up to `end`, or to its end; nothing else of it is read.

    `size` is its length, if that is known: CommandFailed is raised if it has become shorter. Raises FileNotFoundError.
    """
    start = max(start, 0)
    if end is not None and start >= end:
        if not exists(path):
            raise FileNotFoundError(path)
        return b""
    part = [*(["--offset", str(start)] if start else []), *(["--length", str(end - start)] if end is not None else [])]
    with _Pipe(["fs", "cat", *part, "--", literal(path)], path) as stream:
        data = stream.readall()
    if size is not None and len(data) < (size if end is None else min(end, size)) - start:
        raise CommandFailed(f"{path} has become shorter than {size} bytes: it was replaced while it was read")
    return data


def cat(path: str) -> BinaryIO:
    """Returns a stream of the content of a file. At its end, reading raises CommandFailed if not all of it could be read."""
    return io.BufferedReader(_Pipe(["fs", "cat", "--", literal(path)], path), _PIECE)


def put(path: str, overwrite: bool = False) -> Upload:
    """Returns a stream for the content of a new file, which is there once the stream is closed."""
    return Upload(path, overwrite)


def mkdir(path: str) -> None:
    """Makes a directory, and those above it."""
    program.run(["fs", "mkdir", "--", path])


def rm(path: str, recursive: bool = False) -> None:
    """Removes a file or, if `recursive`, a directory; past the trash."""
    if not exists(path):
        raise FileNotFoundError(path)
    program.run(["fs", "rm", "--skip-trash", *(["-r"] if recursive else []), "--", literal(path)])


def mv(path: str, to: str) -> None:
    """Renames a file or directory."""
    program.run(["fs", "mv", "--", literal(path), to])


def cp(path: str, to: str, recursive: bool = False) -> None:
    """Copies within the file system."""
    program.run(["fs", "cp", *(["-r"] if recursive else []), "--", literal(path), to])


class _Pipe(io.RawIOBase):
    """What a command writes to standard output."""

    def __init__(self, words: list[str], path: str) -> None:
        self._words, self._path = words, path
        self._process = program.start(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert self._process.stdout is not None
        self._out: IO[bytes] = self._process.stdout

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer)
        data = self._out.read(len(view))
        if not data:
            self._end()
            return 0
        view[: len(data)] = data
        return len(data)

    def readall(self) -> bytes:
        data = self._out.read()
        self._end()
        return data

    def _end(self) -> None:
        _, told = self._process.communicate()
        if self._process.returncode != 0:
            if self._process.returncode == 1 and not exists(self._path):
                raise FileNotFoundError(self._path)
            raise program.failed(self._words, self._process.returncode, told)

    def close(self) -> None:
        if not self.closed and self._process.poll() is None:
            self._process.kill()
            self._process.communicate()
        super().close()
        for stream in (self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()


class Upload(io.RawIOBase):
    """A file that is being written. `close` makes it; `discard` drops it instead."""

    def __init__(self, path: str, overwrite: bool) -> None:
        self._words = ["fs", "put", "--progress", "none", *(["-f"] if overwrite else []), "--", "-", path]
        self._process = program.start(self._words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self._told: list[bytes] = []
        assert self._process.stderr is not None and self._process.stdin is not None
        self._in, stderr = self._process.stdin, self._process.stderr
        self._reader = threading.Thread(target=lambda: self._told.append(stderr.read()), daemon=True)
        self._reader.start()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        try:
            self._in.write(data)
        except BrokenPipeError:
            self.close()
        return len(data)

    def close(self) -> None:
        """Ends the file. Raises CommandFailed if it could not be stored."""
        if self.closed:
            return
        super().close()
        with contextlib.suppress(BrokenPipeError):
            self._in.close()
        status = self._end()
        if status != 0:
            raise program.failed(self._words, status, b"".join(self._told))

    def discard(self) -> None:
        """Ends the upload without a file."""
        if not self.closed:
            self._process.kill()
            with contextlib.suppress(BrokenPipeError):
                self._in.close()
            self._end()
            super().close()

    def _end(self) -> int:
        status = self._process.wait()
        self._reader.join()
        if self._process.stderr is not None:
            self._process.stderr.close()
        return status
