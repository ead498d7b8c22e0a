"""Workers of a server that began warm: forked from it, instead of loading for two seconds each.

What a worker is told, its streams, its signals and who its parent is stay as they are with `--workers`.
"""

import gc
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextvars import Context
from typing import Any

from mcp_binance_server.cli import workers

BEGINS = [sys.executable, "-m", workers.__name__]
FIRST_OF_OTHERS = 3


class WorkerForked(subprocess.Popen[bytes]):
    """Starts what it is asked to start; of a worker only the fork, behind which it runs at once."""

    def __init__(self, args: Sequence[str], *, pass_fds: Sequence[int] = (), **options: Any) -> None:  # noqa: ANN401 - handed on
        if [*args[:-1]] == BEGINS:
            options["preexec_fn"] = lambda: _run(args[-1], pass_fds)
        super().__init__(args, pass_fds=pass_fds, **options)


def fork_workers() -> None:
    """Have this process, which has loaded everything, fork its workers."""
    subprocess.Popen = WorkerForked


def _run(told: str, kept: Sequence[int]) -> None:
    """Leave what the parent was in the middle of, and never come back to it."""
    gc.freeze()  # what the parent holds is not to be closed here a second time
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)  # as Python begins; a command is started without that
    first = FIRST_OF_OTHERS
    for descriptor in [*sorted(kept), os.sysconf("SC_OPEN_MAX")]:
        os.closerange(first, descriptor)
        first = descriptor + 1
    code = 1
    try:
        code = Context().run(workers.main, told)
    except SystemExit as left:
        code = left.code if isinstance(left.code, int) else 1
    except BaseException as error:  # noqa: BLE001 - as Python ends, which would show it too
        sys.excepthook(type(error), error, error.__traceback__)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
