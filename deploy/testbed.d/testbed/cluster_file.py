# SPDX-License-Identifier: Apache-2.0
"""Reads the file that describes a testbed, and names every mistake with its key. Pure: text in, a Cluster out.

    name = "two-datacenters"       of the testbed; default: the file's
    [network]
    worker = "1Gbit"               a worker's link to its rack's switch, each way; "none": not shaped
    rack_uplink = "1Gbit"          a rack's link to its datacenter's switch, each way
    datacenter_link = "1Gbit"      a datacenter's link to the backbone that joins the datacenters, each way
    delay = "0ms"                  of a packet from one datacenter to another, one way
    [worker]                       of every worker; a rack may say otherwise for its own
    map_slots = 2
    reduce_slots = 2
    cpus = 0.5                     the most processor time, in cores; default: no limit
    disk = "40MB/s"                the most reads, and the most writes, of the disk; default: no limit
    [master]
    place = "east"                 DATACENTER or DATACENTER/RACK at whose switch it stands; default: the first datacenter
    scheduler = "fifo"
    [client]
    place = "east"                 default: where the master is
    [settings]                     options of master and workers, as of --set: dfs.replication = 2
    [[datacenter]]                 one or more
    name = "east"
    racks = 1                      so many racks, rack1 and on, of
    workers = 4                    so many workers; or else
    [[datacenter.rack]]            each by itself, with name, workers, and what [worker] has
"""

import dataclasses
import re
import tomllib

from testbed import units
from testbed.failure import WrongUse

MAX_RACKS, MAX_WORKERS = 200, 200  # a datacenter, a rack: they are numbers within addresses
MIN_CPUS = 0.05
SETTING_KINDS = {"master": "master", "dfs": "master", "worker": "worker", "task": "worker"}


@dataclasses.dataclass(frozen=True)
class Shape:
    """What a worker is given. cpus in cores, disk in bytes/s each way; None: no limit."""
    map_slots: int = 2
    reduce_slots: int = 2
    cpus: float | None = None
    disk: int | None = None


@dataclasses.dataclass(frozen=True)
class Worker:
    """number counts all workers from 0; address is 10.DATACENTER.RACK.WORKER, each from 1."""
    number: int
    datacenter: str
    rack: str
    rack_index: tuple[int, int]  # of the datacenter and of the rack in it, from 1
    address: str
    shape: Shape

    @property
    def name(self):
        return f"worker{self.number}"


@dataclasses.dataclass(frozen=True)
class Network:
    """Rates in bits/s, None: not shaped. delay in seconds, one way between datacenters."""
    worker: int | None = 10**9
    rack_uplink: int | None = 10**9
    datacenter_link: int | None = 10**9
    delay: float = 0.0


@dataclasses.dataclass(frozen=True)
class Cluster:
    """places: index (datacenter,) or (datacenter, rack), from 1, of every "DATACENTER" and "DATACENTER/RACK"."""
    name: str
    network: Network
    workers: tuple[Worker, ...]
    places: dict[str, tuple[int, ...]]
    master_place: str
    client_place: str
    scheduler: str
    master_settings: tuple[str, ...]
    worker_settings: tuple[str, ...]

    @property
    def datacenters(self):
        return [index for index in self.places.values() if len(index) == 1]

    @property
    def racks(self):
        return [index for index in self.places.values() if len(index) == 2]


def renamed(cluster, name):
    return dataclasses.replace(cluster, name=name)


def check_name(name):
    """Raises ValueError unless it can be the name of a testbed. It becomes a part of the names of namespaces and cgroups."""
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,40}", name):
        raise ValueError(f"{name!r} is not a name: wanted are letters, digits, '-' and '_', at most 41")
    return name


def sort_setting(text):
    """Returns ("master" or "worker", text) of NAME=VALUE. Raises ValueError."""
    match = re.fullmatch(r"([a-z]+)\.[a-z_.]+=.*", text, re.DOTALL)
    if not match or match[1] not in SETTING_KINDS:
        raise ValueError(f"{text!r} is not NAME=VALUE with a name that begins with master., dfs., worker. or task.")
    return SETTING_KINDS[match[1]], text


class _Table:
    """A table of the file that is read key by key; what was not asked for is a mistake."""

    def __init__(self, values, path):
        self.path = path
        if not isinstance(values, dict):
            raise WrongUse(f"{path}: {values!r} is not a table")
        self.values, self.known = values, []

    def key(self, name):
        return f"{self.path}.{name}" if self.path else name

    def has(self, name):
        return name in self.values

    def take(self, name, default, parse):
        self.known.append(name)
        if name not in self.values:
            return default
        try:
            return parse(self.values[name])
        except ValueError as error:
            raise WrongUse(f"{self.key(name)}: {error}") from None

    def table(self, name):
        self.known.append(name)
        return _Table(self.values.get(name, {}), self.key(name))

    def tables(self, name):
        self.known.append(name)
        found = self.values.get(name, [])
        if not isinstance(found, list) or not all(isinstance(value, dict) for value in found):
            raise WrongUse(f"{self.key(name)}: wanted are tables, each under [[{self.key(name)}]]")
        return [_Table(value, f"{self.key(name)}[{n}]") for n, value in enumerate(found, 1)]

    def end(self):
        for name in self.values:
            if name not in self.known:
                raise WrongUse(f"{self.key(name)}: there is no such key; known here are {', '.join(self.known)}")


def _integer(least, most):
    def parse(value):
        if type(value) is not int or not least <= value <= most:
            raise ValueError(f"{value!r} is not a whole number from {least} to {most}")
        return value
    return parse


