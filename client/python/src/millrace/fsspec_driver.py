# SPDX-License-Identifier: Apache-2.0
"""The file system of the cluster for fsspec: `millrace:///data/x.parquet`, on the cluster of MILLRACE_MASTER.

Installing the package registers it, so `pandas.read_parquet("millrace:///data/x.parquet")` works as it is. Needs fsspec.
"""

from __future__ import annotations

import os
from datetime import datetime, timezone
from typing import Any, Optional

from fsspec.spec import AbstractBufferedFile, AbstractFileSystem

from . import fs


class MillraceFileSystem(AbstractFileSystem):  # type: ignore[misc]
    """See the module. Reads ask for ranges; a file that is written is there once it is closed."""

    protocol = "millrace"
    root_marker = "/"

    @classmethod
    def _strip_protocol(cls, path: Any) -> Any:
        if isinstance(path, list):
            return [cls._strip_protocol(each) for each in path]
        path = os.fspath(path)
        if path.startswith("millrace://"):
            path = path[len("millrace://") :]
            if path and path[0] != "/":
                raise ValueError(f"millrace://{path}: a path has three slashes (millrace:///{path}); MILLRACE_MASTER names the cluster")
        return "/" + path.strip("/")

    def info(self, path: str, **kwargs: Any) -> dict[str, Any]:
        path = self._strip_protocol(path)
        if path == "/":
            return {"name": "/", "size": 0, "type": "directory"}
        return _entry(fs.stat(path))

    def ls(self, path: str, detail: bool = True, **kwargs: Any) -> Any:
        entries = [_entry(entry) for entry in fs.ls(self._strip_protocol(path))]
        return entries if detail else [entry["name"] for entry in entries]

    def exists(self, path: str, **kwargs: Any) -> bool:
        path = self._strip_protocol(path)
        return path == "/" or fs.exists(path)

    def cat_file(self, path: str, start: Optional[int] = None, end: Optional[int] = None, **kwargs: Any) -> bytes:
        path = self._strip_protocol(path)
        size = None
        if (start or 0) < 0 or (end or 0) < 0:
            size = int(fs.stat(path)["length"])
            start = size + start if start is not None and start < 0 else start
            end = size + end if end is not None and end < 0 else end
        return fs.read(path, max(start or 0, 0), end, size)

    def pipe_file(self, path: str, value: bytes, mode: str = "overwrite", **kwargs: Any) -> None:
        with fs.put(self._strip_protocol(path), overwrite=mode != "create") as stream:
            stream.write(value)

    def put_file(self, lpath: str, rpath: str, callback: Any = None, mode: str = "overwrite", **kwargs: Any) -> None:
        if os.path.isdir(lpath):
            self.makedirs(rpath, exist_ok=True)
            return
        with open(lpath, "rb") as source, fs.put(self._strip_protocol(rpath), overwrite=mode != "create") as stream:
            while piece := source.read(1 << 20):
                stream.write(piece)

    def mkdir(self, path: str, create_parents: bool = True, **kwargs: Any) -> None:
        if self.exists(path):
            raise FileExistsError(path)
        fs.mkdir(self._strip_protocol(path))

    def makedirs(self, path: str, exist_ok: bool = False) -> None:
        if not exist_ok and self.exists(path):
            raise FileExistsError(path)
        fs.mkdir(self._strip_protocol(path))

    def _rm(self, path: str) -> None:
        fs.rm(self._strip_protocol(path))

    def rm_file(self, path: str) -> None:
        self._rm(path)

    def rmdir(self, path: str) -> None:
        if self.ls(path):
            raise OSError(f"{path} is not empty")
        fs.rm(self._strip_protocol(path), recursive=True)

    def rm(self, path: Any, recursive: bool = False, maxdepth: Optional[int] = None) -> None:
        for each in [path] if isinstance(path, str) else path:
            for found in self.expand_path(each) if any(letter in each for letter in "*?[") else [each]:
                fs.rm(self._strip_protocol(found), recursive=recursive)

    def mv_file(self, path1: str, path2: str, **kwargs: Any) -> None:
        fs.mv(self._strip_protocol(path1), self._strip_protocol(path2))

    def mv(self, path1: str, path2: str, recursive: bool = False, maxdepth: Optional[int] = None, **kwargs: Any) -> None:
        self.mv_file(path1, path2)

    def cp_file(self, path1: str, path2: str, **kwargs: Any) -> None:
        if self.isdir(path1):
            fs.mkdir(self._strip_protocol(path2))
        else:
            fs.cp(self._strip_protocol(path1), self._strip_protocol(path2))

    def created(self, path: str) -> datetime:
        return self.modified(path)

    def modified(self, path: str) -> datetime:
        return datetime.fromtimestamp(self.info(path)["mtime"], timezone.utc)

    def _open(self, path: str, mode: str = "rb", block_size: Any = None, autocommit: bool = True, **kwargs: Any) -> Any:
        if mode not in ("rb", "wb", "xb"):
            raise ValueError(f"mode {mode!r}: files of Millrace are read (rb) or written anew (wb, xb); they cannot be appended to")
        return MillraceFile(self, path, mode, block_size or "default", autocommit, **kwargs)


class MillraceFile(AbstractBufferedFile):  # type: ignore[misc]
    """A file that is open: read by ranges of `block_size` (5 MiB), or written in one go."""

    _upload: Optional[fs.Upload] = None

    def _fetch_range(self, start: int, end: int) -> bytes:
        return fs.read(self.path, start, end, self.size)

    def _initiate_upload(self) -> None:
        self._upload = fs.put(self.path, overwrite=self.mode != "xb")

    def _upload_chunk(self, final: bool = False) -> bool:
        assert self._upload is not None
        self._upload.write(self.buffer.getvalue())
        if final and self.autocommit:
            self.commit()
        return True

    def commit(self) -> None:
        if self._upload is not None:
            self._upload.close()

    def discard(self) -> None:
        if self._upload is not None:
            self._upload.discard()


def _entry(entry: dict[str, Any]) -> dict[str, Any]:
    """Returns an entry as fsspec has them, with the rest of what is known of it."""
    known = {name: value for name, value in entry.items() if name not in ("path", "type", "length", "modified_at", "blocks")}
    return {"name": entry["path"], "size": entry["length"], "type": entry["type"], "mtime": entry["modified_at"], **known}
