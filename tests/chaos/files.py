# SPDX-License-Identifier: Apache-2.0
"""Clients that put, overwrite, read, move and remove files while faults strike, and a model of what they were told.

An operation that was acknowledged has happened; one that failed may have happened or not, or may yet: what it touched is left
alone until the next quiet spell, when it has to be in one of the states that are possible. A directory of files (Room) belongs to
one client, so that its operations are in order."""

import hashlib
import json
import os

BLOCK = 1 << 20
MOST_FILES = 40  # of one client, more or less: the disks are small, and full ones are a fault of their own


class Room:
    """A directory, where it may be, and for each file the digests of what it may hold (None: no such file)."""

    def __init__(self, path):
        self.paths = [path]
        self.files = {}

    def present(self):
        """The names of files that are there without a doubt."""
        return sorted(name for name, may in self.files.items() if len(may) == 1 and None not in may)


def digest(data):
    return hashlib.sha256(data).hexdigest()


class Files:
    """Thread rule: the thread of its client; settle() when that rests."""

    def __init__(self, ground, rng, number, counts):
        self.ground, self.rng, self.counts = ground, rng, counts
        self.home, self.serial = f"/files/{number}", 0
        self.local = ground.path(f"client{number}")
        self.rooms = []
        self.wrong = []
        os.mkdir(self.local)

    def _run(self, *words, input=None):
        status, out, err = self.ground.client("fs", *words, input=input)
        self.counts[f"{words[0]} {'acknowledged' if status == 0 else 'failed'}"] += 1
        return status, out, err

    def step(self):
        """One operation."""
        usable = [room for room in self.rooms if len(room.paths) == 1]
        if len(usable) < 3:
            return self._make_room()
        room = self.rng.choice(usable)
        present = room.present()
        if sum(len(each.present()) for each in usable) > MOST_FILES and present:
            return self._remove(room, self.rng.choice(present))
        if len(present) < 3:
            return self._put(room, self._fresh())
        return self.rng.choice([self._put_fresh, self._put_fresh, self._overwrite, self._read, self._read, self._read, self._remove,
                                self._move, self._move_room])(room, self.rng.choice(present))

    def _fresh(self):
        self.serial += 1
        return f"n{self.serial}"

    def _make_room(self):
        path = f"{self.home}/{self._fresh()}"
        if self._run("mkdir", path)[0] == 0:
            self.rooms.append(Room(path))

    def _put_fresh(self, room, _):
        self._put(room, self._fresh())

    def _overwrite(self, room, name):
        self._put(room, name)

    def _put(self, room, name):
        size = self.rng.choice([0, 1, 1000, 70_000, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 17, self.rng.randrange(4 * BLOCK)])
        data = self.rng.randbytes(size)
        before = room.files.get(name, {None})
        path = os.path.join(self.local, name)
        with open(path, "wb") as f:
            f.write(data)
        status = self._run("put", "-f", "--block-size", "1M", "--replication", self.rng.choice(["2", "3"]), path, f"{room.paths[0]}/{name}")[0]
        os.unlink(path)
        room.files[name] = {digest(data)} if status == 0 else before | {digest(data)}

    def _read(self, room, name):
        status, data, _ = self._run("cat", f"{room.paths[0]}/{name}")
        if status == 0 and digest(data) not in room.files[name]:
            self.wrong.append(f"{room.paths[0]}/{name}: a read gave {len(data)} bytes that were never written there")

    def _remove(self, room, name):
        status = self._run("rm", f"{room.paths[0]}/{name}")[0]
        room.files[name] = {None} if status == 0 else room.files[name] | {None}

    def _move(self, room, name):
        target, held = self._fresh(), room.files[name]
        status = self._run("mv", f"{room.paths[0]}/{name}", f"{room.paths[0]}/{target}")[0]
        room.files[name], room.files[target] = ({None}, held) if status == 0 else (held | {None}, held | {None})

    def _move_room(self, room, _):
        target = f"{self.home}/{self._fresh()}"
        status = self._run("mv", room.paths[0], target)[0]
        room.paths = [target] if status == 0 else [room.paths[0], target]

    def settle(self):
        """Reads all back; gives violations, a line each, and takes what is there for what is known."""
        out, wrong = self.wrong, []
        self.wrong = []
        listed = self._listed()
        for room in self.rooms:
            at = [path for path in room.paths if path in listed]
            if len(at) != 1:
                wrong.append(f"{' or '.join(room.paths)}: {len(at)} of these directories are there, not one")
                continue
            room.paths = at
            wrong += self._settle_room(room, listed[at[0]])
        self.rooms = [room for room in self.rooms if len(room.paths) == 1]
        return out + wrong

    def _listed(self):
        status, data, why = self.ground.client("fs", "ls", "-R", "--json", self.home)
        if status != 0:
            return {}
        listed = {}
        for entry in json.loads(data):
            if entry["type"] == "directory":
                listed.setdefault(entry["path"], set())
            else:
                parent, _, name = entry["path"].rpartition("/")
                listed.setdefault(parent, set()).add(name)
        return listed

    def _settle_room(self, room, names):
        wrong = [f"{room.paths[0]}/{name} is there, and nobody put it" for name in sorted(names - set(room.files))]
        for name, may in sorted(room.files.items()):
            path = f"{room.paths[0]}/{name}"
            status, data, why = self.ground.client("fs", "cat", path) if name in names else (0, None, b"")
            got = digest(data) if data is not None and status == 0 else None
            if name in names and status != 0:
                wrong.append(f"{path} cannot be read: {why.decode(errors='replace').strip()}")
                continue
            if got not in may:
                wrong.append(f"{path}: " + ("acknowledged, and gone" if got is None else f"{len(data)} bytes that are not what was acknowledged"))
            self.counts["files read back"] += got is not None
            self.counts["bytes read back"] += len(data or b"")
            room.files[name] = {got}
        room.files = {name: may for name, may in room.files.items() if may != {None}}
        return wrong
