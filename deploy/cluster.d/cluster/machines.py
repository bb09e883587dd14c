# SPDX-License-Identifier: Apache-2.0
"""The verbs that play a playbook. Their help is VERBS_HELP."""

import json
import os
import tempfile

from cluster import confirm
from cluster.failure import Failure, WrongUse

EXIT = "Exit status: 0 it is done; 1 it failed, or it was not agreed to; 2 wrong usage; 3 EC2 or a machine cannot be reached.\n"
MORE = "Other words go on to `ansible-playbook`, as in -v or -e NAME=VALUE.\n"
HELP = {
    "up": f"""Makes a cluster, or brings it to what the file says now.

  deploy/cluster up -f FILE [--yes] [--over-budget]    on EC2, once its price is accepted by --yes or by an answer
  deploy/cluster up -i HOSTS                           of machines that exist

The price comes from the tables millrace_prices and millrace_volume_prices, which `deploy/cluster prices` can write. If it is beyond
millrace_budget, nothing is started without --over-budget. {MORE}
{EXIT}""",
    "down": f"""Ends a cluster.

  deploy/cluster down -f FILE [--yes]    ends its machines on EC2, with their disks but those that the file keeps
  deploy/cluster down -i HOSTS [--yes]   takes Millrace off machines that exist; their data stays

It asks first; --yes answers that. {MORE}
{EXIT}""",
    "stop": f"""Stops the machines of a cluster on EC2. Their disks stay, and cost; `deploy/cluster start` starts them again.

  deploy/cluster stop -f FILE [--yes]

It asks first, since jobs that run are cut off; --yes answers that. {MORE}
{EXIT}""",
    "start": f"""Starts the machines of a cluster on EC2 that was stopped, by `deploy/cluster stop` or because it was idle (millrace_idle_after).

  deploy/cluster start -f FILE

{MORE}
{EXIT}""",
    "move-master": f"""Moves the master of a cluster on EC2 to a new machine, with the volume that has its database. Jobs go on.

  deploy/cluster move-master -f FILE [--yes]

It asks first; --yes answers that. {MORE}
{EXIT}""",
}


def up(cluster, rest):
    flags, rest = confirm.take(rest, "--yes", "--over-budget")
    if not cluster.cloud:
        return cluster.play("cluster.yml", *rest)
    over = ["-e", "millrace_over_budget=true"] if flags["--over-budget"] else []
    accepted = ["-e", "millrace_price_accepted=true", *over]
    with tempfile.TemporaryDirectory(prefix="millrace-price-") as place:
        path = os.path.join(place, "price.json")
        status = cluster.play("cloud.yml", "-e", f"millrace_price_file={path}", *(accepted if flags["--yes"] else over), *rest, inventory=False)
        if status != 0:
            return status
        asked = {"machines": 0, "accepted": True, "over_budget": False}
        if os.path.exists(path):  # not if the words that go on have it only list its tasks
            with open(path, encoding="utf-8") as f:
                asked = json.load(f)
    if asked["machines"] > 0 and not asked["accepted"]:
        # The playbook has shown the price and stopped there.
        if asked["over_budget"]:
            raise Failure("nothing was started: that is beyond millrace_budget; --over-budget says that it is meant")
        if not confirm.agreed("Start these machines at that price?"):
            raise Failure("nothing was started: --yes, or an answer, says that the price is accepted")
        status = cluster.play("cloud.yml", *accepted, *rest, inventory=False)
        if status != 0:
            return status
    return cluster.play("cluster.yml", *rest)


def down(cluster, rest):
    flags, rest = confirm.take(rest, "--yes")
    confirm.need("This ends all machines of the cluster, with all that is on them" if cluster.cloud
                 else "This stops Millrace on all its machines and removes it; data stays", flags["--yes"])
    if cluster.cloud:
        return cluster.play("cloud_down.yml", "-e", "millrace_down={{ millrace_cluster }}", *rest, inventory=False)
    return cluster.play("teardown.yml", *rest)


def _of_cloud(cluster, verb):
    if not cluster.cloud:
        raise WrongUse(f"{verb} is for a cluster on EC2 (-f FILE); machines that exist are yours to switch on and off")


def stop(cluster, rest):
    _of_cloud(cluster, "stop")
    flags, rest = confirm.take(rest, "--yes")
    confirm.need("This stops all machines of the cluster; jobs that run are cut off, and disks stay", flags["--yes"])
    return cluster.play("cloud_stop.yml", *rest)


def start(cluster, rest):
    _of_cloud(cluster, "start")
    return cluster.play("cloud_start.yml", *rest)


def move_master(cluster, rest):
    _of_cloud(cluster, "move-master")
    flags, rest = confirm.take(rest, "--yes")
    confirm.need("This starts a new machine for the master, at the price of the one it has, and stops that one; the master is away meanwhile", flags["--yes"])
    return cluster.play("move_master.yml", "-e", "millrace_price_accepted=true", *rest)
