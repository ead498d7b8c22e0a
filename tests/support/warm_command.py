"""Our command for a shell, forked warm: a program of its name that hands its streams on and waits for the exit code."""

import json
import os
import select
import socket
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from support.warm import LONGEST, STREAMS, WarmProcess

NAME = "mcp-binance-server"
# -I and -S: it is there at once, and nothing of its environment is meant for it.
PROGRAM = """#!{python} -IS
import json, os, socket, sys
line = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
line.connect({address!r})
told = dict(program=sys.argv[0], arguments=sys.argv[1:], environment=dict(os.environ), folder=os.getcwd())
socket.send_fds(line, [json.dumps(told).encode()], [0, 1, 2])
code = int(line.recv(16))
if code < 0:
    os.kill(os.getpid(), -code)
sys.exit(code)
"""


@contextmanager
def warm_command(folder: Path) -> Generator[Path]:
    """Return the folder to put first on a PATH; an end of the program ends what was forked for it."""
    address, script = str(folder / "line"), folder / NAME
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(address)
        listener.listen()
        script.write_text(PROGRAM.format(python=sys.executable, address=address), encoding="utf-8")
        script.chmod(0o755)
        threading.Thread(target=_accept, args=(listener,), daemon=True).start()
        yield folder
        listener.shutdown(socket.SHUT_RDWR)


def _accept(listener: socket.socket) -> None:
    while True:
        try:
            line, _ = listener.accept()
        except OSError:  # it was shut
            return
        threading.Thread(target=_run, args=(line,), daemon=True).start()


def _run(line: socket.socket) -> None:
    with line:
        text, descriptors, _, _ = socket.recv_fds(line, LONGEST, STREAMS)
        told: dict[str, Any] = json.loads(text)
        stdin, stdout, stderr = descriptors
        process = WarmProcess(
            told["arguments"], None, (stdin, stdout, stderr), told["environment"],
            folder=Path(told["folder"]), program=told["program"],
        )  # fmt: skip
        for each in descriptors:
            os.close(each)
        if line in select.select([line, process], [], [])[0]:  # it says nothing more, so this is its end
            process.terminate()
            process.wait()
        else:
            line.send(str(process.wait()).encode())
