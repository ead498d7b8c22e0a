"""Work in a forked process that may be killed on the way: its start costs little, and nothing of it is left."""

import os
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import TextIO

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Ended:
    """What a process told, and whether it was killed."""

    told: list[str]
    is_killed: bool


def forked(work: Callable[[Tell], None]) -> Ended:
    """Do work in a fork of this process, which must have neither threads nor loops; return how that ended.

    Raises:
        RuntimeError: it failed.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _be_child(work, os.fdopen(writing, "w", buffering=1))
    os.close(writing)
    with os.fdopen(reading) as pipe:
        told = pipe.read().splitlines()
    _, status = os.waitpid(child, 0)
    if os.WIFEXITED(status) and os.WEXITSTATUS(status):
        raise RuntimeError(f"a process ended with {os.WEXITSTATUS(status)}: {told[-1:]}")
    return Ended(told, os.WIFSIGNALED(status))


def _be_child(work: Callable[[Tell], None], pipe: TextIO) -> None:
    def tell(told: str) -> None:
        pipe.write(f"{told}\n")

    try:
        work(tell)
    except BaseException:  # noqa: BLE001 - a fork must not go on as its parent
        traceback.print_exc()
        os._exit(1)
    os._exit(0)
