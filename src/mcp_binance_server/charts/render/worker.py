"""A process that turns one SVG on stdin into a PNG on stdout, politely: whoever waits for an answer goes first."""

import os
import sys

from mcp_binance_server.charts.render.png import rasterise

POLITE = 10


def main() -> None:
    """Rasterise once, with the typefaces named as arguments, and leave."""
    if hasattr(os, "nice"):
        os.nice(POLITE)
    sys.stdout.buffer.write(rasterise(sys.stdin.buffer.read().decode(), sys.argv[1:]))


if __name__ == "__main__":
    main()
