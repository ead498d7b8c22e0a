"""Pass lines between a client and a stdio server, and write each one to a log: spy.py LOG COMMAND ARGUMENTS...

One line of the log is `>` (client to server), `<` (server to client), `!` (an end) and the text.
"""

import os
import signal
import subprocess
import sys
import threading
from typing import IO


def main(log_path: str, *command: str) -> int:
    """Run the server until it ends, and return its exit code."""
    log = os.open(log_path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    if server.stdin is None or server.stdout is None:
        raise RuntimeError("a pipe is missing")

    def passed(mark: bytes, source: IO[bytes], target: IO[bytes]) -> None:
        for line in iter(source.readline, b""):
            os.write(log, mark + line.rstrip(b"\n") + b"\n")
            target.write(line)
            target.flush()
        target.close()

    def upwards() -> None:
        passed(b"> ", sys.stdin.buffer, server.stdin)  # pyright: ignore[reportArgumentType] - checked above
        os.write(log, b"! end of input\n")

    for each in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(each, lambda number, _: server.send_signal(number))
    threading.Thread(target=upwards, daemon=True).start()
    try:
        passed(b"< ", server.stdout, sys.stdout.buffer)
    except BrokenPipeError:
        server.terminate()
    code = server.wait()
    os.write(log, b"! exit %d\n" % code)
    return code


if __name__ == "__main__":
    os._exit(main(*sys.argv[1:]) & 0xFF)
