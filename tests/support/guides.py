"""A folder of guides as a user would keep it, and the parts that read it."""

from dataclasses import dataclass
from pathlib import Path

from mcp_binance_server.guide.library import Library
from mcp_binance_server.services.guide import GuideService
from mcp_binance_server.state.pace import LoopPace
from support.clock import FakeClock

CONFIG = """\
version: 1
roots: [guides]
categories:
  desk: {description: "Notes of the desk"}
  deep: {dir: desk/deep, patterns: ["*.md", "**/*.md"]}
  empty:
collections:
  daily: {description: "Every morning", categories: [desk, risk], patterns: ["check*"]}
  desk: {categories: [deep]}
"""


@dataclass(frozen=True, slots=True)
class GuideFolder:
    """A configuration file and one root beside it."""

    place: Path

    @property
    def root(self) -> Path:
        return self.place / "guides"

    @property
    def config(self) -> Path:
        return self.place / "guide.yaml"

    @property
    def environment(self) -> dict[str, str]:
        return {"MCP_BINANCE_GUIDE_CONFIG": str(self.config)}

    def configure(self, text: str = CONFIG) -> "GuideFolder":
        self.root.mkdir(exist_ok=True)
        self.config.write_text(text, encoding="utf-8")
        return self

    def write(self, path: str, text: str | bytes) -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode() if isinstance(text, str) else text)
        return file

    def library(self, clock: FakeClock) -> Library:
        return Library(clock, self.config)

    def service(self, clock: FakeClock) -> GuideService:
        return GuideService(self.library(clock), clock, LoopPace(clock.monotonic_ms))
