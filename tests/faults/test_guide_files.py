"""Hostile addresses and hostile folders: nothing outside the roots is opened, nothing blocks, every error is ours."""

import contextlib
import os
import random
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from mcp import Client, MCPError

from binance_simulator.exchange import SimulatedExchange
from mcp_binance_server.app import App, running_app
from mcp_binance_server.errors import AppError
from mcp_binance_server.guide.config import CONTENT
from mcp_binance_server.guide.errors import GuideError
from mcp_binance_server.guide.safe_files import UnreadableFile, read_beneath
from mcp_binance_server.settings import read_settings
from support.clock import FakeClock
from support.desk import NETWORK, Loop
from support.guides import GuideFolder
from support.requirement import requirement

pytestmark = pytest.mark.flood

CASES, CASES_OF_A_COMMIT = 10_000, 1_000
FLIPS, FLIPS_OF_A_COMMIT = 10_000, 3_000
CANARY = "the canary outside the roots"
TOKENS = (
    "..", ".", "%2e%2e", "%2e%2e%2f", "%252e%252e%252f", "..%2f", "..%5c", "..\\", "/", "//", "%2f", "%00", "\x00",
    "etc/passwd", "/etc/passwd", "outside.md", "C:", "C:\\", "file:", "a.md", "desk", "risk", "*", "**", "?", "%3F",
    "[a-z]", "[", "[!", "~", "~root", "$HOME", "\u202e", "\u2024\u2024", "\uff0e\uff0e", "\uff0f", "\u2215", "\u200b",
    "%c0%ae", "%ff",
    "a" * 300, "%61" * 900, "\ud800", "\n", "\r\n", "a.md.", "a.md ", " ", "a.md::$DATA", "CON", "link.md", "linked",
    "linked/outside.md", "{docId}", "#", "@", ":", "&", "café", "cafe\u0301",
)  # fmt: skip
SHAPES = (
    "guide://category/desk/{}", "guide://document/desk/{}", "guide://document/daily/{}", "guide://collection/{}",
    "guide://category/{}", "guide://{}", "guide://category/desk/linked/{}", "GUIDE://category/desk/{}", "guide:/{}",
    "guide://user@category/desk/{}", "guide://category:80/desk/{}", "guide://category/desk/{}?x=1", "{}",
)  # fmt: skip
CONTRACT_CODES = {-32404, -32603}
CONTRACT_TYPES = {
    "invalid_scheme", "invalid_uri", "resource_not_found", "context_not_found", "invalid_pattern", "no_matches",
    "content_error", "limit_exceeded",
}  # fmt: skip


class OpenWatch:
    """Sees every file the process opens, by an audit hook; a hook cannot be removed, so it is switched off."""

    def __init__(self) -> None:
        self.on = False
        self.opened: list[tuple[object, int]] = []
        sys.addaudithook(self._hear)

    def _hear(self, event: str, arguments: tuple[object, ...]) -> None:
        if self.on and event == "open":
            flags = arguments[2]
            self.opened.append((arguments[0], flags if isinstance(flags, int) else -1))

    def outside(self, roots: list[Path]) -> list[object]:
        """Return what was opened that is not below a root.

        A bare name opened without following links is relative to a descriptor that was itself opened so; anything else
        must be a root, or lie below one after resolving.
        """
        return [path for path, flags in self.opened if not self._is_beneath(path, flags, roots)]

    @staticmethod
    def _is_beneath(path: object, flags: int, roots: list[Path]) -> bool:
        if isinstance(path, int):
            return True
        text = os.fsdecode(path) if isinstance(path, (str, bytes)) else ""
        if "/" not in text:
            return text not in {"", ".", ".."} and bool(flags & os.O_NOFOLLOW)
        return any(Path(text).resolve().is_relative_to(root) for root in roots)


WATCH = OpenWatch()


