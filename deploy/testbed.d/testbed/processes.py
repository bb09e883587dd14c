# SPDX-License-Identifier: Apache-2.0
"""What the processes that `up` starts have in common."""

import ctypes
import signal

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


def die_with_parent():
    """Called in a child before it executes. A command that makes something must not go on when `up` has been killed, or `down` would miss
    what it makes. Daemons go on: they are found by their namespace."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
