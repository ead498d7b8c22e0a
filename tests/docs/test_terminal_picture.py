"""The terminal that README shows was recorded, not written: recorded again, it says the same but for its figures."""

import re
import subprocess
import sys
from html import unescape
from pathlib import Path

import pytest

from support.pages import ROOT
from support.process import PATIENCE_SECS, clean_environment

PICTURE = (ROOT / "docs" / "images" / "terminal.svg").read_text(encoding="utf-8")

pytestmark = [
    pytest.mark.flood,
    pytest.mark.skipif(sys.platform == "win32", reason="a pseudo-terminal is a Unix thing"),
]


def words(picture: str) -> list[str]:
    lines = re.findall(r"<text[^>]*>(.*?)</text>", picture)
    return [re.sub(r"[-+]?\$?[\d.,]+", "0", unescape(re.sub(r"<[^>]+>", "", line))) for line in lines]


@pytest.mark.night
def test_a_new_recording_says_what_the_picture_shows(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "scripts" / "terminal_picture.py"), str(tmp_path / "new.svg")]

    subprocess.run(command, check=True, timeout=PATIENCE_SECS, env=clean_environment({}))

    assert words((tmp_path / "new.svg").read_text(encoding="utf-8")) == words(PICTURE)


def test_the_picture_tells_nothing_of_the_machine_it_was_made_on() -> None:
    said = "\n".join(words(PICTURE))

    assert "Healthy" in said
    assert not re.search(r"/(home|root|tmp|work|Users)/", said)
