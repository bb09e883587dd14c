# SPDX-License-Identifier: Apache-2.0
"""MapReduce jobs in Python.

    import millrace

    @millrace.job
    def wordcount(line: str):
        for word in line.split():
            yield word, 1

    @wordcount.combine
    @wordcount.reduce
    def total(word, counts):
        yield word, sum(counts)

    wordcount.test(["a b a"])                             # in this process: [("a", 2), ("b", 1)]
    wordcount.local("books/", "counts/")                  # local files, on a cluster of this machine
    wordcount.run("/books", "/counts", reducers=4)        # on the cluster of MILLRACE_MASTER

docs/use/python.md is the tutorial.
"""

from .context import Counter, Task, counter, file, option, status
from .context import current as task
from .errors import CommandFailed, JobFailed, MillraceError, TaskError, UsageError
from .evaluation import evaluate, held_out
from .formats import Format
from .jobs import File, Job, To, job
from .laboratory import Simulation, compare, simulate
from .policy import Policy, serve

__version__ = "0.1.0"

__all__ = [
    "CommandFailed",
    "Counter",
    "File",
    "Format",
    "Job",
    "JobFailed",
    "MillraceError",
    "Policy",
    "Simulation",
    "Task",
    "TaskError",
    "To",
    "UsageError",
    "compare",
    "counter",
    "evaluate",
    "file",
    "held_out",
    "job",
    "option",
    "serve",
    "simulate",
    "status",
    "task",
]
