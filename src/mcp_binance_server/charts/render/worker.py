"""A process that turns one SVG on stdin into a PNG on stdout, politely: whoever waits for an answer goes first."""

import os
import sys

from mcp_binance_server.charts.render.png import rasterise


def main() -> None:
    """Rasterise once, as politely as the first argument says, with the typefaces named after it, and leave."""
    _, politeness, *fonts = sys.argv
    if hasattr(os, "nice"):
        os.nice(int(politeness))
    sys.stdout.buffer.write(rasterise(sys.stdin.buffer.read().decode(), fonts))


if __name__ == "__main__":
    main()
