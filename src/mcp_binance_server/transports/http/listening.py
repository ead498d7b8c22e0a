"""Sockets that listen: how many clients may wait there, and how many are let in before anybody else has a turn."""

import asyncio
import os
import socket
from collections.abc import Iterator

from mcp_binance_server.errors import SettingsError

BACKLOG = 2_048
AT_A_TIME = 8
SEND_BUFFER = 256 * 2**10


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens.

    Raises:
        SettingsError: the address cannot be listened on.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol is named because asyncio sends without delay only where it sees it; else each answer takes 40 ms.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":  # elsewhere it would let two servers have one port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Connections inherit it. Left alone, the system keeps megabytes for each client that does not read.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise SettingsError(problems=(f"cannot listen on {host} port {port}: {error.strerror}",)) from None
    return listener


def waiting_sockets(listener: socket.socket) -> Iterator[socket.socket]:
    """Yield what to serve on so that so many clients are let in at a time; the first is the listener itself.

    asyncio's own loops let in as many as their `backlog` says. uvloop lets in one of each socket: with a single one,
    somebody who comes behind a hundred others waits for a hundred rounds of the loop.
    """
    yield listener
    if not isinstance(asyncio.get_running_loop(), asyncio.BaseEventLoop):
        yield from (listener.dup() for _ in range(AT_A_TIME - 1))
