"""How an audit's page looks: light or dark as the reader has it, in the colours of the drawings, and on paper."""

STYLE = """\
:root { color-scheme: light dark; --ink: #1b2430; --soft: #566173; --line: #dde3ec; --back: #fff;
  --card: #f4f6fa; --good: #18794e; --good-back: #d9f2e2; --bad: #b03024; --bad-back: #fbdedb;
  --open: #855b00; --open-back: #fff5dc; --code: #e8ecf3; --bar: #1f8a4c; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8edf5; --soft: #a3afc0; --line: #2a3342;
  --back: #12161d; --card: #191f29; --good: #4cc282; --good-back: #17352a; --bad: #f08578;
  --bad-back: #40201d; --open: #e0b45a; --open-back: #332b17; --code: #202938; --bar: #4cc282; } }
* { box-sizing: border-box; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem;
  color: var(--ink); background: var(--back); }
h1 { font-size: 1.5rem; margin-bottom: .2rem; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; margin: 2.2rem 0 .6rem; }
h3 { font-size: 1rem; margin: .6rem 0; display: flex; flex-wrap: wrap; gap: .5rem; align-items: center; }
p.about { margin-top: 0; color: var(--soft); }
a { color: inherit; text-decoration-color: var(--soft); }
article { border: 1px solid var(--line); border-radius: .6rem; background: var(--card);
  padding: .2rem 1rem 1rem; margin: .8rem 0; overflow-x: auto; }
code { font: .82em ui-monospace, monospace; background: var(--code); border-radius: .25rem;
  padding: .05rem .3rem; overflow-wrap: anywhere; }
table { border-collapse: collapse; width: 100%; font-size: .87rem; margin-top: .5rem; }
th, td { text-align: left; vertical-align: top; padding: .25rem .8rem .25rem 0;
  border-bottom: 1px solid var(--line); }
th { color: var(--soft); font-weight: 500; }
tr:last-child td { border-bottom: 0; }
time, td.number { white-space: nowrap; font-variant-numeric: tabular-nums; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1.2rem; margin: .6rem 0; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
summary { cursor: pointer; margin-top: .6rem; }
details svg { max-width: 100%; height: auto; margin-top: .6rem; border-radius: .4rem; }
.tag { border-radius: 1rem; padding: .05rem .6rem; font-size: .8rem; font-weight: 500;
  color: var(--open); background: var(--open-back); white-space: nowrap; }
.tag.good { color: var(--good); background: var(--good-back); }
.tag.bad { color: var(--bad); background: var(--bad-back); }
.good { color: var(--good); } .bad { color: var(--bad); } .soft { color: var(--soft); }
ol.track { display: flex; flex-wrap: wrap; list-style: none; padding: 0; margin: .6rem 0; gap: .3rem 0; }
ol.track li { font-size: .8rem; padding: .1rem .7rem; border: 1px solid var(--line); border-radius: 1rem; }
ol.track li + li { margin-left: 1.6rem; position: relative; }
ol.track li + li::before { content: "→"; position: absolute; left: -1.35rem; color: var(--soft); }
ol.track li.ahead { color: var(--soft); border-style: dashed; }
ol.track li.good { border-color: var(--good); } ol.track li.bad { border-color: var(--bad); }
th.span { width: 38%; min-width: 10rem; } td .lane { margin-right: .8rem; }
.lane { position: relative; height: .7rem; margin-top: .35rem; background: var(--code); border-radius: .35rem; }
.bar { position: absolute; top: 0; bottom: 0; min-width: 4px; background: var(--bar); border-radius: .35rem; }
.bar.bad { background: var(--bad); } .bar.open { background: var(--open); }
@media print { body { max-width: none; } article { break-inside: avoid; } }
"""
