// Stylesheet of all pages: light and dark, phone and desktop. Text contrast is at least 4.5 in both.
#include "worker/admin/page_parts.hpp"

namespace feedmill {

std::string_view stylesheet() {
  return R"css(:root {
  color-scheme: light dark;
  --ground: #f7f7f5; --sheet: #ffffff; --ink: #1d2024; --soft: #565c64; --line: #e1e2e0; --link: #0a4f94;
  --good: #1b6a3d; --good-ground: #e8f3ec; --warn: #7d4b00; --warn-ground: #fbf0dc; --bad: #a01c17;
  --bad-ground: #fbe9e7; --bar: #4f7fae;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #121417; --sheet: #191c20; --ink: #e7e9ec; --soft: #a5acb5; --line: #2c3137; --link: #8bbcf2;
    --good: #86d3a6; --good-ground: #15291e; --warn: #efc075; --warn-ground: #30260f; --bad: #ffa299;
    --bad-ground: #391b19; --bar: #5f93c4;
  }
}
*, *::before { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body {
  margin: 0 auto; max-width: 68rem; padding: 0 1rem 2rem; background: var(--ground); color: var(--ink);
  font: 400 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif;
  font-variant-numeric: tabular-nums; overflow-wrap: anywhere;
}
a { color: var(--link); text-underline-offset: .18em; text-decoration-thickness: 1px; }
a:focus-visible, summary:focus-visible, input:focus-visible, button:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; border-radius: 2px; }
.skip { position: absolute; left: -100vw; top: 0; }
.skip:focus { left: 1rem; background: var(--sheet); padding: .5rem; z-index: 1; }
h1, h2, h3 { line-height: 1.25; margin: 0; font-weight: 600; }
h1 { font-size: 1.35rem; }
h2 { font-size: 1.05rem; margin: 0 0 .6rem; }
h3 { font-size: .95rem; margin: 0 0 .4rem; }
p { margin: 0 0 .5rem; }
code { font: .9em ui-monospace, SFMono-Regular, Menlo, "Liberation Mono", monospace; }
header { display: flex; flex-wrap: wrap; align-items: baseline; gap: .2rem 1.5rem; padding: 1rem 0 .8rem; }
.brand { margin: 0; }
.brand bdi { color: var(--soft); margin-left: .35rem; }
header ul, .chips { list-style: none; margin: 0; padding: 0; }
header ul { display: flex; gap: 1.1rem; }
header li a { display: inline-block; padding: .25rem 0; text-decoration: none; }
header a[aria-current] { color: var(--ink); font-weight: 600; box-shadow: 0 2px 0 var(--link); }
footer { color: var(--soft); font-size: .85rem; margin-top: 2rem; }
footer p { margin: 0 0 .2rem; }
section { background: var(--sheet); border: 1px solid var(--line); border-radius: 8px; padding: 1rem; margin: 0 0 1rem; }
.soft, .sub { color: var(--soft); }
.sub { font-size: .85rem; display: block; }
.verdict { border-left-width: 5px; }
.verdict.well { border-left-color: var(--good); }
.verdict.bad { border-left-color: var(--bad); }
.verdict.warning { border-left-color: var(--warn); }
.verdict.note { border-left-color: var(--soft); }
.verdict > p { margin: .35rem 0 0; }
.concerns { margin: .8rem 0 0; padding: 0; list-style: none; display: grid; gap: .6rem; }
.concerns li { border-radius: 6px; padding: .6rem .8rem; background: var(--ground); }
.concerns .bad { background: var(--bad-ground); }
.concerns .warning { background: var(--warn-ground); }
.concerns p { margin: 0; }
.weight { font-weight: 600; margin-right: .35rem; }
.bad .weight { color: var(--bad); }
.warning .weight { color: var(--warn); }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(8rem, 1fr)); gap: 1rem 1.2rem; margin: 0; }
.tiles dt { color: var(--soft); font-size: .85rem; }
.tiles dd { margin: 0; }
.tiles .figure { font-size: 1.5rem; line-height: 1.25; font-weight: 600; overflow-wrap: normal; }
.columns { columns: 2 26rem; column-gap: 1rem; margin-bottom: 1rem; }
.columns > section { break-inside: avoid; }
.sparks { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 17rem), 1fr)); gap: 1rem 1.5rem; }
figure { margin: 0; }
figcaption { font-size: .9rem; margin-bottom: .25rem; }
.bars { display: block; width: 100%; height: 3.2rem; fill: var(--bar); border-bottom: 1px solid var(--line); }
.bar { display: block; width: 100%; min-width: 4rem; height: .7rem; margin-top: .4rem; fill: var(--bar); }
.axis { display: flex; justify-content: space-between; color: var(--soft); font-size: .8rem; margin: .1rem 0 0; }
table { border-collapse: collapse; width: 100%; font-size: .93rem; }
caption { text-align: left; color: var(--soft); font-size: .85rem; padding: 0 0 .4rem; }
th, td { text-align: left; vertical-align: top; padding: .38rem .8rem .38rem 0; border-top: 1px solid var(--line);
  font-weight: 400; }
