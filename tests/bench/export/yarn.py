# SPDX-License-Identifier: Apache-2.0
"""A Hadoop with YARN on this machine, made of its jars (pom.xml), for the tests and figures of exported jobs."""

import json
import os
import socket
import subprocess
import time
import urllib.request
from xml.sax.saxutils import escape

# What Hadoop's libraries reach into, which Java 17 keeps closed.
OPENS = " ".join(f"--add-opens=java.base/java.{package}=ALL-UNNAMED" for package in ("lang", "util", "io", "net", "nio"))
PATIENCE_SECONDS = 120

MAPRED = """#!/bin/sh
# mapred streaming: what Hadoop's own bin/mapred does for it.
[ "$1" = streaming ] || {{ echo "mapred: only streaming is here" >&2; exit 2; }}
shift
exec java {opens} $HADOOP_CLIENT_OPTS -Dhadoop.root.logger=WARN,console -cp "${{HADOOP_CONF_DIR:-{home}/etc/hadoop}}:{jars}/*" \\
  org.apache.hadoop.streaming.HadoopStreaming "$@"
"""
LOG = """log4j.rootLogger=WARN,console
log4j.appender.console=org.apache.log4j.ConsoleAppender
log4j.appender.console.target=System.err
log4j.appender.console.layout=org.apache.log4j.PatternLayout
log4j.appender.console.layout.ConversionPattern=%d{ISO8601} %p %c{2}: %m%n
"""


def make_home(jars, place):
    """Makes a HADOOP_HOME in `place` whose bin/mapred runs streaming jobs in one process, unless HADOOP_CONF_DIR says otherwise."""
    os.makedirs(os.path.join(place, "bin"), exist_ok=True)
    conf = os.path.join(place, "etc", "hadoop")
    os.makedirs(conf, exist_ok=True)
    write_site(conf, "core-site", {"fs.defaultFS": "file:///", "hadoop.tmp.dir": os.path.join(place, "tmp")})
    with open(os.path.join(conf, "log4j.properties"), "w", encoding="ascii") as f:
        f.write(LOG)
    program = os.path.join(place, "bin", "mapred")
    with open(program, "w", encoding="utf-8") as f:
        f.write(MAPRED.format(opens=OPENS, home=place, jars=os.path.abspath(jars)))
    os.chmod(program, 0o755)
    return place


def write_site(directory, name, properties):
    lines = "".join(f"  <property><name>{escape(k)}</name><value>{escape(str(v))}</value></property>\n" for k, v in properties.items())
    with open(os.path.join(directory, name + ".xml"), "w", encoding="utf-8") as f:
        f.write(f"<configuration>\n{lines}</configuration>\n")


def free_ports(count):
    held = [socket.socket() for _ in range(count)]
    try:
        for each in held:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in held]
    finally:
        for each in held:
            each.close()


