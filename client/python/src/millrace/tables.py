# SPDX-License-Identifier: Apache-2.0
"""Files of tables whose maps read no more of them than they need: a Parquet file is cut into its row groups.

The engine cuts files at blocks and knows nothing of Parquet. A map reads the footer, and then the row groups whose first byte lies in
its split. As the splits of a file are all of it and have no byte in common, each row group is read by exactly one map. (So does
Hadoop's ParquetInputFormat, by the middle of a row group.) Other files cannot be cut: the split with their first byte reads them whole.
"""

from __future__ import annotations

import io
import threading
from collections.abc import Iterable
from typing import Any, Callable

from . import formats

Ask = Callable[[int, int], bytes]  # ask(offset, length) returns these bytes


class AskedFile(io.RawIOBase):
    """A file of `size` bytes, each of whose reads asks for just what it needs. pyarrow may read it from a thread of its own."""

    def __init__(self, size: int, ask: Ask) -> None:
        self._size, self._ask, self._at, self._lock = size, ask, 0, threading.Lock()

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = max(0, offset + (0, self._at, self._size)[whence])
        return self._at

    def tell(self) -> int:
        return self._at

    def read(self, size: int = -1) -> bytes:
        with self._lock:
            left = max(0, self._size - self._at)
            length = left if size is None or size < 0 else min(size, left)
            data = self._ask(self._at, length) if length else b""
            self._at += length
            return data

    def readinto(self, buffer: Any) -> int:
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


def of_split(ask: Ask, name: str, offset: int, length: int, size: int) -> Iterable[Any]:
    """Returns the pyarrow.RecordBatches that belong to `length` bytes from `offset` on of a file of `size` bytes.

    Raises ValueError if that cannot be known, or if no map would read a part of the file.
    """
    if size < 4 or ask(0, 4) != b"PAR1":
        return formats.tables(ask(0, size) if size else b"", name) if offset == 0 else ()
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(AskedFile(size, ask))
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"{name} begins as Parquet, and its footer cannot be read ({error}): it is damaged, or was replaced "
                         "after the job was submitted") from None  # fmt: skip
    begins = [_begin(file.metadata.row_group(number), name, size) for number in range(file.num_row_groups)]
    ours = [number for number, begin in enumerate(begins) if offset <= begin < offset + length]
    return file.iter_batches(row_groups=ours) if ours else ()


def _begin(group: Any, name: str, size: int) -> int:
    """Returns the first byte of a row group. Raises ValueError if it is not in the file, where no map would find it."""
    if group.num_columns == 0:
        return 0
    first = group.column(0)
    pages: list[int] = [at for at in (first.dictionary_page_offset, first.data_page_offset) if at]
    if first.file_path or not pages or not 4 <= min(pages) < size:
        where = f"in the file {first.file_path}" if first.file_path else f"at byte {min(pages, default=0)} of {size}"
        raise ValueError(f"{name} has a row group {where}: it is damaged, or of a kind of Parquet that is not read here")
    return min(pages)
