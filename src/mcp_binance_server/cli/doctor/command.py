"""The arguments of `doctor`."""

import argparse
from typing import Any

from mcp_binance_server.cli.manners import add_quiet

EPILOG = """Exit code: 0 healthy (warnings included), 1 a problem was found, 2 wrong usage.
No key, secret, address of yours or name of your home folder is in the output:
it can go into an issue as it is.
"""


def add_doctor_command(commands: "argparse._SubParsersAction[Any]") -> None:  # pyright: ignore[reportPrivateUsage] - it has no public name
    """Add `doctor` to the commands."""
    doctor = commands.add_parser(
        "doctor",
        help="find out what does not work and how to fix it",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    doctor.add_argument("--json", action="store_true", help="print one JSON object instead of lines")
    add_quiet(doctor, default=argparse.SUPPRESS)
