"""How the front page looks: one column, the reader's own colours for light and dark, nothing fetched."""

STYLE = """
:root {
  color-scheme: light dark;
  --ground: #f6f7f9; --card: #fff; --ink: #16181d; --soft: #5d6573; --line: #e3e6ec;
  --rise: #0b8a5b; --fall: #d0303f; --accent: #a36b00; --code: #f0f2f6;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #0d1017; --card: #131722; --ink: #e6e9ef; --soft: #929bab; --line: #242a38;
    --rise: #26b387; --fall: #f2545f; --accent: #f0b90b; --code: #1a2030;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); }
body { font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
main { max-width: 60rem; margin: 0 auto; padding: 3rem 1.25rem 2.5rem; }
h1 { font-size: 1.75rem; line-height: 1.2; letter-spacing: -.02em; margin: 0 0 .4rem; }
h2 { font-size: 1.1rem; letter-spacing: -.01em; margin: 2.5rem 0 .75rem; }
h3 { font-size: .95rem; margin: 0 0 .5rem; }
p { margin: .4rem 0; }
a { color: inherit; text-decoration-color: var(--soft); text-underline-offset: 2px; }
.lead { font-size: 1.1rem; color: var(--soft); max-width: 50rem; }
code { font: 13.5px/1.5 ui-monospace, "SF Mono", Menlo, Consolas, monospace; }
pre { margin: 0; padding: .7rem .85rem; border-radius: 8px; background: var(--code); }
pre { white-space: pre-wrap; overflow-wrap: anywhere; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 12px; padding: 1rem; }
.ways { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(22rem, 100%), 1fr)); gap: .75rem; }
.wide { grid-column: 1 / -1; }
.ask { list-style: none; padding: 0; margin: 0; display: grid; gap: .5rem; }
.ask li { padding: .65rem .9rem; }
.ask li::before { content: "\\201C"; color: var(--accent); } .ask li::after { content: "\\201D"; color: var(--accent); }
.market { display: flex; align-items: baseline; gap: .6rem; flex-wrap: wrap; }
.market small { color: var(--soft); font-size: .85rem; font-weight: 400; }
.dot { width: .55rem; height: .55rem; border-radius: 50%; background: var(--rise); align-self: center; }
.prices { display: grid; grid-template-columns: repeat(auto-fit, minmax(8.6rem, 1fr)); gap: .75rem; }
.prices { margin: 0 0 .75rem; } .prices .card { padding: .8rem .85rem; }
.prices dt { font-size: .85rem; color: var(--soft); } .prices dt b { color: var(--ink); }
.prices dd { margin: 0; font-variant-numeric: tabular-nums; }
.price { font-size: 1.08rem; font-weight: 600; letter-spacing: -.01em; }
.change { font-size: .88rem; } .rise { color: var(--rise); } .fall { color: var(--fall); }
.prices dl { margin: 0; }
.chart { padding: 0; overflow: hidden; margin: 0; } .chart img { display: block; width: 100%; height: auto; }
footer { margin-top: 3rem; padding-top: 1rem; border-top: 1px solid var(--line); }
footer { color: var(--soft); font-size: .85rem; }
@media (prefers-reduced-motion: no-preference) {
  .dot { animation: beat 2s ease-in-out infinite; }
  .price { transition: color .6s; } .price.up { color: var(--rise); } .price.down { color: var(--fall); }
  @keyframes beat { 50% { opacity: .25; } }
}
"""
