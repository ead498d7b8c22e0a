"""A browser, the official host's page and the server in one place: a chart as whoever looks at it sees it."""

import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import anyio
from mcp import Client
from playwright.async_api import Browser, ConsoleMessage, Frame, Page, Request, Route
from playwright.async_api import TimeoutError as NeverCame

from apps.pixels import Pixels
from mcp_binance_server.clock import SystemClock
from support.clock import FakeClock

ORIGIN = "http://host.test"
HOST, HOST_SCRIPT, VIEW = f"{ORIGIN}/host", f"{ORIGIN}/host.js", f"{ORIGIN}/view"
HOST_PAGE = "<!doctype html><html><body style='margin:0'><script src='/host.js'></script></body></html>"
# The specification's restrictive default, without 'self': the page has nothing of its own to load either.
CSP = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; connect-src 'none'; "
    "object-src 'none'; base-uri 'none'; frame-src 'none'"
)
CAPABILITIES: Mapping[str, object] = {"openLinks": {}, "serverTools": {}, "message": {"text": {}}}
CHART: Mapping[str, Any] = {
    "symbol": "BINANCE:BTCUSDT",
    "interval": "1m",
    "studies": [{"name": "Volume"}, {"name": "Bollinger Bands"}, {"name": "Relative Strength Index"}],
}
# A machine that does ten things at once may take this long for what usually takes a second.
PATIENCE_SECS = 60
LOOK_AGAIN_MS = 30
# What is drawn has its place after one frame, its words after the next, and the axis its width after a third.
FRAMES = """() => new Promise(done => {
  const next = left => requestAnimationFrame(() => left ? next(left - 1) : done(true));
  next(6);
})"""

DRAWN_OR_NOT = """() => document.querySelector('#chart canvas') && document.querySelector('.legend') ? 'drawn'
  : document.getElementById('said').innerText === 'Not drawn' && 'not drawn'"""
# But for the time after which an answer is given up.
FASTER = "const wait = setTimeout; window.setTimeout = (job, ms) => wait(job, ms < 30000 ? ms / SPEED : ms);"

Answer = dict[str, Any]
PICTURELESS: Answer = {"content": [{"type": "text", "text": "drawn"}]}
Instead = Callable[[str, Mapping[str, Any]], Awaitable[Answer | None]]


@dataclass(frozen=True)
class Call:
    """One call of a tool, and what came of it."""

    name: str
    arguments: Mapping[str, Any]
    answer: Answer

    @property
    def rows(self) -> list[list[Any]]:
        return self.answer["structuredContent"]["rows"]


class Tools:
    """The server's tools as a host passes them on; a test may answer in their place."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.calls: list[Call] = []  # that were answered, the newest fifty
        self.asked = self.answered = 0
        self.instead: Instead | None = None

    async def call(self, name: str, arguments: str) -> str:
        given: dict[str, Any] = json.loads(arguments)
        self.asked += 1
        answer = await self.instead(name, given) if self.instead else None
        if answer is None:
            answer = await self.answer(name, given)
        self.calls.append(Call(name, given, answer))
        del self.calls[:-50]
        self.answered += 1
        return json.dumps(answer)

    async def answer(self, name: str, arguments: Mapping[str, Any]) -> Answer:
        result = await self._client.call_tool(name, {**arguments})
        return result.model_dump(mode="json", by_alias=True, exclude_none=True)

    async def bars(self, config: Mapping[str, Any], **arguments: object) -> Answer:
        """Return the structure of what the view would get."""
        return (await self.answer("get_chart_bars", {"config": config, **arguments}))["structuredContent"]

    async def image(self, config: Mapping[str, Any]) -> Answer:
        return await self.answer("generate_chart_image", {"config": config})


@dataclass
class View:
    """A view in its host, and all that a browser complained about."""

    page: Page
    frame: Frame
    tools: Tools
    problems: list[str]
    patience_secs: float

    @property
    def answer(self) -> Answer:
        """The structure of the last whole answer."""
        whole = [each for each in self.tools.calls if each.name == "get_chart_bars" and "since" not in each.arguments]
        return whole[-1].answer["structuredContent"]

    async def until(self, script: str, given: object = None) -> Any:  # noqa: ANN401 - whatever the script finds
        """Wait for a script to find something, and return that."""
        return await self._found(self.frame, script, given)

    async def until_host(self, script: str, given: object = None) -> Any:  # noqa: ANN401 - likewise
        """Wait for a script to find something in the host's page."""
        return await self._found(self.page.main_frame, script, given)

    async def _found(self, where: Frame, script: str, given: object) -> Any:  # noqa: ANN401 - likewise
        found: Any = None
        with anyio.move_on_after(self.patience_secs):
            while not found:
                # `wait_for_function` needs eval, which the page's policy forbids.
                found = await where.evaluate(script, given)
                if not found:
                    await SystemClock().sleep_ms(LOOK_AGAIN_MS)
        if not found:
            shown = await self.frame.evaluate("() => document.body.innerText")
            raise AssertionError(f"never: {script}; the page shows {shown!r}; problems: {self.problems}")
        return found

    async def drawn(self) -> None:
        """Wait for the chart and its words, and for the frame in which they are painted."""
        found = await self.until(DRAWN_OR_NOT)
        assert found == "drawn", await self.text("#notes")
        await self.painted()

    async def painted(self) -> None:
        await self.until(FRAMES)

    async def state(self, words: str) -> None:
        """Wait until the state line begins with these words."""
        await self.until("words => document.getElementById('state').innerText.trim().startsWith(words)", words)

    async def text(self, selector: str) -> str:
        return await self.frame.evaluate("selector => document.querySelector(selector).innerText.trim()", selector)

    async def legend(self) -> list[str]:
        """Return the legend's lines, from above."""
        return (await self.text("#legends")).split("\n")

    async def enter_pair(self, pair: str) -> None:
        await self.frame.fill("#symbol", pair)
        await self.frame.press("#symbol", "Enter")

    async def pixels(self) -> Pixels:
        return Pixels.of(await self.page.screenshot())

    async def heard(self, kind: str) -> list[Any]:
        """Return what the host heard from the view, of one kind."""
        return await self.page.evaluate("kind => heard.filter(([each]) => each === kind).map(([, what]) => what)", kind)

    async def host(self, script: str, given: object = None) -> None:
        await self.page.evaluate(script, given)

    async def pass_ms(self, duration_ms: int) -> None:
        """Let the page's time pass, where it is a test's, and hear what it says at the end."""
        await self.page.clock.run_for(duration_ms)
        await self.page.evaluate("() => roundTrip()")

    async def begun(self) -> None:
        """Wait for the bars of a view whose time is a test's, and for the frame in which they are painted."""
        await self.until("() => document.querySelector('.legend')")
        await self.pass_ms(100)

    async def followed(self) -> None:
        """Wait until every question was answered and the newest answer is shown."""
        with anyio.fail_after(self.patience_secs):
            while self.tools.answered < self.tools.asked:
                await SystemClock().sleep_ms(LOOK_AGAIN_MS)
        moment = self.tools.calls[-1].answer["structuredContent"]["as_of"][11:19]
        await self.until("moment => document.getElementById('moment').innerText.includes(moment)", moment)


