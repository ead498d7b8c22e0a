"""Files of captured answers: JSON Lines, a header and then one answer a line."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from mcp_binance_server.exchange.attempt import Params
from support.fixtures import DATA

FOLDER = DATA / "captured"
SUFFIX = ".jsonl"


class Header(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Origin of a file; every member is required."""

    name: str
    """Name of the parser, such as `spot.ticker`; the file has the same."""
    request: str
    """Method and path, or the name of the stream."""
    host: str
    network: str
    captured: str
    """Day, as 2026-07-21."""
    source: str
    sanitised: bool
    trimmed: bool
    """Whether long lists were cut."""


class Answer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Parameters of a request, without key and signature, and the body as it was written."""

    params: dict[str, str | int]
    body: msgspec.Raw


@dataclass(frozen=True, slots=True)
class CapturedFile:
    """A header and its answers."""

    header: Header
    answers: Sequence[Answer]

    @classmethod
    def read(cls, path: Path) -> "CapturedFile":
        first, *rest = path.read_bytes().splitlines()
        header = msgspec.json.decode(first, type=Header)
        return cls(header, [msgspec.json.decode(line, type=Answer) for line in rest])

    def write(self, folder: Path) -> Path:
        """Write the file into the folder of its network."""
        path = folder / self.header.network / f"{self.header.name}{SUFFIX}"
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = [self.header, *self.answers]
        path.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
        return path


def files(folder: Path = FOLDER) -> list[Path]:
    return sorted(folder.rglob(f"*{SUFFIX}"))


def asked_with(params: Iterable[tuple[str, str]]) -> Params:
    """Return the parameters of a request without what identifies its sender."""
    return {name: text for name, text in params if name not in {"signature", "timestamp", "recvWindow"}}
