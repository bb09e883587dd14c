# SPDX-License-Identifier: Apache-2.0
"""One end of a measured transfer. A program, run in a namespace:

    transfer.py receive ADDRESS              prints the port, then "BYTES" when it is over
    transfer.py send ADDRESS PORT BEGIN END  prints the shortest round trip in seconds

Both ends see the same monotonic clock. The sender first sends single bytes, which come back, then data until END; the receiver counts
what comes between BEGIN and END, so that neither the start of a connection nor a full bucket of tokens is in the figure.
"""

import socket
import struct
import sys
import time

TRIPS = 5
CHUNK = 1 << 18
LIMIT_SECONDS = 60


def receive(address):
    with socket.create_server((address, 0)) as server:
        server.settimeout(LIMIT_SECONDS)
        print(server.getsockname()[1], flush=True)
        connection, _ = server.accept()
    connection.settimeout(LIMIT_SECONDS)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    begin, end = struct.unpack("dd", connection.recv(16, socket.MSG_WAITALL))
    for _ in range(TRIPS):
        connection.sendall(connection.recv(1))
    counted, buffer = 0, bytearray(CHUNK)
    while (size := connection.recv_into(buffer)) and (now := time.monotonic()) < end:
        if now >= begin:
            counted += size
    print(counted, flush=True)


def send(address, port, begin, end):
    connection = socket.create_connection((address, port), timeout=LIMIT_SECONDS)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.sendall(struct.pack("dd", begin, end))
    shortest = LIMIT_SECONDS
    for _ in range(TRIPS):
        start = time.monotonic()
        connection.sendall(b".")
        connection.recv(1)
        shortest = min(shortest, time.monotonic() - start)
    print(shortest, flush=True)
    chunk = bytes(CHUNK)
    try:
        while time.monotonic() < end:
            connection.sendall(chunk)
    except OSError:
        pass  # the receiver has seen enough


if __name__ == "__main__":
    if sys.argv[1] == "receive":
        receive(sys.argv[2])
    else:
        send(sys.argv[2], int(sys.argv[3]), float(sys.argv[4]), float(sys.argv[5]))
