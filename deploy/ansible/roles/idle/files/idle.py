# SPDX-License-Identifier: Apache-2.0
"""Stops the machines of a cluster on EC2 that nobody has used for a time, the master last: idle.py SETTINGS STATE, called every five minutes
by millrace-idle.timer on the master. `deploy/cluster start` starts them again.

What counts as use, as far as it can be seen from the master:
  - a job waits or runs, or one was submitted, or ended, since the last look
  - files, directories, blocks or the bytes on the workers' disks have changed since the last look (reading is not seen)
  - somebody has typed at a terminal of the master, or has logged in or out there; who is only logged in does not count
  - a connection by ssh without a terminal is open: a tunnel, a copy, a command. Logins on other machines are not seen

Nothing is stopped while the master does not answer, nor before the whole time has passed since the start of the machine. Time is that since
the start of the machine, so that it does not matter how the clock is set. What would lose data, or cannot be stopped, is refused, and the
journal says so: blocks on instance store, and spot machines.
"""

import json
import os
import re
import subprocess
import sys
import urllib.request

METADATA = "http://169.254.169.254/latest"
PATIENCE = 60  # seconds for each question


class Seen:
    """What one look has found. `mark` is anything that changes with use, as JSON has it; `live` is None if the master does not answer."""

    def __init__(self, boot, uptime, live=None, mark=None, connections=0):
        self.boot, self.uptime, self.live, self.mark, self.connections = boot, uptime, live, mark, connections


def decide(seen, state, after):
    """Whether the machines are to be stopped, why (not), and the state for the next look. The state is what the look before has returned, or
    None. Times are in seconds since the start of the machine. Pure."""
    def used(why):
        return False, why, {"boot": seen.boot, "since": seen.uptime, "mark": seen.mark}

    since = state.get("since") if isinstance(state, dict) else None
    if not isinstance(since, (int, float)) or state.get("boot") != seen.boot or since > seen.uptime:
        return used("this is the first look since the start")
    if seen.live is None:
        # What happened meanwhile is not known.
        return False, "the master does not answer", {"boot": seen.boot, "since": seen.uptime, "mark": None}
    if seen.live > 0:
        return used(f"{seen.live} jobs wait or run")
    if seen.mark != state.get("mark"):
        return used("something was done since the last look")
    if seen.connections > 0:
        return used(f"{seen.connections} connections by ssh without a terminal are open")
    idle = seen.uptime - since
    text = f"nobody has used the cluster for {idle / 60:.0f} of {after / 60:.0f} minutes"
    return idle >= after, text, {"boot": seen.boot, "since": since, "mark": seen.mark}


def tags_of(instance):
    return {tag["Key"]: tag["Value"] for tag in instance.get("Tags", [])}


def plan(instances, own, losers=()):
    """What to stop: the ids of the other machines, and why nothing may be stopped, or None. Instances are as EC2 describes them; `losers` are
    names of machines that have blocks on instance store. Pure."""
    running = [one for one in instances if one["State"]["Name"] in ("pending", "running")]
    mine = [one for one in running if one["InstanceId"] == own]
    if not mine or tags_of(mine[0]).get("millrace-role") != "master":
        return [], "EC2 does not know this machine as the cluster's master"

    def names(found):
        return ", ".join(sorted(tags_of(one).get("Name", one["InstanceId"]) for one in found))
    spot = [one for one in running if one.get("InstanceLifecycle") == "spot" or tags_of(one).get("millrace-market") == "spot"]
    if spot:
        return [], f"{names(spot)}: spot machines cannot be stopped, only ended with all that is on them"
    lost = [one for one in running if tags_of(one).get("millrace-instance-store") == "data" or tags_of(one).get("Name") in losers]
    if lost:
        return [], f"{names(lost)}: blocks on instance store would be lost"
    return [one["InstanceId"] for one in running if one["InstanceId"] != own], None


def connections_of(commands):
    """How many of the processes are those of connections by ssh without a terminal. Pure; a process is its command line."""
    return sum(1 for command in commands if re.match(r"sshd(-session)?: .*@notty\b", command))


def asked(ask, *words):
    """The JSON that `millrace` says to a question, or None. The status of the cluster, healthy or not, is an answer."""
    try:
        done = subprocess.run([*ask, *words, "--json"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=PATIENCE, check=False)
        return json.loads(done.stdout) if done.returncode in (0, 1, 4) else None
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None


def terminals(directory="/dev/pts"):
    """When somebody has last typed at each terminal, by the clock of that time."""
    found = {}
    for name in filter(str.isdigit, os.listdir(directory)):
        try:
            found[name] = int(os.stat(os.path.join(directory, name)).st_atime)
        except OSError:
            pass
    return found


def processes():
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                yield f.read().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            pass


def look(ask):
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as f:
        boot = f.read().strip()
    with open("/proc/uptime", encoding="ascii") as f:
        uptime = float(f.read().split()[0])
    status, last = asked(ask, "cluster", "status"), asked(ask, "job", "list", "--last", "1")
    try:
        live = status["jobs"]["running"] + status["jobs"]["waiting"]
        mark = {"job": [[one["job"], one["state"], one["ended_at"]] for one in last], "files": status["files"], "blocks": status["blocks"]["blocks"],
                "used": status["disks"]["used"], "terminals": terminals()}
    except (KeyError, TypeError):
        return Seen(boot, uptime)
    return Seen(boot, uptime, live, mark, connections_of(processes()))


def metadata(path):
    """What the instance's metadata service says, by IMDSv2."""
    token = urllib.request.Request(f"{METADATA}/api/token", method="PUT", headers={"X-aws-ec2-metadata-token-ttl-seconds": "60"})
    with urllib.request.urlopen(token, timeout=PATIENCE) as answer:
        headers = {"X-aws-ec2-metadata-token": answer.read().decode()}
    with urllib.request.urlopen(urllib.request.Request(f"{METADATA}/meta-data/{path}", headers=headers), timeout=PATIENCE) as answer:
        return answer.read().decode()


def stop(settings, ec2, own):
    """Stops the machines, this one last. Returns what to say, and whether it was done."""
    pages = ec2.get_paginator("describe_instances").paginate(Filters=[{"Name": "tag:millrace-cluster", "Values": [settings["cluster"]]}])
    others, refused = plan([one for page in pages for reservation in page["Reservations"] for one in reservation["Instances"]], own, settings["losers"])
    if refused:
        return f"the machines are not stopped: {refused}", False
    if others:
        ec2.stop_instances(InstanceIds=others)
    print(f"stopping {len(others) + 1} machines; deploy/cluster start starts them again", flush=True)
    ec2.stop_instances(InstanceIds=[own])
    return "this machine stops", True


def read(path):
    try:
        with open(path, encoding="utf-8") as f:
            return json.load(f)
    except (OSError, ValueError):
        return None


def main(settings_file, state_file):
    settings = read(settings_file)
    if settings is None:
        sys.exit(f"{settings_file} cannot be read")
    due, why, state = decide(look(settings["ask"]), read(state_file), settings["after"])
    with open(state_file + ".new", "w", encoding="utf-8") as f:
        json.dump(state, f)
    os.replace(state_file + ".new", state_file)
    print(why, flush=True)
    if not due:
        return 0
    try:
        import boto3
        said, done = stop(settings, boto3.client("ec2", region_name=metadata("placement/region")), metadata("instance-id"))
    except Exception as error:  # noqa: BLE001 (whatever AWS or the network says, it is tried again at the next look)
        said, done = f"the machines are not stopped: {error}", False
    print(said, flush=True)
    return 0 if done else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