th:last-child, td:last-child { padding-right: 0; }
thead th { color: var(--soft); font-size: .82rem; border-top: 0; padding-top: 0; overflow-wrap: normal; }
.number { text-align: right; white-space: nowrap; }
.words { overflow-wrap: break-word; }
.narrow { white-space: nowrap; width: 1%; }
tbody tr:hover { background: var(--ground); }
.state { white-space: nowrap; }
.state::before { content: ""; display: inline-block; width: .55em; height: .55em; border-radius: 50%;
  margin-right: .4em; background: var(--soft); }
.state.healthy::before { background: var(--good); }
.state.degraded::before, .state.blocked::before { background: var(--warn); }
.state.failing::before, .state.never_read::before, .state.quarantined::before { background: var(--bad); }
.state.gone::before, .state.paused::before, .state.new::before { background: none; border: 2px solid var(--soft); }
.chips { display: flex; flex-wrap: wrap; gap: .4rem; margin: .7rem 0; }
.chips a { display: inline-block; padding: .2rem .65rem; border: 1px solid var(--line); border-radius: 99px;
  text-decoration: none; background: var(--ground); }
.chips a[aria-current] { border-color: var(--link); color: var(--ink); font-weight: 600; }
.story { margin: 0; }
.story div { padding: .45rem 0; border-top: 1px solid var(--line); }
.story div:first-child { border-top: 0; padding-top: 0; }
.story dt { color: var(--soft); font-size: .85rem; }
.story dd { margin: 0; }
@media (min-width: 40rem) {
  .story div { display: grid; grid-template-columns: 10rem 1fr; gap: 1rem; }
  .story dt { font-size: .9rem; }
}
form { display: flex; flex-wrap: wrap; gap: .4rem .6rem; align-items: baseline; margin: .7rem 0; }
input, button { font: inherit; color: inherit; background: var(--ground); border: 1px solid var(--line);
  border-radius: 6px; padding: .3rem .6rem; }
input { flex: 1 1 12rem; min-width: 0; }
button { cursor: pointer; }
.commands { list-style: none; margin: 0; padding: 0; }
.commands li { padding: .35rem 0; }
.commands code { display: block; padding: .35rem .6rem; background: var(--ground); border-radius: 6px;
  user-select: all; }
.items { list-style: none; margin: 0; padding: 0; }
.items li { padding: .5rem 0; border-top: 1px solid var(--line); }
.items li:first-child { border-top: 0; padding-top: 0; }
.items p { margin: 0; }
details { margin-top: .5rem; }
summary { cursor: pointer; color: var(--link); padding: .25rem 0; }
.pager { margin: .9rem 0 0; display: flex; flex-wrap: wrap; gap: .4rem 1.2rem; }
.empty { color: var(--soft); margin: 0; }
@media print { .skip, nav { display: none; } body { max-width: none; } }
)css";
}

}  // namespace feedmill