def _cpus(value):
    if type(value) not in (int, float) or not MIN_CPUS <= value <= 1024:
        raise ValueError(f"{value!r} is not a number of cores from {MIN_CPUS} to 1024")
    return float(value)


def _positive(parse, least):
    def checked(value):
        got = parse(value)
        if got is not None and got < least:
            raise ValueError(f"{value!r} is too low; the least is {least}")
        return got
    return checked


def _text(value):
    if not isinstance(value, str) or not value or "\n" in value:
        raise ValueError(f"{value!r} is not a text of one line")
    return value


def _delay(value):
    got = units.seconds(value)
    if got > 10:
        raise ValueError(f"{value!r} is more than 10s")
    return got


def _read_shape(table, default):
    return Shape(
        map_slots=table.take("map_slots", default.map_slots, _integer(0, 1024)),
        reduce_slots=table.take("reduce_slots", default.reduce_slots, _integer(0, 1024)),
        cpus=table.take("cpus", default.cpus, _cpus),
        disk=table.take("disk", default.disk, _positive(units.bytes_per_second, 1 << 16)))


def _read_network(table):
    rate = _positive(units.bits_per_second, 10**5)
    network = Network(
        worker=table.take("worker", Network.worker, rate),
        rack_uplink=table.take("rack_uplink", Network.rack_uplink, rate),
        datacenter_link=table.take("datacenter_link", Network.datacenter_link, rate),
        delay=table.take("delay", Network.delay, _delay))
    table.end()
    return network


def _flatten(values, prefix):
    for name, value in values.items():
        key = f"{prefix}{name}"
        if isinstance(value, dict):
            yield from _flatten(value, key + ".")
        elif isinstance(value, bool):
            yield key, str(value).lower()
        elif isinstance(value, (str, int, float)):
            yield key, str(value)
        else:
            raise WrongUse(f"settings.{key}: {value!r} is neither a text nor a number nor true or false")


def _read_settings(table, scheduler, overrides):
    """What is said last holds, so overrides come last."""
    sorted_out = {"master": [], "worker": []}
    lines = [(f"settings.{key}", f"{key}={value}") for key, value in _flatten(table.values, "")]
    for where, text in lines + [("--set", text) for text in overrides]:
        try:
            kind, setting = sort_setting(text)
        except ValueError as error:
            raise WrongUse(f"{where}: {error}") from None
        sorted_out[kind].append(setting)
    if any(s.startswith("master.scheduler=") for s in sorted_out["master"]):
        raise WrongUse(f"settings.master.scheduler: say it as master.scheduler (it is {scheduler!r}), or with --scheduler")
    return tuple(sorted_out["master"]), tuple(sorted_out["worker"])


def _read_racks(table, default):
    """Returns (name, number of workers, shape) of each rack of a datacenter."""
    racks = table.tables("rack")
    if racks:
        for name in ("racks", "workers"):
            if table.has(name):
                raise WrongUse(f"{table.key(name)}: the racks are listed under [[datacenter.rack]], so leave it out")
        read = []
        for rack in racks:
            name = rack.take("name", f"rack{len(read) + 1}", check_name)
            read.append((name, rack.take("workers", 1, _integer(1, MAX_WORKERS)), _read_shape(rack, default)))
            rack.end()
            if name in [other for other, _, _ in read[:-1]]:
                raise WrongUse(f"{rack.key('name')}: {name!r} is a rack of this datacenter already")
        return read
    count = table.take("racks", 1, _integer(1, MAX_RACKS))
    workers = table.take("workers", 1, _integer(1, MAX_WORKERS))
    return [(f"rack{n}", workers, default) for n in range(1, count + 1)]


def _read_datacenters(tables, default):
    """Returns all workers, and the index of every place."""
    if not tables:
        raise WrongUse("datacenter: there is none; a file has at least [[datacenter]] with a name and workers")
    workers, places = [], {}
    for d, table in enumerate(tables[:MAX_RACKS], 1):
        datacenter = table.take("name", f"datacenter{d}", check_name)
        if datacenter in places:
            raise WrongUse(f"{table.key('name')}: {datacenter!r} is a datacenter already")
        places[datacenter] = (d,)
        for r, (rack, count, shape) in enumerate(_read_racks(table, default)[:MAX_RACKS], 1):
            places[f"{datacenter}/{rack}"] = (d, r)
            for n in range(1, count + 1):
                workers.append(Worker(len(workers), datacenter, rack, (d, r), f"10.{d}.{r}.{n}", shape))
        table.end()
    return tuple(workers), places


def _read_place(table, places, default):
    def known(value):
        if value not in places:
            raise ValueError(f"{value!r} is no place; there are {', '.join(places)}")
        return value
    return table.take("place", default, known)


def parse(text, default_name, scheduler=None, settings=()):
    """Returns the Cluster that text describes; scheduler and settings (NAME=VALUE) override it. Raises WrongUse."""
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise WrongUse(f"not TOML: {error}") from None
    top = _Table(values, "")
    name = top.take("name", default_name, check_name)
    network = _read_network(top.table("network"))
    worker = top.table("worker")
    shape = _read_shape(worker, Shape())
    worker.end()
    workers, places = _read_datacenters(top.tables("datacenter"), shape)
    master, client = top.table("master"), top.table("client")
    master_place = _read_place(master, places, next(iter(places)))
    client_place = _read_place(client, places, master_place)
    chosen = scheduler or master.take("scheduler", "fifo", _text)
    master.known.append("scheduler")
    master.end()
    client.end()
    master_settings, worker_settings = _read_settings(top.table("settings"), chosen, settings)
    top.end()
    return Cluster(name, network, workers, places, master_place, client_place, chosen, master_settings, worker_settings)
