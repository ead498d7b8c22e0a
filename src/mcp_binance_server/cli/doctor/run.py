"""The course of `doctor`: somebody at a terminal sees at once that it has begun; the parts take a second to load."""

import argparse
import logging
import sys
from functools import partial

from mcp_binance_server.cli.doctor.report import under_way
from mcp_binance_server.cli.terminal import Terminal
from mcp_binance_server.settings import surroundings


def run_doctor(options: argparse.Namespace) -> int:
    """Examine this machine and its settings; return the exit code."""
    environment = surroundings()
    # What would be logged is printed, or must not be.
    logging.getLogger("mcp_binance_server").addHandler(logging.NullHandler())
    if not options.json and not options.quiet:
        sys.stdout.write(under_way("Loading", Terminal.of(sys.stdout, environment)))
        sys.stdout.flush()
    from mcp_binance_server.cli.doctor.examination import examine  # noqa: PLC0415 - see above
    from mcp_binance_server.cli.interruption import run  # noqa: PLC0415 - see above

    return run(partial(examine, environment, as_object=options.json, is_quiet=options.quiet))
