"""`mcp-binance-server guide check`: show how the server reads a guide.yaml, or list its invalid lines."""

import logging
import sys
from pathlib import Path

from mcp_binance_server.clock import SystemClock
from mcp_binance_server.guide.config_file import read_config
from mcp_binance_server.guide.document import LibrarySnapshot
from mcp_binance_server.guide.library import Library
from mcp_binance_server.settings import read_settings

EXIT_MISTAKES = 1
NO_FILE = """No configuration: only the built-in guides are served.
Name a file, set MCP_BINANCE_GUIDE_CONFIG, or write ~/.config/mcp-binance-server/guide.yaml.
"""


def run_check(file: str | None) -> int:
    # The log lines are printed as a list below.
    logging.getLogger("mcp_binance_server.guide").addHandler(logging.NullHandler())
    path = Path(file) if file else read_settings().guide_config
    if path is None:
        sys.stdout.write(NO_FILE)
        return 0
    _, mistakes = read_config(path)
    for mistake in mistakes:
        sys.stdout.write(f"{path}:{f'{mistake.line}:' if mistake.line else ''} {mistake.text}\n")
    if mistakes:
        count = f"{len(mistakes)} mistakes" if len(mistakes) > 1 else "1 mistake"
        sys.stdout.write(f"{count}. The server keeps the last valid configuration, or the built-in guides.\n")
        return EXIT_MISTAKES
    sys.stdout.write(f"{path}: valid\n{_summary(Library(SystemClock(), path).snapshot())}")
    return 0


def _summary(snapshot: LibrarySnapshot) -> str:
    guides = snapshot.guides
    lines = [f"root        {root}" for root in guides.roots]
    for category in guides.categories.values():
        own = sum(entry.source == "user" for entry in snapshot.entries[category.name].values())
        lines.append(
            f"category    {category.name:<16} {own} yours, {len(snapshot.entries[category.name]) - own} built in"
        )
    for collection in guides.collections.values():
        names = " ".join(category.name for category in guides.categories_of(collection))
        lines.append(f"collection  {collection.name:<16} {names}")
    lines += [f"hidden      {line}" for line in snapshot.hidden]
    lines += [f"warning     {problem}" for problem in snapshot.problems]
    return "".join(f"{line}\n" for line in lines)
