# SPDX-License-Identifier: Apache-2.0
"""A job: its functions, and what it needs to run. `@millrace.job` makes one of a function."""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Callable, NamedTuple, Optional, Union, overload

from . import formats
from .errors import UsageError

if TYPE_CHECKING:
    from .result import Result
    from .solo import TestRun

Function = Callable[..., Any]


class File(NamedTuple):
    """A whole file, for a map whose parameter is annotated with this type."""

    path: str
    data: bytes


class To:
    """An item for a named output: `yield millrace.To("large", key, value)`. The job lists its names in `outputs=`.

    Reduces, and maps without reduces, may yield it. Several columns are a tuple, and one is the item as it is.
    """

    __slots__ = ("item", "name")

    def __init__(self, name: str, *columns: Any) -> None:
        self.name = name
        self.item = columns[0] if len(columns) == 1 else columns


class Reads(NamedTuple):
    """What a map function takes in a call."""

    unit: str  # "lines", "records", "files" or "tables"
    batch: bool = False  # a list of lines, or a table, instead of one
    raw: bool = False  # bytes instead of str, or of decoded keys and values


class Mapper(NamedTuple):
    """The map function of an input."""

    function: Function
    reads: Reads


def reads_of(function: Function) -> Reads:
    """Returns what a map function takes, by its parameters. Raises UsageError if that cannot be."""
    try:
        every = inspect.signature(function).parameters.values()
        parameters = [p for p in every if p.default is p.empty and p.kind <= p.POSITIONAL_OR_KEYWORD]
    except (TypeError, ValueError):
        parameters = []
    kinds = [_kind(function, p) for p in parameters]
    if len(kinds) == 2:
        return Reads("records", raw=kinds[0] == "bytes")
    if len(kinds) == 1 and kinds[0] in _KINDS:
        return _KINDS[kinds[0]]
    raise UsageError(
        f"the map {_name(function)} takes one parameter of the type str, bytes, list[str], list[bytes], millrace.File or "
        f"pyarrow.RecordBatch, or two, key and value, for record files; it takes ({', '.join(kinds)})"
    )


_KINDS = {
    "str": Reads("lines"),
    "bytes": Reads("lines", raw=True),
    "list[str]": Reads("lines", batch=True),
    "list[bytes]": Reads("lines", batch=True, raw=True),
    "File": Reads("files"),
    "RecordBatch": Reads("tables", batch=True),
}


def _kind(function: Function, parameter: inspect.Parameter) -> str:
    """Returns the annotation of a parameter as a short text; "str" if there is none."""
    try:
        annotation = typing.get_type_hints(function).get(parameter.name, str)
    except Exception:  # a name that is known to type checkers only
        annotation = parameter.annotation
    if annotation is parameter.empty:
        return "str"
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
    if typing.get_origin(annotation) is not None or not text:
        text = str(annotation)
    return re.sub(r"\b(?:\w+\.)+(?=\w)", "", text).replace("List[", "list[").strip("'\"")


def key_type(function: Function) -> Any:
    """Returns the annotation of a function's first parameter, or None."""
    try:
        first = next(iter(inspect.signature(function).parameters))
        return typing.get_type_hints(function).get(first)
    except Exception:
        return None


def _name(function: Function) -> str:
    return getattr(function, "__name__", repr(function))


