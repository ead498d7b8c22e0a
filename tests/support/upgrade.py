"""Trading folders written by older schema versions."""

import gzip
from pathlib import Path

LEFT = Path(__file__).parents[1] / "data" / "upgrade"
TRADED = ("paper", "lists", "practice")


def leave_trading(kind: str, folder: Path, policy: Path) -> None:
    """Copy a trading folder and its policy file."""
    left = LEFT / kind
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    _private(folder / "trading.db", gzip.decompress((left / "trading.db.gz").read_bytes()))
    _private(folder / "trading.last", (left / "trading.last").read_bytes())
    _private(policy, (left / "trading.toml").read_bytes())
    if (left / "approver.txt").is_file():
        _private(folder / "approver.pem", (left / "approver.txt").read_bytes())


def _private(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    path.chmod(0o600)
