"""The pictures themselves: the same bytes as those that were looked at, one by one."""

import hashlib
import json
from functools import cache
from pathlib import Path

import pytest

from charts.render.clearance import crossed_texts, overlapping_texts, strokes_cut_off, texts_outside
from charts.render.pixels import differing, size_of
from charts.render.scenes import SCENES
from mcp_binance_server.charts.render.chart import compose, render
from mcp_binance_server.charts.render.spec import Rendered

FOLDER = Path(__file__).parent.parent.parent / "snapshots" / "charts"
DIGESTS = FOLDER / "digests.json"
TOLERATED = 0.001


@cache
def drawn(name: str) -> Rendered:
    scene = SCENES[name]
    return render(scene.candles(), scene.spec)


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def expected(pytestconfig: pytest.Config) -> dict[str, dict[str, str]]:
    if pytestconfig.getoption("--golden-write"):
        FOLDER.mkdir(parents=True, exist_ok=True)
        for name in SCENES:
            (FOLDER / f"{name}.png").write_bytes(drawn(name).png)
        digests = {name: {"svg": digest(drawn(name).svg.encode()), "png": digest(drawn(name).png)} for name in SCENES}
        DIGESTS.write_text(json.dumps(digests, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    return json.loads(DIGESTS.read_text(encoding="utf-8"))


@pytest.mark.slow
@pytest.mark.parametrize("name", SCENES)
def test_a_picture_is_drawn_as_it_was_looked_at(name: str, expected: dict[str, dict[str, str]], tmp_path: Path) -> None:
    picture = drawn(name)

    if digest(picture.svg.encode()) != expected[name]["svg"]:
        (tmp_path / f"{name}.svg").write_text(picture.svg, encoding="utf-8")
        (tmp_path / f"{name}.png").write_bytes(picture.png)
        pytest.fail(f"{name} changed; look at {tmp_path} and, if that is meant, run pytest --golden-write")
    if digest(picture.png) != expected[name]["png"]:
        # Another rasteriser may round a pixel differently; a person must not see it.
        assert differing(picture.png, (FOLDER / f"{name}.png").read_bytes()) <= TOLERATED


def test_the_kept_pictures_are_those_of_the_list(expected: dict[str, dict[str, str]]) -> None:
    kept = {path.stem: path.read_bytes() for path in FOLDER.glob("*.png")}

    assert set(kept) == set(SCENES) == set(expected)
    assert len(kept) >= 24
    assert all(digest(png) == expected[name]["png"] for name, png in kept.items())
    assert sum(len(png) for png in kept.values()) < 25_000 * len(kept)


@pytest.mark.parametrize("name", SCENES)
def test_no_text_of_a_picture_is_covered_crossed_or_cut(name: str) -> None:
    scene = SCENES[name]
    canvas = compose(scene.candles(), scene.spec).canvas

    assert overlapping_texts(canvas) == []
    assert crossed_texts(canvas) == []
    assert texts_outside(canvas) == []
    assert scene.spec.drawings or strokes_cut_off(canvas) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["candle-dark", "smallest-dark", "price-0.00001234-dark"])
def test_the_pixels_are_those_of_the_size_asked_for(name: str) -> None:
    spec = SCENES[name].spec

    assert size_of(drawn(name).png) == (spec.width, spec.height)


@pytest.mark.night
@pytest.mark.flood
def test_one_changed_pixel_in_a_thousand_is_counted() -> None:
    dark, again = drawn("flat-price-dark").png, drawn("flat-price-dark").png

    assert differing(dark, again) == 0.0
    assert differing(dark, drawn("own-colours-dark").png) > TOLERATED
    assert differing(dark, drawn("smallest-dark").png) == 1.0