class Job:
    """A job. `millrace.job` says what its parts are; all of them may be set until it is run.

    The map may yield any number of (key, value) pairs, `combine` and `reduce` take a key and an iterator of its values. Without
    reduce, what the map yields is the output: one file for each map.
    """

    def __init__(
        self,
        maps: Iterable[Function] = (),
        *,
        name: str = "",
        reduce: Optional[Function] = None,
        combine: Optional[Function] = None,
        group: int = 0,
        partition: Optional[Function] = None,
        options: Optional[Mapping[str, Any]] = None,
        output: formats.AnyFormat = "text",
        outputs: Union[Mapping[str, formats.AnyFormat], Iterable[str]] = (),
        files: Iterable[str] = (),
        archives: Iterable[str] = (),
        env: Optional[Mapping[str, str]] = None,
    ) -> None:
        self.mappers = [Mapper(function, reads_of(function)) for function in maps]
        self.name = name or (_name(self.mappers[0].function) if self.mappers else "")
        self.reducer, self.combiner, self.group, self.partition = reduce, combine, group, partition
        self.options = dict(options or {})
        self.output = output
        self.outputs: dict[str, formats.AnyFormat] = dict(outputs) if isinstance(outputs, Mapping) else {name: "text" for name in outputs}
        self.files, self.archives, self.env = list(files), list(archives), dict(env or {})
        self.start_hook: Optional[Function] = None
        self.finish_hook: Optional[Function] = None
        self.finish_reduce_hook: Optional[Function] = None
        if group < 0:
            raise UsageError(f"group={group}: it is how many elements of a key, from the first on, make a group")
        for each in self.options:
            if not re.fullmatch(r"[a-z][A-Za-z0-9_]{0,99}", each):
                raise UsageError(f"the option {each!r} has letters, digits and _ in its name, and a small letter first")
        for kind in (self.output, *self.outputs.values()):
            formats.find(kind)
        for each in self.outputs:
            if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,99}", each) or each == "part":
                raise UsageError(f"the output {each!r} has letters, digits and _ in its name, a letter first, and is not called part")

    def __repr__(self) -> str:
        return f"<millrace.Job {self.name}>"

    def __call__(self, *args: Any) -> Any:
        """Calls the map, so that a test can. Of a job with `inputs=` and no reduce yet, it sets the reduce and the name."""
        if len(self.mappers) != 1 and self.reducer is None and len(args) == 1 and callable(args[0]):
            self.reducer = args[0]
            self.name = _name(args[0])
            return self
        if len(self.mappers) != 1:
            raise UsageError(f"the job {self.name} has {len(self.mappers)} maps: call one of them itself")
        return self.mappers[0].function(*args)

    # What the parts of a job are -----------------------------------------------------------------------------------
    def reduce(self, function: Function) -> Function:
        """Sets the reduce: `function(key, values)` yields what goes to the output. The values can be iterated over once.

        With `group=N` it takes the first N elements of the keys (itself, if N is 1), and pairs (key, value) in order of keys.
        """
        self.reducer = function
        return function

    def combine(self, function: Function) -> Function:
        """Sets the combiner: `function(key, values)` yields pairs that stand for these. A map calls it any number of times."""
        self.combiner = function
        return function

    def start(self, function: Function) -> Function:
        """Sets what is called, without arguments, before the first record of each attempt of a map or reduce."""
        self.start_hook = function
        return function

    def finish(self, function: Function) -> Function:
        """Sets what is called after the last record of each map; it may yield what the map may yield."""
        self.finish_hook = function
        return function

    def finish_reduce(self, function: Function) -> Function:
        """Sets what is called after the last key of each reduce; it may yield what the reduce may yield."""
        self.finish_reduce_hook = function
        return function

    # What can be done with it --------------------------------------------------------------------------------------
    def check(self) -> None:
        """Raises UsageError if the parts of the job do not fit each other."""
        if not self.mappers:
            raise UsageError(f"the job {self.name or 'without a name'} has no map: make it with @millrace.job or inputs=[...]")
        if self.reducer is None:
            for part, what in (
                (self.combiner, "combine"),
                (self.group, "group"),
                (self.partition, "partition"),
                (self.finish_reduce_hook, "finish_reduce"),
            ):
                if part:
                    raise UsageError(f"the job {self.name} has {what} but no reduce: add @{self.name}.reduce")

    def set_options(self, given: Optional[Mapping[str, Any]]) -> dict[str, Any]:
        """Returns all options with their types: those given, else the defaults. Raises UsageError if one is wrong or missing."""
        for name in given or {}:
            if name not in self.options:
                raise UsageError(f"the job {self.name} has no option {name!r}; it has {', '.join(self.options) or 'none'}")
        made: dict[str, Any] = {}
        for name, default in self.options.items():
            if given and name in given:
                made[name] = _typed(name, given[name], default if isinstance(default, type) else type(default))
            elif isinstance(default, type):
                raise UsageError(f"the job {self.name} needs the option {name!r}: options={{{name!r}: ...}}")
            else:
                made[name] = default
        return made

    def test(
        self,
        *inputs: Any,
        options: Optional[Mapping[str, Any]] = None,
        reducers: int = 1,
        splits: int = 1,
        files: Optional[Mapping[str, Any]] = None,
    ) -> TestRun:
        """Runs the job in this process, without a cluster, and returns what it yields, in the order of the output.

        There is an argument for each input: a list of lines, of (key, value) pairs for record files, of millrace.File for whole
        files; a dict of contents by name; a text; or the path of a file or directory (pathlib.Path). `splits` says into how many
        maps a list is cut. `files` are side files: by name, a path, or the content as str or bytes. Raises JobFailed, whose cause
        is the exception of the job's function.
        """
        from . import solo

        return solo.test(self, inputs, options=options, reducers=reducers, splits=splits, files=files)

    def run(self, inputs: Union[str, Iterable[str]], output: str, **how: Any) -> Result:
        """Runs the job on the cluster of MILLRACE_MASTER, shows its progress and returns its result. `submit` has the arguments.

        Raises JobFailed.
        """
        from . import result

        return result.submit(self, inputs, output, **how).watch()

    def submit(self, inputs: Union[str, Iterable[str]], output: str, **how: Any) -> Result:
        """Submits the job to the cluster of MILLRACE_MASTER and returns at once. `result.submit` has the arguments."""
        from . import result

        return result.submit(self, inputs, output, **how)

    def local(self, inputs: Union[str, Iterable[str]], output: str, **how: Any) -> Result:
        """Runs the job over local files on a cluster of this machine that lives as long as the job; `output` is a new directory.

        `result.local` has the arguments. Raises JobFailed.
        """
        from . import result

        return result.local(self, inputs, output, **how)


