# SPDX-License-Identifier: Apache-2.0
"""Compresses by libzstd, which Millrace needs to run: Python has no module of it, and the program zstd need not be there."""

import ctypes


def zstd(data):
    library = ctypes.CDLL("libzstd.so.1")
    for name, result, arguments in (
        ("ZSTD_compressBound", ctypes.c_size_t, [ctypes.c_size_t]),
        ("ZSTD_createCCtx", ctypes.c_void_p, []),
        ("ZSTD_freeCCtx", ctypes.c_size_t, [ctypes.c_void_p]),
        ("ZSTD_CCtx_setParameter", ctypes.c_size_t, [ctypes.c_void_p, ctypes.c_int, ctypes.c_int]),
        ("ZSTD_compress2", ctypes.c_size_t, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]),
    ):
        getattr(library, name).restype, getattr(library, name).argtypes = result, arguments
    room = ctypes.create_string_buffer(library.ZSTD_compressBound(len(data)))
    context = library.ZSTD_createCCtx()
    library.ZSTD_CCtx_setParameter(context, 201, 1)  # ZSTD_c_checksumFlag, as the program sets it
    size = library.ZSTD_compress2(context, room, len(room), data, len(data))
    library.ZSTD_freeCCtx(context)
    assert size <= len(room), "ZSTD_compress2"
    return room.raw[:size]
