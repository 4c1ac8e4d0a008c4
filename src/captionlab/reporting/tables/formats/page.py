"""Self-contained HTML pages. A page follows the reader's light or dark setting and is complete without its script."""

import html as html_escapes

_STYLE = """
:root { color-scheme: light dark; --ink: #1c1f23; --soft: #57606c; --line: #d3d8df; --head: #f3f4f6; --paper: #ffffff;
  --accent: #1f5fa8; --hover: #f7f8fa; --found: #fff3c4; --good: #2f7d4f; --bad: #b3403a; --mixed: #8a6100; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e7eb; --soft: #a6afbb; --line: #3a414b; --head: #23272e; --paper: #16191d;
    --accent: #8ab8ee; --hover: #1c2026; --found: #4a3d12; --good: #74c495; --bad: #f0938c; --mixed: #dfb454; }
}
* { box-sizing: border-box; }
body { margin: 0; padding: 2rem clamp(1rem, 4vw, 3rem) 4rem; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; overflow-wrap: break-word; }
h1 { font-size: 1.4rem; line-height: 1.3; margin: 0 0 .5rem; text-wrap: balance; }
h2 { font-size: 1.1rem; line-height: 1.35; margin: 2.5rem 0 .25rem; }
h3 { font-size: 1rem; line-height: 1.4; margin: 0 0 .25rem; }
p, ul { max-width: 75ch; margin: .25rem 0 1rem; }
a { color: var(--accent); text-underline-offset: .15em; text-decoration-thickness: 1px; }
a.beside { color: inherit; text-decoration: underline dotted; text-underline-offset: 3px; }
a.beside:not([href]) { text-decoration: none; }
a.beside[href]:hover { color: var(--accent); text-decoration-style: solid; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
small { display: block; color: var(--soft); font-size: .82em; font-weight: normal; }
nav.up { margin: 0 0 1rem; font-size: .9em; }
button { font: inherit; color: inherit; cursor: pointer; }
summary { cursor: pointer; }
.notes, .made { color: var(--soft); font-size: .9em; max-width: 85ch; }
.notes { padding-left: 1.2rem; margin-top: 1rem; }
.made ul { padding-left: 1.2rem; }

.scroll { overflow-x: auto; max-width: 100%; }
.scroll.fits { overflow: visible; }
.scroll.long:not(.fits) { max-height: 90vh; overflow: auto; }
table { border-collapse: separate; border-spacing: 0; font-variant-numeric: tabular-nums; }
caption { text-align: left; padding: 0 0 .75rem; color: var(--soft); position: sticky; left: 0;
  max-width: min(75ch, 100vw - 2 * clamp(1rem, 4vw, 3rem)); }
th, td { padding: .3rem .55rem; text-align: left; vertical-align: top; font-weight: normal; }
th.number, td.number { text-align: right; white-space: nowrap; }
thead { position: sticky; top: 0; z-index: 2; }
thead th { background: var(--head); font-weight: 600; vertical-align: bottom; }
thead tr:first-child th { border-top: 2px solid var(--ink); }
thead tr:last-child th { border-bottom: 1px solid var(--ink); }
thead tr:first-child th[rowspan] { border-bottom: 1px solid var(--ink); }
th[scope="colgroup"] { text-align: center; border-bottom: 1px solid var(--line); }
th[scope="rowgroup"] { font-weight: 600; padding-top: .8rem; border-bottom: 1px solid var(--line); }
th[scope="rowgroup"] img { display: block; width: 240px; max-width: 100%; margin-bottom: .3rem; }
tbody th[scope="row"] { white-space: nowrap; }
td.text { min-width: 12ch; max-width: 62ch; white-space: pre-line; }
tbody tr:last-child > * { border-bottom: 1px solid var(--line); }
tbody:last-child tr:last-child > * { border-bottom: 2px solid var(--ink); }
.first { border-left: 1px solid var(--line); }
td.paper { color: var(--soft); }
tbody th, thead tr:first-child th:first-child { position: sticky; left: 0; z-index: 1; }
tbody th { background: var(--paper); }
tbody tr:hover > td, tbody tr:hover > th[scope="row"] { background: var(--hover); }
td strong { font-weight: 700; }
td:target { background: var(--found); outline: 2px solid var(--accent); outline-offset: -2px;
  scroll-margin: 9rem 2rem 4rem min(38vw, 16rem); }
button.sort { border: 0; background: none; padding: 0; font-weight: inherit; text-align: inherit; }
button.sort::after { content: ""; color: var(--accent); }
th[aria-sort="ascending"] button.sort::after { content: " \\2191"; }
th[aria-sort="descending"] button.sort::after { content: " \\2193"; }
button.sort:hover { color: var(--accent); }
fieldset.switches { border: 0; padding: 0; margin: .75rem 0 1rem; display: flex; flex-wrap: wrap; gap: .3rem .9rem; }
fieldset.switches[hidden] { display: none; }
fieldset.switches legend { color: var(--soft); float: left; padding: .05rem 0 0; margin-right: .9rem; }
fieldset.switches label { display: inline-flex; align-items: center; gap: .35rem; min-height: 1.6rem; }
@media (max-width: 600px) {
  tbody th[scope="row"] { white-space: normal; min-width: 7rem; max-width: 38vw; overflow-wrap: anywhere; }
  tbody th[scope="rowgroup"] { position: static; }
  th, td { padding: .3rem .5rem; }
  td.text { min-width: 24ch; }
}
@media print { fieldset.switches, nav.up { display: none; } .scroll { overflow: visible; max-height: none; } }
""".strip()

# Links to the captions' browser work only from the folder of all tables, which the browser stands beside. In
# Snakemake's report, or in any other frame, no linked file is beside the page, so all links are removed.
_EMBEDDED = """
if (!/\\/results\\/tables\\/[^\\/]*$/.test(location.pathname)) {
  for (const link of document.querySelectorAll("a.beside")) link.removeAttribute("href");
}
if (window.top !== window || !/^(file|https?):$/.test(location.protocol)) {
  for (const nav of document.querySelectorAll("nav.up")) nav.remove();
  for (const link of document.querySelectorAll("a")) link.replaceWith(...link.childNodes);
}
""".strip()

_UP = '<nav class="up"><a href="index.html">\N{LEFTWARDS ARROW} All tables</a></nav>\n'


def html_page(title: str, body: str, style: str = "", script: str = "", up: bool = True) -> str:
    """Return an HTML page around a body that is already HTML, with additional style and script.

    With `up`, the page links to the index of the tables beside it. Use False for a page that does not stand beside the
    index.
    """
    title = html_escapes.escape(title)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>\n{_STYLE}\n{style}</style>\n</head>\n<body>\n{_UP if up else ''}"
        f"<main>\n<h1>{title}</h1>\n{body}\n</main>\n<script>\n{_EMBEDDED}\n{script}</script>\n</body>\n</html>\n"
    )
