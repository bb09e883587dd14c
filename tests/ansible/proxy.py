# SPDX-License-Identifier: Apache-2.0
"""A proxy for packages: it listens within a network namespace, and asks from outside of it. What it has once brought of names that never
change (packages, by-hash indices) it keeps. GET alone, as apt uses it.

  proxy.py /run/netns/NAME ADDRESS PORT CACHE
"""

import ctypes
import hashlib
import http.server
import os
import shutil
import sys
import tempfile
import urllib.error
import urllib.request

CLONE_NEWNET = 0x40000000
LASTING = (".deb", ".xz", ".gz")


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    cache = ""

    def do_GET(self):
        if not self.path.startswith("http://"):
            self.send_error(400, "a proxy is asked for whole addresses")
            return
        kept = os.path.join(self.cache, hashlib.sha256(self.path.encode()).hexdigest())
        lasting = self.path.endswith(LASTING) or "/by-hash/" in self.path
        try:
            if not (lasting and os.path.exists(kept)):
                with urllib.request.urlopen(self.path, timeout=120) as answer, tempfile.NamedTemporaryFile(dir=self.cache, delete=False) as f:
                    shutil.copyfileobj(answer, f)
                if lasting:
                    os.replace(f.name, kept)
                else:
                    kept = f.name
        except urllib.error.HTTPError as error:
            self.send_error(error.code)
            return
        except OSError as error:
            self.send_error(502, str(error))
            return
        with open(kept, "rb") as f:
            if not lasting:
                os.remove(kept)
            self.send_response(200)
            self.send_header("Content-Length", str(os.fstat(f.fileno()).st_size))
            self.end_headers()
            shutil.copyfileobj(f, self.wfile)

    def log_message(self, format, *arguments):  # the name of http.server
        print(format % arguments, flush=True)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True


def main():
    namespace, address, port, Handler.cache = sys.argv[1:]
    os.makedirs(Handler.cache, exist_ok=True)
    libc = ctypes.CDLL(None, use_errno=True)
    # A socket belongs to the network in which it was made.
    with open("/proc/self/ns/net", "rb") as outside, open(namespace, "rb") as inside:
        if libc.setns(inside.fileno(), CLONE_NEWNET) != 0:
            sys.exit(f"proxy: cannot enter {namespace}: {os.strerror(ctypes.get_errno())}")
        server = Server((address, int(port)), Handler)
        if libc.setns(outside.fileno(), CLONE_NEWNET) != 0:
            sys.exit(f"proxy: cannot leave {namespace}: {os.strerror(ctypes.get_errno())}")
    server.serve_forever()


if __name__ == "__main__":
    main()
