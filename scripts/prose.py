#!/usr/bin/env python3
"""Check the plain English of docstrings, comments and user texts. The count of each pattern may only fall.

scripts/prose.py                 compare with scripts/prose.json; fail if a count has grown
scripts/prose.py --write         record today's counts
scripts/prose.py --list PATH...  print each match with its place
scripts/prose.py --rate PATH...  print matches per 1,000 docstrings and comments, for any Python tree
"""

import ast
import io
import json
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
RECORD = Path(__file__).with_suffix(".json")
CODE = ("src", "scripts")
PAGES = ("README.md", "CHANGELOG.md", "SECURITY.md", "AGENTS.md", "CONTRIBUTING.md", "docs")
PATTERNS = {
    "who as subject": r"(?:^|[.;:,] |\band )(?:[Ww]ho(?:ever)?)\b(?! is this| are you)",
    "What clause": r"(?:^|[.;:] )What\b(?![^.]*\?)",
    "nobody, anybody": r"\b(?:[Nn]obody|[Aa]nybody|[Ss]omebody|[Ee]verybody)\b",
    "tell, told": r"\b(?:[Tt]ell|[Tt]ells|[Tt]old)\b",
    "Germanic so": r"\bfor so long|\b[Ss]o many|\b[Ss]o much|\b[Ss]o long\b",
    "anew, beside, of late": (
        r"\b(?:anew|[Bb]eside|in hand|of late|[Mm]eanwhile|come in step|takes? note|see to it|spelt|mends?|mended)\b"
    ),
}
# Minimum number of words of a user text. Shorter texts are names.
USER_TEXT_WORDS = 3


class Piece(NamedTuple):
    """A docstring, comment, user text or paragraph with its place."""

    path: Path
    line: int
    kind: str
    text: str

    def findings(self) -> Counter[str]:
        return Counter({name: found for name, each in PATTERNS.items() if (found := len(re.findall(each, self.text)))})


def docstrings_and_texts(path: Path, source: str) -> Iterator[Piece]:
    tree = ast.parse(source)
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = " ".join(node.value.split())
            if id(node) in docstrings:
                yield Piece(path, node.lineno, "docstring", text)
            elif len(text.split()) >= USER_TEXT_WORDS:
                yield Piece(path, node.lineno, "text", text)


def comments(path: Path, source: str) -> Iterator[Piece]:
    """Yield comments. Comments on adjacent lines are one text."""
    lines: list[str] = []
    first = last = -1
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT:
            continue
        if lines and token.start[0] != last + 1:
            yield Piece(path, first, "comment", " ".join(lines))
            lines = []
        if not lines:
            first = token.start[0]
        lines.append(token.string.lstrip("# ").strip())
        last = token.start[0]
    if lines:
        yield Piece(path, first, "comment", " ".join(lines))


def paragraphs(path: Path, source: str) -> Iterator[Piece]:
    """Yield the paragraphs of a Markdown page, except code blocks."""
    for block in re.split(r"\n\s*\n", re.sub(r"```.*?```", "", source, flags=re.DOTALL)):
        yield Piece(path, source.count("\n", 0, max(source.find(block), 0)) + 1, "page", " ".join(block.split()))


def pieces(*roots: Path) -> Iterator[Piece]:
    for root in roots:
        files = [root] if root.is_file() else sorted([*root.rglob("*.py"), *root.rglob("*.md")])
        for path in files:
            source = path.read_text(encoding="utf-8")
            if path.suffix == ".md":
                yield from paragraphs(path, source)
            elif "_pb2" not in path.name and path != Path(__file__):
                yield from docstrings_and_texts(path, source)
                yield from comments(path, source)


def counts() -> dict[str, Counter[str]]:
    found = {"docstrings and comments": Counter[str](), "user texts": Counter[str](), "pages": Counter[str]()}
    for each in pieces(*(ROOT / name for name in (*CODE, *PAGES))):
        area = {"page": "pages", "text": "user texts"}.get(each.kind, "docstrings and comments")
        found[area] += each.findings()
    return found


def check() -> int:
    recorded = json.loads(RECORD.read_text(encoding="utf-8"))
    now = counts()
    grown = 0
    for area, allowed in recorded.items():
        for name in PATTERNS:
            if now[area][name] > allowed[name]:
                grown = 1
                print(f'{area}: "{name}" {now[area][name]}, at most {allowed[name]}; see scripts/prose.py --list')
            elif now[area][name] < allowed[name]:
                print(f'{area}: "{name}" fell from {allowed[name]} to {now[area][name]}; record it with --write')
    return grown


def write() -> None:
    record = {area: {name: found[name] for name in PATTERNS} for area, found in counts().items()}
    RECORD.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def rate(root: Path) -> str:
    found = [each for each in pieces(root) if each.kind in {"docstring", "comment"}]
    total = sum((each.findings() for each in found), Counter[str]())
    rates = " · ".join(f"{name} {1000 * total[name] / max(len(found), 1):.1f}" for name in PATTERNS)
    return f"{root}: {len(found)} pieces, {sum(len(each.text.split()) for each in found)} words; per 1,000: {rates}"


def main(arguments: list[str]) -> int:
    option, *roots = arguments or [""]
    match option:
        case "--write":
            write()
        case "--list":
            for each in pieces(*map(Path, roots or [str(ROOT / name) for name in (*CODE, *PAGES)])):
                if names := each.findings():
                    print(f"{each.path}:{each.line}: {', '.join(names)}: {each.text}")
        case "--rate":
            for root in roots:
                print(rate(Path(root)))
        case _:
            return check()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
