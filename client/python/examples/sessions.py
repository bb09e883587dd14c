# SPDX-License-Identifier: Apache-2.0
"""Cuts the visits of each user ("time user page", in any order) into sessions with gaps of half an hour, by a secondary sort.

The visits of a user come in order of time, so they need not fit into memory.
"""

import millrace


@millrace.job(group=1, options={"gap": 1800})
def sessions(line: str):
    time, user, page = line.split(" ", 2)
    yield (user, int(time)), page


@sessions.reduce
def cut(user, visits):
    begin = last = None
    pages = 0
    for (_, time), _page in visits:
        if last is not None and time - last >= millrace.option("gap"):
            yield user, (begin, last - begin, pages)
            begin, pages = None, 0
        begin = time if begin is None else begin
        last = time
        pages += 1
    yield user, (begin, last - begin, pages)
