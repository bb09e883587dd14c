# SPDX-License-Identifier: Apache-2.0
"""Schedulers in Python: a class that says in which order jobs get slots. The simulator and the master ask it over lines of text, which
docs/schedulers/external.md describes; this module keeps the state of the cluster from them.

    import millrace

    class Shortest(millrace.Policy):
        def order(self, cluster, kind):
            return sorted(cluster.jobs, key=lambda job: job.remaining(kind))

    if __name__ == "__main__":
        millrace.serve(Shortest)

`millrace sim WORKLOAD --scheduler external:shortest.py,fair` then compares it with fair.
"""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import Any, BinaryIO, ClassVar, Literal, Optional, Union
from urllib.parse import quote, unquote

from .errors import UsageError

Kind = Literal["map", "reduce", "permit"]
HOOKS = ("order", "place", "preempt", "wake")
KINDS: tuple[Kind, ...] = ("map", "reduce", "permit")
VERSION = "1"
_PLAIN = "_.:/+,;-"  # and letters and digits: these bytes stand for themselves


@dataclass
class Job:
    """A live job. Times are in microseconds, of the cluster's clock; sizes in bytes."""

    id: str
    name: str = ""
    user: str = ""
    pool: str = ""
    priority: str = "NORMAL"  # VERY_HIGH, HIGH, NORMAL, LOW or VERY_LOW
    submitted: int = 0
    order: int = 0  # among all jobs, by submission
    maps: int = 0
    reduces: int = 0
    bytes: int = 0  # of its input
    deadline: int = 0  # 0: none
    map_time: int = 0  # the user's estimate; 0: none
    reduce_time: int = 0
    program: str = ""
    input_type: str = ""
    profile_runs: int = 0  # earlier runs of the program over such input, and what they took
    profile_map_time: int = 0
    profile_reduce_time: int = 0
    profile_ratio: float = 0.0  # bytes that its maps wrote for reduces, over those that they read
    # How far it is. Running counts attempts, and so the slots that the job holds.
    maps_pending: int = 0
    maps_running: int = 0
    maps_done: int = 0
    reduces_pending: int = 0
    reduces_running: int = 0
    reduces_done: int = 0
    computing: int = 0  # of the running reduces
    demand_maps: int = 0  # running, and pending as far as they may start
    demand_reduces: int = 0
    demand_permits: int = 0
    offered: str = ""  # the kinds of slots that it could take now: m, r and p (a permit)
    map_mean: int = 0  # of its own finished attempts; 0: there are none
    reduce_mean: int = 0
    failed: int = 0  # attempts

    def running(self, kind: Kind) -> int:
        """Returns the slots of the kind that the job holds."""
        return {"map": self.maps_running, "reduce": self.reduces_running, "permit": self.computing}[kind]

    def demand(self, kind: Kind) -> int:
        """Returns the slots of the kind that the job holds or could use now."""
        return {"map": self.demand_maps, "reduce": self.demand_reduces, "permit": self.demand_permits}[kind]

    def remaining(self, kind: Kind) -> int:
        """Returns how many of its tasks of the kind (of a permit: of its reduces) are not done."""
        return self.maps - self.maps_done if kind == "map" else self.reduces - self.reduces_done

    def task_time(self, kind: Kind) -> Optional[int]:
        """Returns what a task of the kind takes: by its own finished ones, else by the user's estimate, else by earlier runs; None if
        nothing is known."""
        known = (self.map_mean, self.map_time, self.profile_map_time) if kind == "map" else (self.reduce_mean, self.reduce_time, self.profile_reduce_time)
        return next((time for time in known if time > 0), None)

    def may_take(self, kind: Kind) -> bool:
        """Returns whether the job could take a slot of the kind now."""
        return kind[0] in self.offered


@dataclass
class Node:
    """A node that takes part."""

    id: str
    rack: str = ""
    datacenter: str = ""
    maps: int = 0  # slots
    reduces: int = 0
    free_maps: int = 0
    free_reduces: int = 0