async def _begun(frame: Frame, patience_secs: float) -> None:
    try:
        await frame.wait_for_selector("#state", state="attached", timeout=patience_secs * 1000)
    except NeverCame as late:
        raise AssertionError("the page never began") from late


@dataclass
class Stage:
    """Where views are opened: a browser, the built pages, a server and its clock."""

    browser: Browser
    host_script: str
    view_page: str
    client: Client
    clock: FakeClock
    patience_secs: float = PATIENCE_SECS

    def tools(self) -> Tools:
        return Tools(self.client)

    @asynccontextmanager
    async def view(
        self,
        config: Mapping[str, Any] = CHART,
        *,
        theme: str = "dark",
        size: tuple[int, int] = (900, 520),
        is_fixed: bool = True,
        tools: Tools | None = None,
        result: Answer | None = PICTURELESS,
        has_input: bool = True,
        capabilities: Mapping[str, object] = CAPABILITIES,
        is_timed: bool = False,
        speed: int = 1,
        scale: float = 1,
    ) -> AsyncGenerator[View]:
        """Open a chart in a host as one call of generate_chart_image does, but for the picture: drawing takes time.

        Where a view is timed, its time passes only if a test lets it; with a speed it waits as many times shorter.
        """
        tools = tools or self.tools()
        width, height = size
        context = await self.browser.new_context(
            viewport={"width": width, "height": height}, device_scale_factor=scale, color_scheme="dark"
        )
        try:
            page = await context.new_page()
            problems: list[str] = []
            _watch(page, problems)
            if is_timed:
                await page.clock.install(time=0)
                await page.clock.pause_at(1)
            if speed > 1:
                await page.add_init_script(FASTER.replace("SPEED", str(speed)))
            await page.route("**/*", self._serve)
            await page.expose_function("callTool", tools.call)  # pyright: ignore[reportUnknownMemberType] - any callable
            await page.goto(HOST)
            given = {
                "address": VIEW,
                "context": _host_context(theme, size, is_fixed=is_fixed),
                "capabilities": dict(capabilities),
                "size": list(size),
                "input": {"config": config} if has_input else None,
                "result": result,
            }
            await page.evaluate("given => openView(given)", given)
            frame = next(each for each in page.frames if each is not page.main_frame)
            await _begun(frame, self.patience_secs)
            yield View(page, frame, tools, problems, self.patience_secs)
        finally:
            await context.close()

    async def _serve(self, route: Route) -> None:
        pages: dict[str, tuple[str, str, dict[str, str]]] = {
            HOST: (HOST_PAGE, "text/html", {}),
            HOST_SCRIPT: (self.host_script, "text/javascript", {}),
            VIEW: (self.view_page, "text/html", {"Content-Security-Policy": CSP}),
        }
        if route.request.url not in pages:
            await route.fulfill(status=404)
            return
        body, kind, headers = pages[route.request.url]
        await route.fulfill(body=body, headers={"Content-Type": f"{kind}; charset=utf-8", **headers})


def _watch(page: Page, problems: list[str]) -> None:
    def console(message: ConsoleMessage) -> None:
        if message.location["url"] != HOST_SCRIPT:  # the bridge notes every message that passes
            problems.append(f"console: {message.text}")

    def request(sent: Request) -> None:
        if sent.url not in (HOST, HOST_SCRIPT, VIEW) and not sent.url.startswith("data:"):
            problems.append(f"requested: {sent.url}")

    page.on("console", console)
    page.on("pageerror", lambda error: problems.append(f"error: {error}"))
    page.on("request", request)


def _host_context(theme: str, size: tuple[int, int], *, is_fixed: bool) -> dict[str, object]:
    width, height = size
    dimensions = {"width": width, "height": height} if is_fixed else {"width": width, "maxHeight": 4000}
    return {
        "theme": theme,
        "displayMode": "inline",
        "availableDisplayModes": ["inline", "fullscreen"],
        "containerDimensions": dimensions,
    }