class Yarn:
    """A resource manager and a node manager over local files. `conf` is for HADOOP_CONF_DIR."""

    def __init__(self, jars, place, cores=2, memory_mb=6144, task_mb=768):
        self.jars, self.place = os.path.abspath(jars), place
        self.conf = os.path.join(place, "conf")
        os.makedirs(self.conf)
        scheduler, tracker, client, admin, self.web, node_web, localizer, node = free_ports(8)
        classpath = f"{self.conf},{self.jars}/*"
        write_site(self.conf, "core-site", {"fs.defaultFS": "file:///", "hadoop.tmp.dir": os.path.join(place, "tmp")})
        write_site(self.conf, "yarn-site", {
            "yarn.resourcemanager.hostname": "127.0.0.1",
            "yarn.resourcemanager.address": f"127.0.0.1:{client}",
            "yarn.resourcemanager.scheduler.address": f"127.0.0.1:{scheduler}",
            "yarn.resourcemanager.resource-tracker.address": f"127.0.0.1:{tracker}",
            "yarn.resourcemanager.admin.address": f"127.0.0.1:{admin}",
            "yarn.resourcemanager.webapp.address": f"127.0.0.1:{self.web}",
            "yarn.resourcemanager.scheduler.class": "org.apache.hadoop.yarn.server.resourcemanager.scheduler.fifo.FifoScheduler",
            "yarn.scheduler.minimum-allocation-mb": 128,
            "yarn.nodemanager.hostname": "127.0.0.1",
            "yarn.nodemanager.address": f"127.0.0.1:{node}",
            "yarn.nodemanager.localizer.address": f"127.0.0.1:{localizer}",
            "yarn.nodemanager.webapp.address": f"127.0.0.1:{node_web}",
            "yarn.nodemanager.aux-services": "mapreduce_shuffle",
            "yarn.nodemanager.aux-services.mapreduce_shuffle.class": "org.apache.hadoop.mapred.ShuffleHandler",
            "yarn.nodemanager.local-dirs": os.path.join(place, "local"),
            "yarn.nodemanager.log-dirs": os.path.join(place, "logs"),
            "yarn.nodemanager.resource.memory-mb": memory_mb,
            "yarn.nodemanager.resource.cpu-vcores": cores + 1,  # one for the application master
            "yarn.nodemanager.vmem-check-enabled": "false",
            "yarn.nodemanager.pmem-check-enabled": "false",
            "yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": 100,
            "yarn.nodemanager.disk-health-checker.min-free-space-per-disk-mb": 0,
            "yarn.nodemanager.delete.debug-delay-sec": 0,
            "yarn.application.classpath": classpath,
        })  # fmt: skip
        write_site(self.conf, "mapred-site", {
            "mapreduce.framework.name": "yarn",
            "mapreduce.application.classpath": classpath,
            "mapreduce.shuffle.port": 0,
            "mapreduce.map.memory.mb": task_mb,
            "mapreduce.reduce.memory.mb": task_mb,
            "mapred.child.java.opts": f"-Xmx{task_mb * 2 // 3}m {OPENS}",
            "mapreduce.task.io.sort.mb": task_mb // 4,
            "yarn.app.mapreduce.am.resource.mb": task_mb,
            "yarn.app.mapreduce.am.command-opts": f"-Xmx{task_mb * 2 // 3}m {OPENS}",
            "yarn.app.mapreduce.am.staging-dir": os.path.join(place, "staging"),
        })  # fmt: skip
        with open(os.path.join(self.conf, "log4j.properties"), "w", encoding="ascii") as f:
            f.write(LOG)
        self._daemons = []

    def __enter__(self):
        base = "org.apache.hadoop.yarn.server."
        for name, main in (("resourcemanager", base + "resourcemanager.ResourceManager"), ("nodemanager", base + "nodemanager.NodeManager")):
            with open(os.path.join(self.place, name + ".log"), "wb") as log:
                words = ["java", "-Xmx512m", *OPENS.split(), "-cp", f"{self.conf}:{self.jars}/*", main]
                self._daemons.append(subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log))
        try:
            self._wait_for_node()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for daemon in self._daemons:
            daemon.terminate()
        for daemon in self._daemons:
            try:
                daemon.wait(30)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()

    def _wait_for_node(self):
        """Waits until the resource manager has its node. It tells nobody, so it is asked."""
        until = time.monotonic() + PATIENCE_SECONDS
        while True:
            for daemon in self._daemons:
                if daemon.poll() is not None:
                    raise RuntimeError(f"YARN does not start; its logs are in {self.place}")
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{self.web}/ws/v1/cluster/metrics", timeout=10) as answer:
                    if json.load(answer)["clusterMetrics"]["activeNodes"] == 1:
                        return
            except (OSError, ValueError):
                pass
            if time.monotonic() > until:
                raise RuntimeError(f"YARN has no node after {PATIENCE_SECONDS} s; its logs are in {self.place}")
            time.sleep(0.5)

    def cpu_seconds(self):
        """The processor time of the daemons and of all containers that have ended."""
        ticks = 0
        for daemon in self._daemons:
            with open(f"/proc/{daemon.pid}/stat", encoding="ascii", errors="replace") as f:
                ticks += sum(map(int, f.read().rpartition(")")[2].split()[11:15]))
        return ticks / os.sysconf("SC_CLK_TCK")