@dataclass
class Cluster:
    """What the policy sees. It is kept up to date; a policy changes nothing in it."""

    now: int = 0  # in microseconds; of a simulation: since its start
    nodes: dict[str, Node] = field(default_factory=dict)  # by id
    slots: dict[str, int] = field(default_factory=lambda: {"map": 0, "reduce": 0, "permit": 0})
    jobs_by_id: dict[str, Job] = field(default_factory=dict)
    refused: list[tuple[str, str]] = field(default_factory=list)  # what of the last answer was refused, and why

    @property
    def jobs(self) -> list[Job]:
        """The live jobs, in the order of their submission."""
        return sorted(self.jobs_by_id.values(), key=lambda job: job.order)


class Policy:
    """The base class of a scheduler. A subclass overrides what it wants to decide.

    `kind`: a "ranking" is asked when something has changed, at most every half second, and nobody waits for it; an "assignment" is asked
    for each slot, about the present state.
    """

    kind: ClassVar[Literal["ranking", "assignment"]] = "ranking"

    def order(self, cluster: Cluster, kind: Kind) -> Iterable[Union[Job, str]]:
        """Returns the jobs in the order in which they get slots of the kind. Jobs that it leaves out come after these, in the order of the
        fallback. A permit lets a reduce that has copied its input compute; there are fewer than reduces under +ccs alone."""
        return ()

    def place(self, cluster: Cluster) -> Iterable[tuple[Union[Job, str], Union[Node, str], Kind]]:
        """Returns launches: the job gets the slot on the node, "map" or "reduce". What remains free goes by `order`."""
        return ()

    def preempt(self, cluster: Cluster) -> Iterable[tuple[Union[Job, str], Kind, int, str]]:
        """Returns what is killed to make room: so many attempts of the job, the newest first, and why."""
        return ()

    def wake(self, cluster: Cluster) -> Optional[int]:
        """Returns when to ask even if nothing has changed, in microseconds as cluster.now; None: never."""
        return None


# ---- lines ----

_JOB_FIELDS = {of.name: {"int": int, "str": str, "float": float}[str(of.type)] for of in fields(Job)}
_NODE_FIELDS = {of.name: {"int": int, "str": str}[str(of.type)] for of in fields(Node)}


def _parse(words: list[str]) -> dict[str, str]:
    return {key: unquote(value) for key, _, value in (word.partition("=") for word in words if word)}


def _typed(values: dict[str, str], types: dict[str, Any]) -> dict[str, Any]:
    """A later release may say more: what is not known is passed over."""
    return {key: types[key](value) for key, value in values.items() if key in types}


def _id(of: Union[Job, Node, str]) -> str:
    return of if isinstance(of, str) else of.id


class Mirror:
    """Keeps a Cluster by the lines that tell of it."""

    def __init__(self) -> None:
        self.cluster = Cluster()

    def read(self, line: str) -> Optional[int]:
        """Takes one line. Returns the number of the question if the line asks for a decision."""
        word, *rest = line.split(" ")
        values = _parse(rest)
        cluster = self.cluster
        if word == "whole":
            self.cluster = Cluster()
        elif word == "at":
            cluster.now = int(values["now"])
            cluster.refused = []
        elif word == "node":
            cluster.nodes[values["id"]] = Node(**_typed(values, _NODE_FIELDS))
        elif word == "lost":
            cluster.nodes.pop(values["id"], None)
        elif word == "slots":
            cluster.slots = {"map": int(values["maps"]), "reduce": int(values["reduces"]), "permit": int(values["permits"])}
        elif word == "job":
            told = _typed(values, _JOB_FIELDS)
            before = cluster.jobs_by_id.get(told["id"])
            if before is None:
                cluster.jobs_by_id[told["id"]] = Job(**told)
            else:
                vars(before).update(told)
        elif word == "tasks":
            job = cluster.jobs_by_id[values.pop("job")]
            vars(job).update(map_mean=0, reduce_mean=0, failed=0)  # they are left out where they are 0
            vars(job).update(_typed(values, _JOB_FIELDS))
        elif word == "ended":
            cluster.jobs_by_id.pop(values["job"], None)
        elif word == "refused":
            cluster.refused.append((values["what"], values["why"]))
        elif word == "decide":
            return int(values["question"])
        return None


def _returned(policy: Policy, hook: str, what: Any, wanted: str) -> list[Any]:
    """Returns what a hook has returned as a list, or says which hook returned what in place of what."""
    if isinstance(what, (str, bytes)) or not isinstance(what, Iterable):
        raise UsageError(f"{type(policy).__name__}.{hook}() returned {what!r}; it returns {wanted} (none: an empty list)")
    return list(what)


