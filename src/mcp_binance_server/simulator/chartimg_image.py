"""Pictures of the asked size, drawn in a few lines: a chart of noise as PNG, an even grey as JPEG."""

import struct
import zlib

from mcp_binance_server.simulator.noise import draws

BARS = 60
LIGHT = {"page": b"\xff\xff\xff", "up": b"\x08\x99\x81", "down": b"\xf2\x36\x45"}
DARK = {**LIGHT, "page": b"\x13\x17\x22"}


def png(width: int, height: int, *, dark: bool, seed: int) -> bytes:
    """Return a truthful PNG: bars that rise and fall, the same for the same seed."""
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
    """Return a truthful JPEG: one grey component, every block the same, so each is the two bits 0 and 0."""
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
