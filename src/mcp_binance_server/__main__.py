"""Run the command line with `python -m mcp_binance_server`."""

import sys

from mcp_binance_server.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