@pytest.fixture
def watch() -> Iterator[OpenWatch]:
    WATCH.opened.clear()
    yield WATCH
    WATCH.on = False


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GuideFolder:
    folder = GuideFolder(tmp_path).configure()
    folder.write("desk/a.md", "# A\n")
    folder.write("desk/deep/b.md", "# B\n")
    folder.write("desk/checklist.md", "# C\n")
    (tmp_path / "outside.md").write_text(CANARY)
    (folder.root / "desk" / "link.md").symlink_to(tmp_path / "outside.md")
    (folder.root / "desk" / "linked").symlink_to(tmp_path)
    # A name opened against the working directory by mistake would find the canary there.
    trap = tmp_path / "trap"
    trap.mkdir()
    for name in ("a.md", "b.md", "desk", "checklist.md", "position-sizing.md"):
        (trap / name).write_text(CANARY)
    monkeypatch.chdir(trap)
    return folder


def hostile(generator: random.Random, shape: str) -> str:
    word = "/".join(
        "".join(generator.choices(TOKENS, k=generator.randint(1, 2))) for _ in range(generator.randint(1, 4))
    )
    how = generator.random()
    if how < 0.2:
        word = quote(word.encode("utf-8", "replace"), safe="")
    elif how < 0.3:
        word = quote(quote(word.encode("utf-8", "replace"), safe=""), safe="")
    elif how < 0.4:
        word += "".join(chr(generator.randrange(0x20, 0x3000)) for _ in range(8))
    return shape.format(word) if "{}" in shape else shape


async def asked(app: App, client: Client, uri: str, *, by_client: bool) -> MCPError | AppError | None:
    """Return how an address was refused; what it led to must not hold the canary."""
    try:
        if by_client:
            result = await client.read_resource(uri.encode("utf-8", "replace").decode())
            assert CANARY not in result.model_dump_json()
        else:
            content = await app.context.guides.read(uri)
            assert CANARY not in content.framed.text
    except (MCPError, AppError) as error:
        return error
    return None


@pytest.mark.night
@requirement("ruling/32")
@pytest.mark.timeout(600)
async def test_ten_thousand_hostile_addresses_and_names_open_nothing_outside_the_roots(
    folder: GuideFolder,
    watch: OpenWatch,
    clock: FakeClock,
    exchange: SimulatedExchange,
    sized: Callable[[int, int], int],
) -> None:
    cases = sized(CASES, CASES_OF_A_COMMIT)
    generator = random.Random(20261115)
    settings = read_settings(folder.environment)
    refused = 0

    async with (
        running_app(settings, clock=clock, network=NETWORK, transport=Loop(exchange)) as app,
        Client(app.server, mode="legacy", cache=None) as client,
    ):
        # The first answers load modules; from then on only documents are opened.
        for uri in (
            "guide://category/desk/*",
            "guide://help",
            "guide://document/desk/none.md",
            "guide://category/risk",
        ):
            with contextlib.suppress(MCPError):
                await client.read_resource(uri)
        for pattern in ("none", "a.md"):
            await client.call_tool("get_content", {"context": "desk", "pattern": pattern})
        watch.on = True
        for number in range(cases):
            uri = hostile(generator, generator.choice(SHAPES))
            if number % 500 == 0:
                clock.advance(1_000)  # let it look at the folders again
            error = await asked(app, client, uri, by_client=number % 4 == 0)
            refused += error is not None
            if isinstance(error, MCPError):
                assert error.code in CONTRACT_CODES, uri
                assert error.data["error_type"] in CONTRACT_TYPES
                assert error.message.isprintable()
                assert len(error.message) < 300
                assert str(folder.place) not in str(error.data)
            elif error is not None:
                assert error.error_type in CONTRACT_TYPES, uri
            if number % 20 == 0:
                assert (await app.context.guides.read("guide://category/desk/*")).documents[0].body == "# A\n"
                name = hostile(generator, "{}")
                result = await client.call_tool(
                    "get_content", {"context": "desk", "pattern": name.encode("utf-8", "replace").decode()[:300]}
                )
                assert CANARY not in result.model_dump_json()

    assert refused > cases * 9 // 10
    assert len(watch.opened) > cases // 10
    assert watch.outside([path.resolve() for path in (folder.root, CONTENT, folder.config)]) == []


