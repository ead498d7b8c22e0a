"""Run the command line with `python -m mcp_binance_server`."""

import sys

EXIT_INTERRUPTED = 130


def main() -> int:
    """Run the command line. Ctrl-C during its import ends the process without a traceback."""
    try:
        from mcp_binance_server.cli.main import main as run  # noqa: PLC0415 - Ctrl-C during the import
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    return run()


if __name__ == "__main__":
    sys.exit(main())
