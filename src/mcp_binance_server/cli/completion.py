"""`mcp-binance-server completion SHELL`: what the Tab key may offer, written from the parser itself."""

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, cast

from mcp_binance_server.cli.arguments import SHELLS

PROGRAMS = ("mcp-binance-server", "binance-provider")


@dataclass(frozen=True, slots=True)
class Flag:
    """One option: its spellings, what it means, whether a value follows and which values there are."""

    names: tuple[str, ...]
    meaning: str
    takes_value: bool
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Place:
    """A spot on the command line, by the commands typed before it, and what can follow there."""

    path: tuple[str, ...]
    flags: tuple[Flag, ...]
    words: Mapping[str, str]
    """Commands, or the values of what has no name, with what each means."""


def run_completion(shell: str, parser: argparse.ArgumentParser) -> int:
    text = WRITERS[shell](tuple(places(parser)))
    # As bytes: with the line ends of Windows no shell could read it.
    sys.stdout.buffer.write(text.encode())
    sys.stdout.flush()
    return 0


def places(parser: argparse.ArgumentParser, path: tuple[str, ...] = ()) -> Iterator[Place]:
    """Return every place of a parser and of those below it."""
    flags: list[Flag] = []
    words: dict[str, str] = {}
    below: dict[str, argparse.ArgumentParser] = {}
    for action in parser._actions:  # noqa: SLF001 - argparse shows them nowhere else
        choices = cast("Mapping[str, object]", action.choices or {})
        if action.option_strings:
            takes_value = action.nargs != 0
            flags.append(Flag(tuple(action.option_strings), _plain(action.help), takes_value, tuple(choices)))
            continue
        described = cast("list[argparse.Action]", getattr(action, "_choices_actions", []))
        meanings = {each.dest: _plain(each.help) for each in described}
        words.update({name: meanings.get(name, "") for name in choices})
        if action.nargs == argparse.PARSER:
            below = {name: each for name, each in choices.items() if isinstance(each, argparse.ArgumentParser)}
    yield Place(path, tuple(flags), words)
    for name, each in below.items():
        yield from places(each, (*path, name))


def _plain(text: str | None) -> str:
    return " ".join((text or "").replace("%%", "%").split())


def _bash(found: tuple[Place, ...]) -> str:
    paths = "|".join(f"'{' '.join(place.path)}'" for place in found if place.path)
    values = "".join(
        f"    '{' '.join(place.path)} {name}') words='{' '.join(flag.values)}' ;;\n"
        for place in found
        for flag in place.flags
        if flag.takes_value
        for name in flag.names
    )
    words = "".join(
        f"    '{' '.join(place.path)}') words='{' '.join([*place.words, *_names(place)])}' ;;\n" for place in found
    )
    return f"""# Completion of {PROGRAMS[0]} for bash. Put it into
# ~/.local/share/bash-completion/completions/{PROGRAMS[0]}
_mcp_binance_server() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} place='' words='' i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "${{place:+$place }}${{COMP_WORDS[i]}}" in
    {paths}) place="${{place:+$place }}${{COMP_WORDS[i]}}" ;;
    esac
  done
  COMPREPLY=()
  case "$place $before" in
{values}    *)
      case "$place" in
{_indented(words)}      esac
      ;;
  esac
  while IFS= read -r i; do COMPREPLY+=("$i"); done < <(compgen -W "$words" -- "$current")
}}
complete -o default -F _mcp_binance_server {" ".join(PROGRAMS)}
"""


def _zsh(found: tuple[Place, ...]) -> str:
    paths = "|".join(f"'{' '.join(place.path)}'" for place in found if place.path)
    values = "".join(
        f"    '{' '.join(place.path)} {name}') {_zsh_values(flag)} ;;\n"
        for place in found
        for flag in place.flags
        if flag.takes_value
        for name in flag.names
    )
    words = "".join(f"    '{' '.join(place.path)}') offered=({' '.join(_zsh_pairs(place))}) ;;\n" for place in found)
    return f"""#compdef {" ".join(PROGRAMS)}
# Completion of {PROGRAMS[0]} for zsh; put it into a folder of $fpath, as _{PROGRAMS[0]}
_mcp_binance_server() {{
  local place='' i
  local -a offered
  for ((i = 2; i < CURRENT; i++)); do
    case "${{place:+$place }}${{words[i]}}" in
    {paths}) place="${{place:+$place }}${{words[i]}}" ;;
    esac
  done
  case "$place ${{words[CURRENT-1]}}" in
{values}    *)
      case "$place" in
{_indented(words)}      esac
      _describe '' offered || _files
      ;;
  esac
}}
# As a file of $fpath this is the body of a function; else it is read once, at the start of the shell.
if [[ $funcstack[1] == _{PROGRAMS[0]} ]]; then
  _mcp_binance_server "$@"
else
  compdef _mcp_binance_server {" ".join(PROGRAMS)}
fi
"""


def _fish(found: tuple[Place, ...]) -> str:
    lines = [f"# Completion of {PROGRAMS[0]} for fish; put it into ~/.config/fish/completions/{PROGRAMS[0]}.fish"]
    for place in found:
        when = _fish_condition(place, found)
        lines += [
            f"complete -c $program -f -n {_quoted(when)} -a {_quoted(word)} -d {_quoted(meaning)}"
            for word, meaning in place.words.items()
        ]
        lines += [
            f"complete -c $program -n {_quoted(when)} {_fish_names(flag)} -d {_quoted(flag.meaning)}"
            + (f" -x -a {_quoted(' '.join(flag.values))}" if flag.values else " -r" if flag.takes_value else "")
            for flag in place.flags
        ]
    body = "\n".join(f"    {line}" for line in lines[1:])
    return f"{lines[0]}\nfor program in {' '.join(PROGRAMS)}\n{body}\nend\n"


def _fish_condition(place: Place, found: tuple[Place, ...]) -> str:
    depth = len(place.path)
    below = [each.path[depth] for each in found if len(each.path) == depth + 1 and each.path[:depth] == place.path]
    seen = [f"__fish_seen_subcommand_from {word}" for word in place.path]
    not_yet = [f"not __fish_seen_subcommand_from {' '.join(below)}"] if below else []
    return "; and ".join([*seen, *not_yet]) or "true"


def _fish_names(flag: Flag) -> str:
    return " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in flag.names)


def _zsh_values(flag: Flag) -> str:
    return f"compadd -- {' '.join(map(_quoted, flag.values))}" if flag.values else "_files"


def _zsh_pairs(place: Place) -> Iterator[str]:
    described = {**place.words, **{name: flag.meaning for flag in place.flags for name in flag.names}}
    for word, meaning in described.items():
        yield _quoted(f"{word}:{meaning.replace(':', chr(92) + ':')}" if meaning else word)


def _names(place: Place) -> list[str]:
    return [name for flag in place.flags for name in flag.names]


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "\u2019") + "'"


def _indented(text: str) -> str:
    return "".join(f"  {line}\n" for line in text.splitlines())


WRITERS: Final[Mapping[str, Callable[[tuple[Place, ...]], str]]] = dict(zip(SHELLS, (_bash, _zsh, _fish), strict=True))