def _tuples(policy: Policy, hook: str, what: Any, wanted: str, size: int) -> list[Any]:
    items = _returned(policy, hook, what, wanted)
    for item in items:
        if not isinstance(item, (tuple, list)) or len(item) != size:
            raise UsageError(f"{type(policy).__name__}.{hook}() returned {item!r} among others; it returns {wanted}")
    return items


def _ordered(policy: Policy, what: Any) -> list[str]:
    wanted = "jobs, or their ids"
    ids = []
    for item in _returned(policy, "order", what, wanted):
        if not isinstance(item, (Job, str)):
            raise UsageError(f"{type(policy).__name__}.order() returned {item!r} among others; it returns {wanted}")
        ids.append(_id(item))
    return ids


def answer(policy: Policy, cluster: Cluster) -> list[str]:
    """Returns the lines of the policy's answer about the present state."""
    lines = []
    for job, kind, tasks, reason in _tuples(policy, "preempt", policy.preempt(cluster), "what is killed, as (job, kind, number of attempts, why)", 4):
        lines.append(f"preempt kind={kind} job={_id(job)} tasks={tasks} reason={quote(reason, safe=_PLAIN)}")
    for job, node, kind in _tuples(policy, "place", policy.place(cluster), "launches, as (job, node, kind)", 3):
        lines.append(f"launch kind={kind} job={_id(job)} node={_id(node)}")
    words = []
    for kind in KINDS:
        jobs = ",".join(_ordered(policy, policy.order(cluster, kind)))
        words.append(f"{kind}s={jobs}")
    lines.append("order " + " ".join(words))
    at = policy.wake(cluster)
    if at is not None:
        lines.append(f"wake at={int(at)}")
    return lines


def _check_hooks(policy: Policy) -> None:
    """Refuses what decides nothing: a hook whose name is misspelt is no hook."""
    made = type(policy)
    if not isinstance(policy, Policy):
        raise UsageError(f"serve() takes a subclass of millrace.Policy, and {made.__name__} is none")
    if any(getattr(made, hook) is not getattr(Policy, hook) for hook in HOOKS):
        return
    names = [name for name, value in vars(made).items() if callable(value) and not name.startswith("_")]
    near = [(name, like[0]) for name in names if (like := difflib.get_close_matches(name, HOOKS, 1, 0.6))]
    hint = f"; is {near[0][0]}() meant to be {near[0][1]}()?" if near else ""
    raise UsageError(f"{made.__name__} has none of order(), place(), preempt() and wake(), so it would decide nothing{hint}")


def serve(policy: Union[Policy, type[Policy]], *, source: Optional[BinaryIO] = None, sink: Optional[BinaryIO] = None) -> None:
    """Answers until whoever asks has gone. `source` and `sink` are standard input and output if they are not given; what the policy prints
    goes to standard error then, since a stray line would be taken for an answer."""
    made = policy() if isinstance(policy, type) else policy
    _check_hooks(made)
    source = source or sys.stdin.buffer
    sink = sink or sys.stdout.buffer
    printed, sys.stdout = sys.stdout, sys.stderr
    try:
        _serve(made, source, sink)
    except BrokenPipeError:
        pass  # whoever asked has gone
    finally:
        sys.stdout = printed


def _serve(policy: Policy, source: BinaryIO, sink: BinaryIO) -> None:
    mirror = Mirror()
    for raw in source:
        line = raw.decode("utf-8", "surrogateescape").rstrip("\n")
        if line.startswith("hello "):
            if line.split(" ")[1] != VERSION:
                raise UsageError(f"this package speaks version {VERSION} of the protocol, and was greeted with {line!r}: install the same release of both")
            name = quote(type(policy).__name__, safe=_PLAIN)
            reply = [f"hello {VERSION} name={name} kind={policy.kind}"]
        else:
            question = mirror.read(line)
            if question is None:
                continue
            reply = [*answer(policy, mirror.cluster), f"seen {question}"]
        sink.write(("\n".join(reply) + "\n").encode("utf-8", "surrogateescape"))
        sink.flush()
