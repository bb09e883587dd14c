#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants each bug of tests/chaos/bugs in a copy of what it touches, builds the simulation with it, and tells the seed
that finds it.

A patch is a unified diff against the tree; its first lines, which begin with '#', say what it breaks ("# breaks: ...") and
may name the kinds of faults that the seeds are to have ("# faults: master-kill"). Nothing in the tree is changed: the
sources that a patch touches are copied, compiled with the commands of the build, and linked before the libraries that
hold the originals. A patch may touch .cc files only.
"""
import argparse
import json
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent


def header(text, key):
    found = re.search(rf"^# {key}: (.*)$", text, re.M)
    return found.group(1).strip() if found else ""


def compile_commands(build):
    commands = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        commands[str(pathlib.Path(entry["directory"], entry["file"]).resolve())] = entry
    return commands


def link_command(build):
    """How chaos_sim is linked, without the shell around it."""
    lines = subprocess.run(["ninja", "-C", str(build), "-t", "commands", "-s", "test/chaos_sim"], check=True,
                           capture_output=True, text=True).stdout.strip().splitlines()
    command = lines[-1].removeprefix(": && ")
    return re.sub(r" && :$", "", command)


def compiled(source, original, place, commands):
    entry = commands[str(original)]
    words = shlex.split(entry["command"])
    out = place / (source.name + ".o")
    kept, skip = [], False
    for word in words:
        if skip:
            skip = False
            continue
        if word in ("-o", "-c", "-MF", "-MT"):
            skip = True
            continue
        if word == "-MD":
            continue
        kept.append(word)
    command = kept + ["-iquote", str(original.parent), "-o", str(out), "-c", str(source)]
    subprocess.run(command, cwd=entry["directory"], check=True)
    return out


def build_with(patch, text, build, place):
    touched = re.findall(r"^\+\+\+ b/(\S+)", text, re.M)
    for name in touched:
        if not name.endswith(".cc"):
            raise ValueError(f"{patch.name}: touches {name}; only .cc files can be exchanged")
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, place / name)
    subprocess.run(["patch", "-s", "-p1", "-i", str(patch)], cwd=place, check=True)
    commands = compile_commands(build)
    objects = [compiled(place / name, ROOT / name, place, commands) for name in touched]
    program = place / "chaos_sim"
    command = link_command(build).replace(" -o test/chaos_sim", f" {' '.join(map(str, objects))} -o {program}")
    subprocess.run(command, shell=True, cwd=build, check=True)
    return program


def fits(patch):
    """Whether the bug can still be planted: its lines are where they were."""
    tried = subprocess.run(["patch", "-s", "-f", "--dry-run", "-p1", "-i", str(patch)], cwd=ROOT, capture_output=True, text=True, check=False)
    if tried.returncode:
        print(f"{patch.stem:34} DOES NOT APPLY\n{tried.stdout}{tried.stderr}", flush=True)
    return tried.returncode == 0


def hunt(patch, arguments):
    text = patch.read_text()
    with tempfile.TemporaryDirectory() as place:
        program = build_with(patch, text, arguments.build, pathlib.Path(place))
        command = [str(program), "--seeds", str(arguments.seeds), "--jobs", str(arguments.jobs)]
        if header(text, "faults"):
            command += ["--faults", header(text, "faults")]
        begin = time.monotonic()
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        seconds = time.monotonic() - begin
    seeds = [int(seed) for seed in re.findall(r"^seed (\d+) failed", run.stdout, re.M)]
    why = re.search(r"FAILED (.*)", run.stdout)
    found = f"seed {min(seeds):4}" if seeds else "NOT FOUND"
    print(f"{patch.stem:34} {found} {seconds:6.1f} s  {why.group(1)[:150] if why else ''}", flush=True)
    return bool(seeds)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, help="a build of the apart preset (default: build/apart, made)")
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--check", action="store_true", help="only look whether each can still be planted")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    patches = [p for p in sorted((HERE / "bugs").glob("*.patch")) if not arguments.names or p.stem in arguments.names]
    if arguments.check:
        return 1 if [patch for patch in patches if not fits(patch)] else 0
    if arguments.build is None:
        arguments.build = ROOT / "build/apart"  # a file can be exchanged only where it is a unit
        subprocess.run(["cmake", "--preset", "apart"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    arguments.build = arguments.build.resolve()
    subprocess.run(["ninja", "-C", str(arguments.build), "chaos_sim"], check=True, stdout=subprocess.DEVNULL)
    missed = 0
    for patch in patches:
        try:
            missed += not hunt(patch, arguments)
        except (subprocess.CalledProcessError, ValueError) as error:
            print(f"{patch.stem:34} DOES NOT BUILD: {error}", flush=True)
            missed += 1
    print(f"{len(patches)} bugs, {missed} missed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
