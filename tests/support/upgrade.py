"""What an older version left on a machine: its own files as it wrote them, put where it had them."""

import gzip
from dataclasses import dataclass
from pathlib import Path

from mcp_binance_server.cli.setup.clients import CLIENTS, Launcher, Machine

LEFT = Path(__file__).parents[1] / "data" / "upgrade"
THEIR_HOME = "/home/ann"
KEY_FILES = {network: f"keys-{network}" for network in ("mainnet", "testnet")}
TRADED = ("paper", "lists", "practice")


@dataclass(frozen=True, slots=True)
class OldHome:
    """A home with all that 0.1.0 wrote there; `ann` was its owner."""

    path: Path

    @property
    def own(self) -> Path:
        return self.path / ".config" / "mcp-binance-server"

    @property
    def program(self) -> str:
        """Where the program was, and is unless it was installed anew elsewhere."""
        return f"{self.path}/.local/bin/mcp-binance-server"

    def machine(self, program: str | None = None) -> Machine:
        return Machine("linux", str(self.path), Launcher(program or self.program))

    def file(self, client: str) -> Path:
        return Path(CLIENTS[client].file(self.machine()))

    def keys(self, network: str = "mainnet") -> Path:
        return self.own / f"{KEY_FILES[network]}.env"

    def contents(self) -> dict[str, bytes]:
        """Return every file of the home, to see what a command has changed."""
        files = (each for each in self.path.rglob("*") if each.is_file())
        return {str(each.relative_to(self.path)): each.read_bytes() for each in sorted(files)}


def old_home(path: Path) -> OldHome:
    """Make the home: keys, an entry in the file of every client, playbooks, tokens."""
    home = OldHome(path)
    for left in (LEFT / "clients").iterdir():
        place = home.file(left.stem)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(left.read_text(encoding="utf-8").replace(THEIR_HOME, str(path)), encoding="utf-8")
    home.own.mkdir()
    for network, name in KEY_FILES.items():
        _private(home.keys(network), (LEFT / f"{name}.txt").read_bytes())
    _private(home.own / "tokens", (LEFT / "tokens.txt").read_bytes())
    for left in (each for each in (LEFT / "guide").rglob("*") if each.is_file()):
        place = home.own / left.relative_to(LEFT / "guide")
        place.parent.mkdir(exist_ok=True)
        place.write_bytes(left.read_bytes())
    return home


def leave_trading(kind: str, folder: Path, policy: Path) -> None:
    """Put a trading folder and the limits of its owner where they were."""
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
