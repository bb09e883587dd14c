# SPDX-License-Identifier: Apache-2.0
"""What travels with a job: one zip file with the job's code and the part of this package that runs it.

    __main__       the module that `python3 job.zip` runs; it checks the version of Python before anything else
    job.json       {"python": [3, 11], "by": "source" | "cloudpickle", "module", "attribute", "files": [names], "environment"}
    millrace/      this package
    NAME.py ...    by source: the module of the job (a whole package if it lies in one), and modules named by files=
    job.pickle     by cloudpickle: the job; cloudpickle itself lies beside it

Nothing has to be installed on workers but Python. Code goes as source where there is a source file in which the job is a name of
the module; such a job runs on Python 3.9 and later. Else, from a notebook say, it goes by cloudpickle, if that is installed; then
workers need the same minor version, as they do for the packages of a requirements.txt. The same job gives the same bytes.
"""

from __future__ import annotations

import ast
import io
import json
import os
import sys
import types
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Optional

from .environment import NAME as environment_name
from .errors import UsageError
from .jobs import Job

NAME = "job.zip"  # its name where the tasks start
MAIN = "__millrace_main__"  # the name under which tasks import a script, so that `if __name__ == "__main__"` is not true there
OLDEST = (3, 9)
_LARGEST = 64 << 20  # bytes of a package that travels

_START = """# SPDX-License-Identifier: Apache-2.0
# Starts the job of this zip file as a child of a task. The version check runs on any Python 3.
import json, os, sys

BUNDLE = os.path.abspath(sys.argv[0])
ABOUT = json.loads(__loader__.get_data("job.json").decode())
HERE, MADE = tuple(sys.version_info[:2]), tuple(ABOUT["python"])


def refuse(why):
    import socket, struct
    sock = socket.socket(fileno=int(os.environ["MILLRACE_CHANNEL"]))
    stream = sock.makefile("rwb")

    def send(kind, value):
        data = json.dumps(value).encode()
        stream.write(struct.pack("<IB", len(data), ord(kind)) + data)
        stream.flush()

    failure = {"type": "WrongPython", "message": why, "traceback": [], "record": "", "path": "", "offset": None}
    sys.stderr.write("millrace-failure: " + json.dumps(failure) + "\\n")
    sys.stderr.flush()
    send("H", {"version": 1, "language": "python " + sys.version.split()[0]})
    while True:
        head = stream.read(5)
        if len(head) < 5:
            return
        size, kind = struct.unpack("<IB", head)
        stream.read(size)
        if kind == ord("J"):
            send("X", failure)


if __name__ == "__main__":
    STREAMS = sys.argv[1:2] == ["--millrace-stream"]  # elsewhere: lines come and go (stream.py)
    if STREAMS and (HERE < (3, 9) or (HERE != MADE and (ABOUT["by"] == "cloudpickle" or ABOUT["environment"]))):
        sys.exit("the job was made by Python %d.%d, and %s is %d.%d: a job whose source travels runs on any Python from 3.9 on"
                 % (MADE + (sys.executable,) + HERE))
    elif STREAMS:
        from millrace import bundle, stream

        sys.exit(stream.main(sys.argv[2:], lambda: bundle.load(BUNDLE)))
    elif HERE < (3, 9):
        refuse("the worker's %s is Python %d.%d, and jobs need 3.9 or later: name another with python=" % ((sys.executable,) + HERE))
    elif ABOUT["by"] == "cloudpickle" and HERE != MADE:
        refuse("the job was pickled by Python %d.%d, and the worker's %s is %d.%d: name another with python=, or put the job "
               "into a file of its own, whose source runs on any version" % (MADE + (sys.executable,) + HERE))
    elif ABOUT["environment"] and HERE != MADE:
        refuse("the packages of requirements= are for Python %d.%d, and the worker's %s is %d.%d: name another with python="
               % (MADE + (sys.executable,) + HERE))
    else:
        from millrace import bundle, child

        child.main(lambda: bundle.load(BUNDLE))
"""


class Bundle(NamedTuple):
    """The zip file of a job, and how its code goes: "source" or "cloudpickle"."""

    data: bytes
    by: str


def build(
    job: Job,
    files_named: Optional[Sequence[str]] = None,
    archives: Optional[Sequence[str]] = None,
    environment: bool = False,
) -> Bundle:
    """Returns the bundle of a job. Raises UsageError if its code cannot travel, saying what to do.

    The other arguments are all its files= and archives=, if it gets more than it names itself, and whether it has an environment.
    """
    job.check()
    named = list(job.files if files_named is None else files_named)
    beside = [*(path for path in named if not path.endswith(".py")), *(job.archives if archives is None else archives)]
    about: dict[str, Any] = {
        "python": list(sys.version_info[:2]),
        "files": sorted(map(os.path.basename, beside)),
        "environment": environment,
    }
    files = {"__main__.py": _START.encode()}
    for path in sorted(Path(__file__).parent.glob("*.py")):
        files[f"millrace/{path.name}"] = path.read_bytes()
    found = _locate(job)
    if found is not None:
        module, attribute = found
        name, sources = _sources(module)
        about |= {"by": "source", "module": name, "attribute": attribute}
        files.update(sources)
        _check_siblings(module, {*files, *map(os.path.basename, named)})
    else:
        about |= {"by": "cloudpickle"}
        files["job.pickle"] = _pickled(job)
        files.update(_cloudpickle_itself())
    for path_name in named:
        if path_name.endswith(".py"):
            files[os.path.basename(path_name)] = _read(_beside(job, path_name))
    files["job.json"] = json.dumps(about, sort_keys=True).encode()
    return Bundle(_zip(files), about["by"])