def _typed(name: str, given: Any, kind: type) -> Any:
    try:
        if kind is bool:
            return {"true": True, "1": True, "false": False, "0": False}[str(given).lower()]
        return kind(given)
    except (KeyError, ValueError, TypeError):
        raise UsageError(f"the option {name!r} is of the type {kind.__name__}, and {given!r} is not") from None


@overload
def job(function: Function) -> Job: ...
@overload
def job(*, inputs: Iterable[Function], **parts: Any) -> Job: ...
@overload
def job(**parts: Any) -> Callable[[Function], Job]: ...
def job(function: Optional[Function] = None, *, inputs: Optional[Iterable[Function]] = None, **parts: Any) -> Any:
    """Makes a job of its map: `@millrace.job`, or `@millrace.job(output="json", ...)` with parts of the job.

    name        the name of the job; by default that of the function
    inputs      a map for each input, the first for the first; the function below the decorator is then the reduce (a join)
    options     by name, the default of an option, or its type if it must be given; `millrace.option(name)` reads it
    group       keys are tuples, and those that agree in so many first elements come to one call of reduce, in order (secondary sort)
    partition   partition(key, reducers) gives the number of the reduce that gets the key; by default its hash, or that of the group, does
    output      the format of the output: "text", "json", "csv", "records", "bytes", "parquet", or a class like millrace.Format
    outputs     named outputs, for millrace.To: names, or a dict of formats by name
    files       side files and, if they end in .py, modules of the job; `millrace.file(name)` finds the former
    archives    .zip, .tar, .tar.gz files that are unpacked for the tasks
    env         environment variables of the tasks
    """
    if inputs is not None:
        return Job(inputs, **parts)
    if function is not None:
        return Job([function], **parts)
    return lambda function: Job([function], **parts)
