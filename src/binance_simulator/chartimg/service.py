"""The simulated chart-img.com: rate limit, daily limit, stored images and drawing."""

import hashlib
import string
import struct
import zlib
from functools import cached_property

from binance_simulator.chartimg.facts import Facts, PlanFact, documentation, read_facts
from binance_simulator.clock import Clock
from binance_simulator.market.noise import draws

DAY_MS = 86_400_000
ALPHABET = string.ascii_letters + string.digits
STORED_IMAGES = 64

BARS = 60
LIGHT = {"page": b"\xff\xff\xff", "up": b"\x08\x99\x81", "down": b"\xf2\x36\x45"}
DARK = {**LIGHT, "page": b"\x13\x17\x22"}


class ChartImgRefusal(Exception):
    """A refused request. The answer has an error status, and a message or a list of problems."""

    def __init__(self, status: int, body: object) -> None:
        super().__init__(str(body))
        self.status = status
        self.body = body


def refusal(status: int, message: str) -> ChartImgRefusal:
    return ChartImgRefusal(status, {"message": message})


class SimulatedChartImg:
    """One key and its plan.

    `page` replaces the documentation. `tells_remaining` adds an undocumented header with the remaining quota.
    """

    def __init__(self, clock: Clock, seed: int) -> None:
        self.clock = clock
        self.seed = seed
        self.api_key = "".join(ALPHABET[draw % len(ALPHABET)] for draw in draws(40, seed, "chart-img key"))
        self.plan_name = "PRO"
        self.daily_limit: int | None = None
        self.page: str | None = None
        self.tells_remaining = False
        self.bodies: list[dict[str, object]] = []
        self.stored: dict[str, tuple[bytes, str]] = {}
        self._day: int = 0
        self._used_today = 0
        self._tokens = 0.0
        self._counted_at_ms: float | None = None

    @cached_property
    def facts(self) -> Facts:
        return read_facts()

    @cached_property
    def documentation(self) -> str:
        return documentation(self.facts)

    @property
    def plan(self) -> PlanFact:
        return self.facts.plans[self.plan_name]

    @property
    def remaining(self) -> int:
        """Return the number of images left today."""
        self._turn_day()
        return max(0, (self.plan.daily_max if self.daily_limit is None else self.daily_limit) - self._used_today)

    def admit(self, key: str) -> None:
        """Check the key and the rate limit of a request.

        Raises:
            ChartImgRefusal: the key is wrong, or the rate limit is exceeded.
        """
        if key != self.api_key:
            raise refusal(401, "Invalid Request")
        now_ms = self.clock.monotonic_ms()
        full = float(self.plan.burst)
        if self._counted_at_ms is None:
            self._tokens = full
        else:
            passed_secs = (now_ms - self._counted_at_ms) / 1000
            self._tokens = min(full, self._tokens + passed_secs * self.plan.requests_per_second)
        self._counted_at_ms = now_ms
        if self._tokens < 1:
            raise refusal(429, "Too Many Requests")
        self._tokens -= 1

    def count_image(self) -> None:
        """Count one image against the daily limit.

        Raises:
            ChartImgRefusal: the daily limit is reached.
        """
        if self.remaining < 1:
            raise refusal(429, "Limit Exceeded")
        self._used_today += 1

    def store(self, image: bytes, content_type: str) -> tuple[str, str]:
        """Store an image. Return its name and ETag."""
        etag = hashlib.sha256(image).hexdigest()[:32]
        name = f"{etag}.{content_type.removeprefix('image/')}"
        self.stored[name] = (image, content_type)
        if len(self.stored) > STORED_IMAGES:
            del self.stored[next(iter(self.stored))]
        return name, etag

    def _turn_day(self) -> None:
        day = self.clock.now_ms() // DAY_MS
        if day != self._day:
            self._day, self._used_today = day, 0


def png(width: int, height: int, *, dark: bool, seed: int) -> bytes:
    """Return a valid PNG of rising and falling bars. The same seed gives the same bars."""
    colours = DARK if dark else LIGHT
    row = [colours["page"]] * width
    tops = [height // 8 + draw % max(1, height // 2) for draw in draws(BARS, seed, "bars")]
    rows: list[bytes] = []
    slot = max(2, width // BARS)
    kept: dict[tuple[int, ...], bytes] = {}
    for y in range(height):
        lit = tuple(bar for bar, top in enumerate(tops) if top <= y < top + height // 4)
        if lit not in kept:
            pixels = row.copy()
            for bar in lit:
                colour = colours["up" if tops[bar] < tops[bar - 1] else "down"]
                for x in range(bar * slot, min(width, bar * slot + slot - 1)):
                    pixels[x] = colour
            kept[lit] = b"\x00" + b"".join(pixels)
        rows.append(kept[lit])
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    packed = zlib.compress(b"".join(rows), 1)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + _chunk(b"IDAT", packed) + _chunk(b"IEND", b"")


def jpeg(width: int, height: int) -> bytes:
    """Return a valid JPEG with one grey component. All blocks are equal, and each is encoded as two zero bits."""
    blocks = -(-width // 8) * -(-height // 8)
    bits = "00" * blocks
    bits += "1" * (-len(bits) % 8)
    data = int(bits, 2).to_bytes(len(bits) // 8, "big")
    one_code = bytes([1] + [0] * 15) + b"\x00"  # a Huffman table whose only code is the bit 0
    return b"".join(
        (
            b"\xff\xd8",
            _segment(0xDB, b"\x00" + b"\x10" * 64),
            _segment(0xC0, struct.pack(">BHHBBBB", 8, height, width, 1, 1, 0x11, 0)),
            _segment(0xC4, b"\x00" + one_code),
            _segment(0xC4, b"\x10" + one_code),
            _segment(0xDA, b"\x01\x01\x00\x00\x3f\x00"),
            data,
            b"\xff\xd9",
        )
    )


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _segment(marker: int, data: bytes) -> bytes:
    return bytes([0xFF, marker]) + struct.pack(">H", len(data) + 2) + data