def load(path: str) -> tuple[Job, dict[str, str]]:
    """Returns the job of the bundle from which this process was started, and where its side files are, by name."""
    with zipfile.ZipFile(path) as bundle:
        about = json.loads(bundle.read("job.json"))
        if about["environment"]:
            sys.path.insert(1, os.path.abspath(environment_name))
        if about["by"] == "cloudpickle":
            import pickle

            job = pickle.loads(bundle.read("job.pickle"))
        else:
            import importlib

            job = importlib.import_module(about["module"])
            for name in about["attribute"].split("."):
                job = getattr(job, name)
    return job, {name: os.path.abspath(name) for name in about["files"]}


def place_of(job: Job) -> str:
    """Returns where the job is found again, as "MODULE:NAME"; "" if it is no name of a module with a source file."""
    found = _locate(job)
    return f"{found[0].__name__}:{found[1]}" if found is not None else ""


def is_task() -> bool:
    """This process runs the tasks of a job."""
    return "__main__" in sys.modules and hasattr(sys.modules["__main__"], "BUNDLE")


def _locate(job: Job) -> Optional[tuple[types.ModuleType, str]]:
    """Returns the module with a source file that has the job as one of its names, and that name."""
    home = getattr(job.mappers[0].function, "__module__", None)
    modules = [sys.modules[name] for name in (home, "__main__") if name in sys.modules]
    modules += [module for name, module in list(sys.modules.items()) if not name.startswith("millrace.") and name != "millrace"]
    for module in modules:
        if not isinstance(module, types.ModuleType) or not os.path.isfile(getattr(module, "__file__", None) or ""):
            continue
        for name, value in list(vars(module).items()):
            if value is job:
                return module, name
    return None


def _sources(module: types.ModuleType) -> tuple[str, dict[str, bytes]]:
    """Returns the name under which tasks import a module, and the files that it needs, by their names in the zip."""
    name = module.__name__
    if name == "__main__":
        spec = getattr(module, "__spec__", None)
        name = spec.name if spec is not None else MAIN
    assert module.__file__ is not None
    top = name.partition(".")[0]
    package = sys.modules.get(top)
    if package is None or not getattr(package, "__path__", None):
        return name, {f"{name}.py": _read(module.__file__)}
    files: dict[str, bytes] = {}
    for root in package.__path__:
        for path in sorted(Path(root).rglob("*.py")):
            files[f"{top}/{path.relative_to(root).as_posix()}"] = path.read_bytes()
    if sum(map(len, files.values())) > _LARGEST:
        raise UsageError(f"the package {top} of the job {name} has more than {_LARGEST >> 20} MiB of source: put it into a smaller one")
    return name, files


def _check_siblings(module: types.ModuleType, travelling: set[str]) -> None:
    """Raises UsageError if the job's file imports a module beside it that does not travel."""
    assert module.__file__ is not None
    folder, file = os.path.split(os.path.abspath(module.__file__))
    for name in _imports(module.__file__):
        if os.path.isfile(os.path.join(folder, name + ".py")) and not {f"{name}.py", f"{name}/__init__.py"} & travelling:
            raise UsageError(f"{file} imports {name}, which lies beside it and would be missing on workers: add files=[{name + '.py'!r}]")


def _imports(path: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(_read(path))):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


def _beside(job: Job, path: str) -> str:
    """Returns a module of files= from the working directory, or else beside the job's file."""
    if os.path.isfile(path) or os.path.isabs(path):
        return path
    home = sys.modules.get(getattr(job.mappers[0].function, "__module__", ""), None)
    return os.path.join(os.path.dirname(os.path.abspath(getattr(home, "__file__", None) or path)), path)


def _pickled(job: Job) -> bytes:
    try:
        import cloudpickle
    except ImportError:
        raise UsageError(
            f"the job {job.name} is no name of a module with a source file (it was made in a notebook, at a prompt or in a function): "
            "put it into a file, or install cloudpickle"
        ) from None
    return cloudpickle.dumps(job, protocol=5)  # type: ignore[no-any-return]


def _cloudpickle_itself() -> dict[str, bytes]:
    import cloudpickle

    folder = Path(cloudpickle.__file__).parent
    return {f"cloudpickle/{path.name}": path.read_bytes() for path in sorted(folder.glob("*.py"))}


def _read(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None


def _zip(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name)  # of 1980, so that the same job gives the same bytes
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            made.writestr(entry, files[name])
    return out.getvalue()
