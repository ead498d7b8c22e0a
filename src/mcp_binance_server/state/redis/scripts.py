"""The scripts that run inside the server: each is one atomic step."""

from dataclasses import dataclass
from hashlib import sha1
from importlib.resources import files


@dataclass(frozen=True, slots=True)
class Script:
    """A script and the name under which a server that has seen it keeps it."""

    text: str
    sha: str

    @classmethod
    def named(cls, name: str) -> "Script":
        text = files(__package__ or "").joinpath("lua", f"{name}.lua").read_text(encoding="utf-8")
        return cls(text, sha1(text.encode(), usedforsecurity=False).hexdigest())


GREET = Script.named("greet")
LEASE = Script.named("lease")
RELEASE = Script.named("release")
PUT_FENCED = Script.named("put_fenced")
BOARD = Script.named("board")
HOLD = Script.named("hold")
LAND = Script.named("land")
ACQUIRE = Script.named("acquire")
REPORT = Script.named("report")
RECALL = Script.named("recall")
STOP = Script.named("stop")
ADMIT = Script.named("admit")
TAKE_SHARE = Script.named("take_share")
TOUCH = Script.named("touch")
LEAVE = Script.named("leave")
MEMBERS = Script.named("members")
RESTATE = Script.named("restate")
SHELVE = Script.named("shelve")
SHELVED = Script.named("shelved")
