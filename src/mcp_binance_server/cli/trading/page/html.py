"""HTML of the approval page. It has no scripts or external resources, and all text is escaped. Pure."""

from base64 import b64encode
from collections.abc import Iterable
from hashlib import sha256
from html import escape
from typing import Literal

Tone = Literal["plain", "good", "bad"]

STYLE = """
:root { color-scheme: light dark; --page: #f5f6f8; --card: #ffffff; --line: #e2e5ea; --text: #14181f; --soft: #5b6472;
  --button: #14181f; --button-text: #ffffff; --good: #11703c; --bad: #b3261e; --bad-soft: #fdecea; --focus: #2f6fed; }
@media (prefers-color-scheme: dark) {
  :root { --page: #101318; --card: #181c23; --line: #2c323c; --text: #e9ecf1; --soft: #9aa4b2; --button: #e9ecf1;
    --button-text: #14181f; --good: #58c98b; --bad: #ff8a80; --bad-soft: #33201f; --focus: #7aa7ff; } }
* { box-sizing: border-box; }
body { margin: 0; padding: 4vh 16px 32px; background: var(--page); color: var(--text);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
main { max-width: 620px; margin: 0 auto; padding: 26px 28px; background: var(--card); border: 1px solid var(--line);
  border-radius: 14px; }
p { margin: 0; }
.mode { display: inline-block; padding: 2px 10px; border: 1px solid currentColor; border-radius: 999px; font-size: 13px;
  font-weight: 600; letter-spacing: .02em; color: var(--soft); overflow-wrap: anywhere; }
.money { color: var(--bad); }
h1 { margin: 14px 0 4px; font-size: 23px; line-height: 1.3; font-weight: 650; overflow-wrap: anywhere; }
h1:first-child { margin-top: 0; }
h1.good { color: var(--good); }
h1.bad { color: var(--bad); }
.lead { color: var(--soft); overflow-wrap: anywhere; }
.alert { margin-top: 16px; padding: 10px 14px; border-radius: 8px; background: var(--bad-soft); color: var(--bad); }
dl { display: grid; grid-template-columns: 88px 1fr; gap: 0 16px; margin: 20px 0 24px;
  border-bottom: 1px solid var(--line); font-variant-numeric: tabular-nums; }
dt, dd { margin: 0; padding: 6px 0; border-top: 1px solid var(--line); overflow-wrap: anywhere; }
dt { margin-right: -16px; color: var(--soft); }
label { display: block; margin-bottom: 6px; font-weight: 600; }
input, button { width: 100%; min-height: 46px; border-radius: 8px; font: inherit; }
input { padding: 8px 12px; border: 1px solid var(--soft); background: var(--card); color: var(--text); }
button { padding: 8px 20px; border: 1px solid var(--soft); background: transparent; color: var(--text);
  font-weight: 600; cursor: pointer; }
button.yes { margin-top: 12px; border-color: var(--button); background: var(--button); color: var(--button-text); }
form + form { margin-top: 12px; }
:focus-visible { outline: 3px solid var(--focus); outline-offset: 2px; }
.note { margin-top: 20px; font-size: 14px; color: var(--soft); }
@media (max-width: 480px) {
  body { padding: 0; background: var(--card); }
  main { padding: 20px 18px 32px; border: 0; border-radius: 0; }
  dl { grid-template-columns: 72px 1fr; gap: 0 12px; }
  dt { margin-right: -12px; }
}
"""
STYLE_HASH = b64encode(sha256(STYLE.encode()).digest()).decode()
POLICY = (
    f"default-src 'none'; style-src 'sha256-{STYLE_HASH}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = (
    ("Content-Security-Policy", POLICY),
    ("Cache-Control", "no-store"),
    # Not `no-referrer`: browsers would then submit the form with the origin `null`.
    ("Referrer-Policy", "same-origin"),
    ("X-Content-Type-Options", "nosniff"),
    ("X-Frame-Options", "DENY"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
)
NOTE = (
    "You sign this order and no other. Read it on this page, not in the chat. The passphrase stays on this machine and "
    "is forgotten at once; five wrong ones stop trading."
)


def order_page(badge: str, rows: Iterable[tuple[str, str]], alerts: Iterable[str] = ()) -> str:
    """Return the page with all terms of an order and the form for the decision. The first term is the heading."""
    (_, order), *others = rows
    told = "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in others)
    alarms = "".join(f'<p class="alert" role="alert">{escape(each)}</p>' for each in alerts)
    return _document(
        "Approve an order",
        f"{badge}<h1>{escape(order)}</h1>"
        f'<p class="lead">This order waits for your decision.</p>{alarms}<dl>{told}</dl>'
        '<form method="post"><label for="passphrase">Your passphrase</label>'
        '<input id="passphrase" name="passphrase" type="password" autocomplete="off" maxlength="256" '
        "required autofocus>"
        '<button class="yes" name="decision" value="approve">Approve this order</button></form>'
        '<form method="post"><button name="decision" value="decline">Do not place it</button></form>'
        f'<p class="note">{NOTE}</p>',
    )


def notice_page(heading: str, text: str, tone: Tone = "plain", badge: str = "") -> str:
    """Return a page with a result or a problem. A page about an order also shows its mode badge."""
    return _document(heading, f'{badge}<h1 class="{tone}">{escape(heading)}</h1><p class="lead">{escape(text)}</p>')


def mode_badge(mode: str, *, is_money: bool) -> str:
    """Return the badge of a trading mode."""
    return f'<p class="mode{" money" if is_money else ""}">{escape(mode)}</p>'


def _document(title: str, main: str) -> str:
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="robots" content="noindex">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head><body><main>{main}</main></body></html>"
    )
