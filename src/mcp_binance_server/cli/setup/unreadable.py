"""A file that cannot be edited, and the place where it is wrong."""

from dataclasses import dataclass


@dataclass(eq=False)
class UnreadableConfig(Exception):
    """`line` and `column` count from one."""

    line: int
    column: int
    problem: str

    def __str__(self) -> str:
        return f"{self.line}:{self.column}: {self.problem}"

    @classmethod
    def at(cls, text: str, offset: int, problem: str) -> "UnreadableConfig":
        before = text[:offset]
        return cls(before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1, problem)