def test_the_watch_would_see_a_way_out(folder: GuideFolder, watch: OpenWatch) -> None:
    watch.on = True
    (folder.root / "desk" / "a.md").read_text()
    assert watch.outside([folder.root]) == []

    (folder.place / "outside.md").read_text()
    (folder.root / "desk" / "link.md").read_text()
    os.close(os.open("a.md", os.O_RDONLY))

    assert len(watch.outside([folder.root])) == 3


@pytest.mark.timeout(300)
def test_a_link_swapped_under_a_running_reader_never_leads_outside(
    tmp_path: Path, sized: Callable[[int, int], int]
) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    for place, text in ((root / "desk", "inside"), (outside, CANARY)):
        place.mkdir(parents=True)
        (place / "a.md").write_text(text)
    (tmp_path / "real").symlink_to(outside)
    done = threading.Event()
    seen: set[bytes] = set()
    reads = refusals = 0

    def read() -> None:
        nonlocal reads, refusals
        while not done.is_set():
            try:
                seen.add(read_beneath(root, ("desk", "a.md"), 1_000))
                reads += 1
            except UnreadableFile:
                refusals += 1

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    spare, link = root / "spare", root / "link"
    link.symlink_to(outside)
    # Each flip puts a link in the folder's place, and the folder back.
    for _ in range(sized(FLIPS, FLIPS_OF_A_COMMIT)):
        (root / "desk").rename(spare)
        link.rename(root / "desk")
        (root / "desk").rename(link)
        spare.rename(root / "desk")
    done.set()
    for reader in readers:
        reader.join()

    assert seen == {b"inside"}
    assert reads > 100
    assert refusals > 100


@pytest.mark.timeout(300)
def test_a_file_swapped_for_a_link_never_leads_outside(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "outside.md").write_text(CANARY)
    (root / "kept").write_text("inside")
    seen: set[bytes] = set()
    done = threading.Event()

    def flip() -> None:
        while not done.is_set():
            for target in ("link", "hard"):
                temporary = root / "next"
                if target == "link":
                    temporary.symlink_to(tmp_path / "outside.md")
                else:
                    temporary.hardlink_to(root / "kept")
                temporary.replace(root / "a.md")

    flipping = threading.Thread(target=flip)
    flipping.start()
    for _ in range(FLIPS):
        try:
            seen.add(read_beneath(root, ("a.md",), 1_000))
        except UnreadableFile:
            seen.add(b"refused")
    done.set()
    flipping.join()

    assert CANARY.encode() not in seen
    assert b"inside" in seen


@requirement("guide/content-retrieval-error", "guide/error-content-retrieval")
async def test_what_is_no_document_gets_a_clean_error(folder: GuideFolder, clock: FakeClock) -> None:
    desk = folder.root / "desk"
    os.mkfifo(desk / "pipe.md")
    (desk / "zero.md").symlink_to("/dev/zero")
    (desk / "folder.md").mkdir()
    folder.write("desk/bytes.md", b"# \xff\xfe\n")
    with (desk / "huge.md").open("wb") as huge:
        huge.truncate(2**30)
    changed = folder.write("desk/changed.md", "x")
    service = folder.service(clock)
    await service.read("guide://help")
    changed.unlink()
    os.mkfifo(changed)

    said: dict[str, str] = {}
    for name in ("pipe", "zero", "folder", "bytes", "huge", "changed"):
        with pytest.raises(GuideError, match=r"not found|retrieval failed") as caught:
            await service.read(f"guide://document/desk/{name}.md")
        said[name] = caught.value.error_type

    assert said == {
        "pipe": "resource_not_found",
        "zero": "resource_not_found",
        "folder": "resource_not_found",
        "bytes": "content_error",
        "huge": "content_error",
        "changed": "content_error",
    }
