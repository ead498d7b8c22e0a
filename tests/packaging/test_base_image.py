"""The digest of the base image: asked for, never made up, and no release without it."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DIGEST = "sha256:" + "5a" * 32


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with the script and the Dockerfile, whose base has no digest yet."""
    (tmp_path / "scripts").mkdir()
    shutil.copy(ROOT / "scripts" / "base_image", tmp_path / "scripts")
    bare = re.sub(r"@sha256:[0-9a-f]{64}", "", (ROOT / "Dockerfile").read_text(encoding="utf-8"))
    (tmp_path / "Dockerfile").write_text(bare, encoding="utf-8")
    return tmp_path


def run(checkout: Path, *words: str, says: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run the script beside a docker that says this, or beside none."""
    programs = checkout / "programs"
    programs.mkdir(exist_ok=True)
    if says is not None:
        (programs / "docker").write_text(f"#!/bin/sh\nprintf '%s\\n' '{says}'\n", encoding="utf-8")
        (programs / "docker").chmod(0o755)
    return subprocess.run(
        ["/usr/bin/env", "bash", checkout / "scripts" / "base_image", *words],
        env={"PATH": f"{programs}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def bases(checkout: Path) -> list[str]:
    return re.findall(r"^FROM (?:--\S+ )?(\S+)", (checkout / "Dockerfile").read_text(encoding="utf-8"), re.MULTILINE)


def test_a_release_is_refused_while_a_base_has_no_digest(checkout: Path) -> None:
    done = run(checkout, "--check")

    assert done.returncode == 1
    assert "run scripts/base_image and commit it" in done.stderr
    assert done.stderr.count("FROM python:") == 2
    assert "FROM --platform=$BUILDPLATFORM node:" in done.stderr


@pytest.mark.parametrize("wrong", ["@sha256:5a", "@md5:" + "5a" * 32, "@" + DIGEST.upper()])
def test_what_is_no_whole_digest_counts_as_none(checkout: Path, wrong: str) -> None:
    text = (checkout / "Dockerfile").read_text(encoding="utf-8")
    (checkout / "Dockerfile").write_text(
        re.sub(r"^(FROM (?:--\S+ )?\S+)", rf"\1{wrong}", text, flags=re.MULTILINE), encoding="utf-8"
    )

    assert run(checkout, "--check").returncode == 1


@pytest.mark.parametrize("left_out", [" AS page", " AS build"])
def test_all_bases_but_one_are_not_enough(checkout: Path, left_out: str) -> None:
    run(checkout, says=DIGEST)
    text = (checkout / "Dockerfile").read_text(encoding="utf-8")
    (checkout / "Dockerfile").write_text(text.replace(f"@{DIGEST}{left_out}", left_out), encoding="utf-8")

    assert run(checkout, "--check").returncode == 1


def test_the_digest_that_the_registry_names_is_written_to_every_stage(checkout: Path) -> None:
    tags = bases(checkout)

    assert run(checkout, says=DIGEST).returncode == 0
    assert len(tags) == 3
    assert bases(checkout) == [f"{tag}@{DIGEST}" for tag in tags]
    assert run(checkout, "--check").returncode == 0


def test_a_newer_digest_takes_the_place_of_the_one_before(checkout: Path) -> None:
    tags = bases(checkout)
    run(checkout, says=DIGEST)
    newer = DIGEST.replace("5a", "a5")

    assert run(checkout, says=newer).returncode == 0
    assert bases(checkout) == [f"{tag}@{newer}" for tag in tags]


@pytest.mark.parametrize("says", ["", "latest", "sha256:5a", "<no value>"])
def test_an_answer_that_is_no_digest_changes_nothing(checkout: Path, says: str) -> None:
    before = bases(checkout)

    done = run(checkout, says=says)

    assert done.returncode == 1
    assert "named no digest" in done.stderr
    assert bases(checkout) == before


def test_without_docker_nothing_is_made_up(checkout: Path) -> None:
    before = bases(checkout)

    assert run(checkout).returncode == 1
    assert bases(checkout) == before
