"""Points at which a process can be killed on the way to the exchange and back: also between bytes of a request."""

import os
import socket
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import mcp_binance_server
from trading.labels import Labels

PACKAGE = str(Path(mcp_binance_server.__file__).parent) + os.sep
WIRE = tuple(
    PACKAGE + name
    for name in ("channel.py", "exchange/spot/orders.py", "exchange/spot/account.py", "exchange/attempt.py")
)
# Long enough for the exchange to have acted, and to have answered if it does.
ANSWERED_SECS = 0.1


class WireLabels(Labels):
    """Sees, beside the code of trading, what is done with sockets: by the method of the request they carry."""

    owners = (*Labels.owners, socket.socket)

    def __init__(self, *given: Any) -> None:  # noqa: ANN401 - as its parent
        super().__init__(*given)
        self._carries: dict[int, str] = {}

    def short(self, file: str) -> str:
        return super().short(file) or (file.removeprefix(PACKAGE) if file.startswith(WIRE) else "")

    def names(self, frame: FrameType, event: str, arg: Any) -> Iterable[str]:  # noqa: ANN401 - the hook's own type
        if isinstance(arg.__self__, socket.socket):
            return self._of_socket(arg.__self__, event, arg.__name__, frame)
        return super().names(frame, event, arg)

    def last_act(self, name: str, frame: FrameType) -> None:
        if name.startswith("half"):
            line, data = frame.f_locals["self"].get_extra_info("socket"), bytes(frame.f_locals["data"])
            os.write(line.fileno(), data[: len(data) // 2])
        elif name.startswith("answered"):
            time.sleep(ANSWERED_SECS)  # noqa: TID251 - its loop does not run any more

    def _of_socket(self, line: socket.socket, event: str, method: str, frame: FrameType) -> Iterator[str]:
        if event == "c_exception":
            return
        if method == "send" and (data := frame.f_locals.get("data")) and (word := _method_of(bytes(data[:8]))):
            self._carries[line.fileno()] = word
        if carries := self._carries.get(line.fileno()):  # a loop has sockets of its own
            if method == "send":
                yield f"{event} send {carries}"
                yield f"half send {carries}" if event == "c_call" else f"answered send {carries}"
            elif method in ("recv", "recv_into"):
                yield f"{event} recv {carries}"


def _method_of(head: bytes) -> str:
    return next((word for word in ("GET", "POST", "PUT", "DELETE") if head.startswith(word.encode() + b" ")), "")
