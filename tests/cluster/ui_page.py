# SPDX-License-Identifier: Apache-2.0
"""`millrace ui` as tests start it, and requests to it, byte by byte where a browser would not let us."""

import http.client
import json
import re
import signal
import subprocess

from cluster import LIMIT_SECONDS, MILLRACE


class Ui:
    """with Ui(cluster) as ui: ui.get("/api/v1/cluster")"""

    def __init__(self, cluster, *options, environment=None, stdin=subprocess.DEVNULL):
        self.process = subprocess.Popen([MILLRACE, "ui", *(options or ("--no-open",))], env=environment or cluster.environment(), stdin=stdin,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.cookie = None
        if "--behind" in options:
            said = self.process.stdout.readline()
            self.port = int(re.fullmatch(r"http://127\.0\.0\.1:(\d+), for the proxy of (\S+)\n", said)[1])
        else:
            self.read_address()

    def read_address(self):
        """The next address that it prints."""
        self.address = self.process.stdout.readline().strip()
        found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/\?token=([0-9a-f]{32,})", self.address)
        if not found:
            self.process.kill()
            raise AssertionError(f"{self.address!r} {self.process.communicate()[1]}")
        self.port, self.token = int(found[1]), found[2]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def end(self):
        """Ctrl-C; gives the exit status and what was said on standard error."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        err = self.process.communicate(timeout=LIMIT_SECONDS)[1]
        return self.process.returncode, err

    def ask(self, target, method="GET", host=None, headers=(), body=None):
        """The answer of the server: its status, its headers and its body. With no cookie."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LIMIT_SECONDS)
        try:
            connection.putrequest(method, target, skip_host=True, skip_accept_encoding=True)
            connection.putheader("Host", host or f"127.0.0.1:{self.port}")
            for name, value in dict(headers).items():
                connection.putheader(name, value)
            if body is not None:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    def enter(self):
        """Uses the token; gives the header with the cookie."""
        status, headers, _ = self.ask(f"/?token={self.token}")
        assert status == 303, status
        self.cookie = headers["Set-Cookie"].split(";")[0]
        return {"Cookie": self.cookie}

    def get(self, target, status=200, **headers):
        if self.cookie is None:
            self.enter()
        got, _, body = self.ask(target, headers={"Cookie": self.cookie, **headers})
        assert got == status, (target, got, body)
        return body

    def json(self, path, status=200):
        return json.loads(self.get("/api/v1/" + path, status))

    def events(self):
        """The data of events, as they come. Each is an object."""
        if self.cookie is None:
            self.enter()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LIMIT_SECONDS)
        connection.request("GET", "/api/v1/events", headers={"Cookie": self.cookie})
        answer = connection.getresponse()
        assert answer.status == 200 and answer.headers["Content-Type"] == "text/event-stream", (answer.status, answer.headers)
        try:
            for line in answer:
                if line.startswith(b"data: "):
                    yield json.loads(line[6:])
        finally:
            connection.close()
