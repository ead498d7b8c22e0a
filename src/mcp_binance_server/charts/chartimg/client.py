"""Client of chart-img.com: lists of exchanges and symbols, chart images and stored images."""

import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeVar
from urllib.parse import quote, urlsplit

import msgspec

from mcp_binance_server.channel import HttpAnswer, count_in
from mcp_binance_server.charts.chartimg.caller import ChartImgCaller, ChartImgRefused, ImageCall
from mcp_binance_server.charts.chartimg.plan_memory import PlanMemory
from mcp_binance_server.charts.errors import ChartRefused, ChartUnavailable
from mcp_binance_server.charts.plans import Plan, usage_of
from mcp_binance_server.words import word

ImageFormat = Literal["png", "jpeg"]

PNG_MAGIC = b"\x89PNG\r\n\x1a\n"
PNG_END = b"IEND\xaeB`\x82"
JPEG_MAGIC = b"\xff\xd8\xff"
JPEG_END = b"\xff\xd9"
LONGEST_SIDE = 4_096
# JPEG start-of-frame markers; 0xC4, 0xC8 and 0xCC have other meanings.
_JPEG_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}

WireT = TypeVar("WireT")

CHART_PATH = "/v2/tradingview/advanced-chart"
STORAGE_PATH = f"{CHART_PATH}/storage"
# The documented path, then a fallback path from this server's API contract.
EXCHANGES_PATHS = ("/v3/tradingview/exchange/list", "/v3/tradingview/exchanges")
SYMBOLS_PATHS = ("/v3/tradingview/exchange/{}", "/v3/tradingview/exchange/{}/symbols")
IMAGE_CAP = LIST_CAP = 8 * 1024 * 1024
STORED_CAP = 64 * 1024
IMAGE_PATIENCE, STORAGE_PATIENCE = 3, 6
SMALLEST_SIZE = (400, 300)
LONGEST_URL = 2_048
SERVICE_DOMAIN = "chart-img.com"
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?(Z|[+-]\d\d:\d\d)")
_EXCHANGE_ID = re.compile(r"[A-Z0-9_]{1,40}")


@dataclass(frozen=True, slots=True)
class ImageFile:
    format: ImageFormat
    width: int
    height: int


def read_image(data: bytes) -> ImageFile | None:
    """Return the format and size of an image file, or None unless it is a complete PNG or JPEG."""
    if data.startswith(PNG_MAGIC) and data.endswith(PNG_END) and data[12:16] == b"IHDR":
        width, height = struct.unpack_from(">II", data, 16)
        return ImageFile("png", width, height)
    if data.startswith(JPEG_MAGIC) and data.endswith(JPEG_END):
        return _jpeg(data)
    return None


def checked_image(content_type: str, data: bytes) -> ImageFile:
    """Return the format and size of an image answer after checking it against its content type.

    Raises:
        ChartUnavailable: the body is not an image, has another format, is truncated, or has an impossible size.
    """
    announced: dict[str, ImageFormat] = {"image/png": "png", "image/jpeg": "jpeg"}
    kind = announced.get(content_type.partition(";")[0].strip().lower())
    if kind is None:
        raise ChartUnavailable(reason="the response is not an image")
    image = read_image(data)
    if image is None or image.format != kind:
        raise ChartUnavailable(reason=f"the response is not a complete {kind.upper()} file")
    if not (0 < image.width <= LONGEST_SIDE and 0 < image.height <= LONGEST_SIDE):
        raise ChartUnavailable(reason="the image has an invalid size")
    return image


def _jpeg(data: bytes) -> ImageFile | None:
    place = 2
    while place + 9 <= len(data) and data[place] == 0xFF:
        marker, length = data[place + 1], struct.unpack_from(">H", data, place + 2)[0]
        if marker in _JPEG_FRAMES:
            height, width = struct.unpack_from(">HH", data, place + 5)
            return ImageFile("jpeg", width, height)
        place += 2 + max(2, length)
    return None


class _ExchangesWire(msgspec.Struct):
    payload: list[str]


class ListedSymbolWire(msgspec.Struct):
    """One symbol in the service's list."""

    symbol: str
    description: str = ""
    type: str = ""
    typespecs: list[str] = []

    def __post_init__(self) -> None:
        self.symbol, self.description, self.type = word(self.symbol), word(self.description), word(self.type)
        self.typespecs = [word(each) for each in self.typespecs]


class _SymbolsWire(msgspec.Struct):
    payload: list[ListedSymbolWire]


class _StoredWire(msgspec.Struct):
    url: str
    expire: str = ""


