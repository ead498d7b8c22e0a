"""Deliberate faults, each of which a test must catch: a test that cannot fail shows nothing."""

import json
import shutil
import subprocess
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from apps import test_drawing, test_failing, test_moving, test_safety, test_words
from apps.harness import PATIENCE_SECS, Stage
from apps.programs import HERE, bundled

WEB = HERE.parents[1] / "web"
# For the one that shows by what never comes; as long as the page may take to say why.
WAIT_SECS = 20

Check = Callable[[Stage], Awaitable[None]]


@dataclass(frozen=True)
class Fault:
    """Changes of one file, the test that must notice, and a part of what it then says: slowness alone is no catch."""

    file: str
    changes: dict[str, str]
    check: Check
    says: str
    tries: int = 1
    patience_secs: float = PATIENCE_SECS


def dark_and_wide(stage: Stage) -> Awaitable[None]:
    return test_drawing.test_everything_is_in_its_place_and_no_word_over_another(stage, "dark", 760)


FAULTS = {
    "two navigations at once": Fault(
        "host.js",
        {
            "const frame = sandboxed(size);": (
                "const page = await (await fetch(address)).text(); const frame = sandboxed(size);"
                "frame.srcdoc = ''; frame.srcdoc = page;"
            ),
            "frame.src = address;": "",
        },
        dark_and_wide,
        "the page has no width|the page never began",
        tries=12,  # two processes race, and two times of three the wrong one wins
    ),
    "invisible candles": Fault(
        "page/series.js",
        {"const { up, down, line } = look;": "const { line } = look; const [up, down] = [TRANSPARENT, TRANSPARENT];"},
        dark_and_wide,
        r"assert 0 > \d+\n.* = count\(",
    ),
    "an old bar sent as new": Fault(
        "page/chart.js",
        {"this.#put(place, isOld)": "this.#put(place, false)"},
        test_moving.test_it_moves_and_new_bars_follow_the_last,
        "No new data; next try in",
        patience_secs=WAIT_SECS,
    ),
    "a rounded legend": Fault(
        "page/legend.js",
        {": price.values;": ": price.values.replace(/(\\.\\d)\\d/g, '$1');"},
        test_words.test_the_legend_is_the_same_in_the_text_the_tool_and_the_view,
        "At index 0 diff",
    ),
    "text set as markup": Fault(
        "page/words.js",
        {"element.textContent = text": "element.innerHTML = text"},
        test_failing.test_markup_is_shown_as_text,
        "Too many requests now",
    ),
    "a loaded font": Fault(
        "page/index.html",
        {"<title>": "<link rel=stylesheet href=https://fonts.example.com/x.css><title>"},
        test_safety.test_nothing_is_loaded_and_nobody_is_called,
        "fonts.example.com",
    ),
    "polling out of sight": Fault(
        "page/live.js",
        {"if (!this.#isLookedAt() || this.#isIdle()) {": "if (this.#isIdle()) {"},
        test_moving.test_out_of_sight_it_does_not_ask,
        "it goes on: Live",
    ),
}


def changed(file: Path, fault: Fault) -> None:
    text = file.read_text(encoding="utf-8")
    for was, now in fault.changes.items():
        assert text.count(was) == 1
        text = text.replace(was, now)
    file.write_text(text, encoding="utf-8")


def built_page(place: Path, packages: Path, fault: Fault | None = None) -> str:
    """Return the page, built from a changed copy of its sources."""
    sources = Path(shutil.copytree(WEB, place / "web", ignore=shutil.ignore_patterns("node_modules")))
    (sources / "node_modules").symlink_to(packages)
    if fault is not None:
        changed(sources / fault.file, fault)
    command = ["node", str(sources / "build.mjs"), str(place / "chart.html")]
    subprocess.run(command, capture_output=True, check=True, timeout=60)
    return (place / "chart.html").read_text(encoding="utf-8")


async def repeated(fault: Fault, broken: Stage) -> None:
    for _ in range(fault.tries):
        await fault.check(broken)


@pytest.mark.night
@pytest.mark.parametrize("name", FAULTS)
async def test_every_fault_is_caught(whole_stage: Stage, packages: Path, tmp_path: Path, name: str) -> None:
    fault = FAULTS[name]
    if fault.file == "host.js":
        changed(Path(shutil.copy(HERE / "host.js", tmp_path)), fault)
        script = bundled(tmp_path / "host.js", packages)
        broken = replace(whole_stage, host_script=script, patience_secs=fault.patience_secs)
    else:
        page = built_page(tmp_path, packages, fault)
        broken = replace(whole_stage, view_page=page, patience_secs=fault.patience_secs)

    with pytest.raises(AssertionError, match=fault.says):
        await repeated(fault, broken)


async def test_the_page_under_test_is_what_these_sources_give(stage: Stage, packages: Path, tmp_path: Path) -> None:
    assert built_page(tmp_path, packages) == stage.view_page


def test_page_and_tests_name_the_same_packages() -> None:
    own, tested = (
        json.loads((folder / "package.json").read_text(encoding="utf-8"))["devDependencies"] for folder in (WEB, HERE)
    )

    assert own.items() <= tested.items()
