"""The figures of several processes as one text of Prometheus."""

from collections.abc import Mapping


def merged(texts: Mapping[int, str]) -> str:
    """Return all series with a label `worker` each; a family's lines stay together, as the format has it."""
    families: dict[str, tuple[list[str], list[str]]] = {}
    for number, text in texts.items():
        about, series, is_new = list[str](), list[str](), False
        for line in text.splitlines():
            if line.startswith("# HELP"):
                about, series = families.setdefault(line.split(" ", 3)[2], ([], []))
                is_new = not about
            if line.startswith("#"):
                if is_new:
                    about.append(line)
            elif line:
                series.append(_labelled(line, number))
    return "".join(f"{line}\n" for about, series in families.values() for line in (*about, *series))


def _labelled(line: str, number: int) -> str:
    name, space, value = line.rpartition(" ")
    head, brace, labels = name.partition("{")
    return f'{head}{{worker="{number}"{"," + labels if brace else "}"}{space}{value}'
