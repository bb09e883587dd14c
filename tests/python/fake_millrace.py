# SPDX-License-Identifier: Apache-2.0
"""Stands in for the program `millrace`: a file system in the directory FAKE_DFS, and jobs that are run at once by the stand-in engine.

It has the verbs that the package uses, with their options and exit statuses, and prints the fields of docs/use/json.md that it reads.
FAKE_NODES is what `node list` prints. Jobs lie in FAKE_DFS/.jobs/N.json, their logs beside them. FAKE_LOG gets a line for each call.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.parse
from pathlib import Path

ROOT = Path(os.environ.get("FAKE_DFS", "/nonexistent"))


def fail(verb, what, status=1):
    sys.stderr.write(f"millrace: {verb}: {what}\n")
    sys.exit(status)


def place(path):
    if any(letter in path for letter in "*?[{"):
        plain, at = "", 0
        while at < len(path):
            at += path[at] == "\\"
            plain += path[at]
            at += 1
        path = plain
    return ROOT / path.strip("/")


def entry(path):
    name = "/" + os.path.relpath(path, ROOT) if path != ROOT else "/"
    info = path.stat()
    made = {"path": name, "type": "directory" if path.is_dir() else "file", "length": 0 if path.is_dir() else info.st_size, "replication": 1,
            "block_size": 1 << 26, "modified_at": info.st_mtime, "owner": "me", "group": "us", "mode": "644", "id": info.st_ino}
    if any(0xDC80 <= ord(letter) <= 0xDCFF for letter in name):
        made |= {"path": urllib.parse.quote(os.fsencode(name)), "path_encoding": "percent"}
    return made


def fs(words):
    verb, words = words[0], words[1:]
    cut = words.index("--") if "--" in words else len(words)
    flags, paths = words[:cut], words[cut + 1 :]
    path = place(paths[0])
    if verb == "test":
        sys.exit(0 if path.exists() else 1)
    if verb in ("ls", "stat", "cat", "rm", "mv", "cp") and not path.exists():
        fail(f"fs {verb}", f'"{paths[0]}": no such file or directory')
    if verb == "ls":
        print(json.dumps([entry(each) for each in sorted(path.iterdir()) if each.name != ".jobs"] if path.is_dir() else [entry(path)]))
    elif verb == "stat":
        print(json.dumps([{**entry(path), "blocks": []}]))
    elif verb == "cat":
        given = dict(zip(flags[::2], map(int, flags[1::2])))
        start = given.pop("--offset", 0)
        sys.stdout.buffer.write(path.read_bytes()[start : start + given.pop("--length", sys.maxsize)])
        assert not given, flags
    elif verb == "put":
        to = ROOT / paths[1].strip("/")
        if to.exists() and "-f" not in flags:
            fail("fs put", f'"{paths[1]}": exists already')
        data = sys.stdin.buffer.read()
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_bytes(data)
    elif verb == "mkdir":
        (ROOT / paths[0].strip("/")).mkdir(parents=True, exist_ok=True)
    elif verb == "rm":
        if path.is_dir():
            if "-r" not in flags:
                fail("fs rm", f'"{paths[0]}": is a directory')
            shutil.rmtree(path)
        else:
            path.unlink()
    elif verb == "mv":
        path.rename(ROOT / paths[1].strip("/"))
    elif verb == "cp":
        shutil.copy(path, ROOT / paths[1].strip("/"))
    else:
        fail("fs", f"no verb {verb}", 2)


def stream(words, local):
    import stand_in  # noqa: F401
    from millrace import errors, solo

    parser = argparse.ArgumentParser()
    for name in ("-io", "-mapper", "-reducer", "-inputformat", "-output", "-name", "-numReduceTasks", "--pool", "--priority", "--deadline", "--after"):
        parser.add_argument(name, default="")
    for name in ("-input", "-file", "-archive", "-cmdenv", "-D"):
        parser.add_argument(name, action="append", default=[])
    parser.add_argument("--detach", action="store_true")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(words)
    assert given.io == "frames" and given.json and given.detach is not local, given
    if given.pool == "nobodys":
        fail("stream", 'there is no pool "nobodys"; millrace scheduler show lists them')
    find = Path if local else place
    output = find(given.output)
    if output.exists():
        fail("stream", f'the output "{given.output}" exists already; choose another directory')
    units = {"lines": "lines", "records": "records", "files": "files", "tables": "tables"}
    splits, forms = [], given.inputformat.split(",")
    assert len(forms) in (1, len(given.input)), given
    for index, path in enumerate(given.input):
        unit = units[forms[index if len(forms) > 1 else 0]]
        if not find(path).exists():
            fail("stream", f'the input "{path}": no such file or directory')
        for file in solo.files_below(find(path)):
            splits.append(solo.Split(index, str(file), solo.content_messages(file.read_bytes(), solo.Reads(unit))))
    options = dict(pair.split("=", 1) for pair in given.D)
    number = 7
    state = {"job": number, "name": given.name, "state": "succeeded", "reason": "", "output": given.output, "maps": {"total": len(splits), "running": 0,
             "done": len(splits), "fraction": 1.0}, "reduces": {"total": int(given.numReduceTasks), "running": 0, "done": 0, "fraction": 1.0}}
    with tempfile.TemporaryDirectory() as cwd:
        for file in given.file:
            source, _, name = file.partition("#")
            (shutil.copytree if os.path.isdir(source) else shutil.copy)(source, os.path.join(cwd, name or os.path.basename(source)))
        for archive in given.archive:
            shutil.unpack_archive(archive, os.path.join(cwd, os.path.basename(archive)))
        env = {**{name: value for name, value in os.environ.items() if name != "PYTHONPATH"}, **dict(pair.split("=", 1) for pair in given.cmdenv)}
        with open(os.path.join(cwd, "log"), "w+b") as log:
            try:
                with solo.InChild(["sh", "-c", given.mapper], cwd=cwd, env=env, log=log) as child:
                    job = solo.Job([lambda line: ()], reduce=(lambda key, values: ()) if given.numReduceTasks != "0" else None, name=given.name)
                    done = solo.run(job, splits, child, reducers=int(given.numReduceTasks), options=options)
                output.mkdir(parents=True)
                for name, data in done.files.items():
                    (output / name).write_bytes(data)
                (output / "_SUCCESS").touch()
                state["counters"] = [{"group": group, "name": name, "value": value} for (group, name), value in done.counters.items()]
            except errors.JobFailed as error:
                state |= {"state": "failed", "reason": "job7.m.0.0 failed: " + error.reason}
            log.seek(0)
            text = log.read()
    if local:
        if state["state"] == "failed":
            Path(given.output + ".log").write_bytes(text)
            sys.stderr.write("millrace: stream: " + state["reason"] + "\n")
        print(json.dumps(state))
        sys.exit(state["state"] != "succeeded")
    jobs = ROOT / ".jobs"
    jobs.mkdir(exist_ok=True)
    (jobs / f"{number}.json").write_text(json.dumps(state))
    (jobs / f"{number}.log").write_bytes(text)
    print(json.dumps({"job": number}))


def job(words):
    verb, number = words[0], words[1]
    path = ROOT / ".jobs" / f"{number}.json"
    if not path.exists():
        fail(f"job {verb}", f"there is no job {number}")
    state = json.loads(path.read_text())
    if verb == "status":
        print(json.dumps({name: value for name, value in state.items() if name != "counters"}))
    elif verb == "counters":
        print(json.dumps(state.get("counters", [])))
    elif verb == "logs":
        sys.stdout.buffer.write((ROOT / ".jobs" / f"{number}.log").read_bytes())
    elif verb == "kill":
        path.write_text(json.dumps({**state, "state": "killed", "reason": "by me"}))


if __name__ == "__main__":
    words = sys.argv[1:]
    if os.environ.get("FAKE_LOG"):
        with open(os.environ["FAKE_LOG"], "a") as record:
            record.write(json.dumps(words) + "\n")
    if os.environ.get("FAKE_UNREACHABLE"):
        fail(words[0], "the master at localhost:1 cannot be reached", 3)
    if words[0] == "fs":
        fs(words[1:])
    elif words[0] == "stream":
        stream(words[1:], local=False)
    elif words[0] == "local":
        stream(words[words.index("stream") + 1 :], local=True)
    elif words[0] == "job":
        job(words[1:])
    elif words == ["node", "list", "--json"]:
        print(os.environ.get("FAKE_NODES", "[]"))
    else:
        fail(words[0], "no such command", 2)