@dataclass(frozen=True, slots=True)
class RemotePicture:
    """An image, its properties and the service's remarks. Each warning has the form "code: sentence"."""

    data: bytes = field(repr=False)
    image: ImageFile
    status: int
    images_left: int | None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Stored:
    """An image stored by the service: its address, expiry and size."""

    url: str
    expires_at: str | None
    width: int
    height: int
    status: int
    images_left: int | None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Posted:
    answer: HttpAnswer
    body: Mapping[str, object]
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ChartImgClient:
    """Client for the four calls of the service. A refusal updates the known limits of the key's plan."""

    caller: ChartImgCaller
    plans: PlanMemory

    @property
    def has_key(self) -> bool:
        return self.caller.key is not None

    async def exchanges(self) -> tuple[str, ...]:
        """Return the IDs of the exchanges that can be drawn.

        Raises:
            ChartServiceError: the service did not return the list.
        """
        answer = await self._listed(EXCHANGES_PATHS, "")
        ids = _decoded(answer, _ExchangesWire).payload
        return tuple(dict.fromkeys(each for each in map(word, ids) if _EXCHANGE_ID.fullmatch(each)))

    async def symbols(self, exchange: str, search: str = "") -> tuple[ListedSymbolWire, ...]:
        """Return the symbols of an exchange that match an optional search text.

        Raises:
            ChartServiceError: the service did not return the list, or does not know the exchange.
        """
        paths = tuple(path.format(quote(exchange, safe="")) for path in SYMBOLS_PATHS)
        answer = await self._listed(paths, f"?symbol={quote(search, safe='')}" if search else "")
        return tuple(_decoded(answer, _SymbolsWire).payload)

    async def draw(self, body: Mapping[str, object]) -> RemotePicture:
        """Draw a chart and return the image.

        Raises:
            ChartServiceError: the chart was not drawn, or the answer is not an image.
            InvalidChartConfig: the service rejected the chart's configuration.
        """
        posted = await self._post(CHART_PATH, body, IMAGE_CAP, IMAGE_PATIENCE)
        image = checked_image(posted.answer.headers.get("content-type", ""), posted.answer.body)
        asked = f"{posted.body.get('width', image.width)}x{posted.body.get('height', image.height)}"
        warnings = posted.warnings
        if asked != f"{image.width}x{image.height}":
            warnings += (f"size_differs: {asked} was requested, {image.width}x{image.height} was drawn",)
        self.plans.learn_drawn(usage_of(posted.body, (image.width, image.height)))
        left = await self._images_left(posted.answer)
        return RemotePicture(posted.answer.body, image, posted.answer.status, left, warnings)

    async def store(self, body: Mapping[str, object]) -> Stored:
        """Draw a chart, store the image at the service and return its address.

        Raises:
            ChartServiceError: the chart was not drawn, or its address is outside chart-img.com.
            InvalidChartConfig: the service rejected the chart's configuration.
        """
        posted = await self._post(STORAGE_PATH, body, STORED_CAP, STORAGE_PATIENCE)
        stored = _decoded(posted.answer, _StoredWire)
        if not self._is_ours(stored.url):
            raise ChartUnavailable(reason="the address of the stored image is not on chart-img.com")
        width, height = _size(posted.body)
        self.plans.learn_drawn(usage_of(posted.body, (width, height)))
        expires_at = stored.expire if _MOMENT.fullmatch(stored.expire) else None
        left = await self._images_left(posted.answer)
        return Stored(stored.url, expires_at, width, height, posted.answer.status, left, posted.warnings)

    async def _listed(self, paths: tuple[str, ...], query: str) -> HttpAnswer:
        for path in paths:
            try:
                return await self.caller.send(ImageCall("GET", f"{path}{query}", LIST_CAP))
            except ChartImgRefused as refused:
                if refused.refusal.kind != "not_found" or path == paths[-1]:
                    raise self.caller.error(refused.refusal) from None
        raise ChartRefused(reason="the list does not exist")

    async def _post(self, path: str, body: Mapping[str, object], cap: int, patience: int) -> _Posted:
        try:
            return _Posted(await self._send(path, body, cap, patience), body, ())
        except ChartImgRefused as refused:
            refusal = refused.refusal
        self.plans.learn(refusal.text)
        plan = self.plans.current().plan
        if refusal.kind != "resolution" or plan.fits(*_size(body)):
            raise self.caller.error(refusal)
        smaller = {**body, **dict(zip(("width", "height"), fitting_size(_size(body), plan), strict=True))}
        try:
            answer = await self._send(path, smaller, cap, patience)
        except ChartImgRefused as again:
            raise self.caller.error(again.refusal) from None
        warning = (
            f"size_clamped: drawn at {smaller['width']}x{smaller['height']}, because the plan of the key allows "
            f"{plan.max_resolution} at most"
        )
        return _Posted(answer, smaller, (warning,))

    async def _send(self, path: str, body: Mapping[str, object], cap: int, patience: int) -> HttpAnswer:
        content = msgspec.json.encode(body)
        return await self.caller.send(ImageCall("POST", path, cap, content, patience, is_image=True))

    async def _images_left(self, answer: HttpAnswer) -> int | None:
        told = count_in(answer.headers, "x-ratelimit-remaining")
        return await self.caller.limiter.images_left() if told is None else told

    def _is_ours(self, url: str) -> bool:
        if len(url) > LONGEST_URL or not url.isascii() or not url.isprintable():
            return False
        try:
            own, found = urlsplit(self.caller.address), urlsplit(url)
        except ValueError:
            return False
        if "@" in found.netloc:
            return False
        if (found.scheme, found.netloc) == (own.scheme, own.netloc):
            return True
        host = found.hostname or ""
        return found.scheme == "https" and (host == SERVICE_DOMAIN or host.endswith(f".{SERVICE_DOMAIN}"))


def fitting_size(size: tuple[int, int], plan: Plan) -> tuple[int, int]:
    """Scale a size down to the limits of a plan. The aspect ratio stays, and both sides are even numbers."""
    scale = min(1.0, plan.max_width / size[0], plan.max_height / size[1])
    width, height = (max(least, int(side * scale) // 2 * 2) for side, least in zip(size, SMALLEST_SIZE, strict=True))
    return width, height


def _size(body: Mapping[str, object]) -> tuple[int, int]:
    width, height = body.get("width", 800), body.get("height", 600)
    return (width, height) if isinstance(width, int) and isinstance(height, int) else (800, 600)


def _decoded(answer: HttpAnswer, shape: type[WireT]) -> WireT:
    if "json" not in answer.headers.get("content-type", ""):
        raise ChartUnavailable(reason="the response is not JSON")
    try:
        return msgspec.json.decode(answer.body, type=shape)
    except (ValueError, RecursionError):
        raise ChartUnavailable(reason="the response could not be read") from None
