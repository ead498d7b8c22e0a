"""Where test runs leave everything that was ever printed, so that a search for secrets can look at all of it."""

import logging
import os
import tempfile
from pathlib import Path

VARIABLE = "MCP_TEST_EVIDENCE"


def evidence_folder() -> Path:
    """Return the folder for printed matter; a temporary one unless the run names it."""
    folder = Path(os.environ.get(VARIABLE) or Path(tempfile.gettempdir()) / "mcp-binance-evidence")  # noqa: TID251 - a test run has an environment too
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def log_everything() -> None:
    """Write every record of every logger, at every level, to the evidence."""
    handler = logging.FileHandler(evidence_folder() / f"log-{os.getpid()}.txt", encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(name)s %(levelname)s %(message)s"))
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
