#include "simulator/report_style.h"

namespace once {

const std::string_view kReportStyle = R"css(
:root {
  color-scheme: light dark;
  --page: #f5f6f8; --panel: #fff; --lane: #f6f7f9; --line: #dfe3e8; --rule: #eceff3;
  --ink: #1b2430; --soft: #566172; --claim: #1f5fd0; --replay: #0b7a62; --refusal: #b4500b;
  --unheard: #6b7480; --lost: #7a2fb8; --bad: #b3202c; --bad-soft: #fdeeee; --good: #14713f;
  --good-soft: #e9f6ee; --bound: #8a5a00; --fault: #5b6675; --tint: rgb(84 105 140 / .20);
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #11151b; --panel: #191f28; --lane: #1f2631; --line: #333d4b; --rule: #2a323e;
    --ink: #e6eaf0; --soft: #a0abba; --claim: #78a8ff; --replay: #4fd0ae; --refusal: #f2a25c;
    --unheard: #97a1af; --lost: #cb9bff; --bad: #ff8188; --bad-soft: #35191d; --good: #6ad79b;
    --good-soft: #15291f; --bound: #e8b84a; --fault: #93a0b2; --tint: rgb(150 175 215 / .20);
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif; }
main { max-width: 1216px; margin: 0 auto; padding: 28px 16px 56px; }
h1 { font-size: 28px; line-height: 1.2; margin: 0; letter-spacing: -.01em; }
h2 { font-size: 18px; line-height: 1.3; margin: 0 0 4px; }
p { margin: 0; }
.lead, .note, .empty { color: var(--soft); }
.lead { max-width: 96ch; margin-bottom: 14px; font-size: 14px; }
.note { font-size: 13px; margin-top: 8px; }
section, header { background: var(--panel); border: 1px solid var(--line); border-radius: 10px;
  padding: 20px 20px 22px; margin-bottom: 16px; min-width: 0; }
header { border-left: 6px solid var(--good); }
header.failed { border-left-color: var(--bad); }
.verdict { display: flex; flex-wrap: wrap; align-items: center; gap: 8px 14px; }
.badge { font-weight: 700; font-size: 14px; letter-spacing: .04em; padding: 4px 12px;
  border-radius: 99px; color: var(--good); background: var(--good-soft);
  border: 1.5px solid currentColor; white-space: nowrap; }
.failed .badge { color: var(--bad); background: var(--bad-soft); }
.facts { color: var(--soft); margin: 8px 0 16px; overflow-wrap: anywhere; }
.facts b { color: var(--ink); font-weight: 600; }
.command { display: flex; flex-wrap: wrap; align-items: center; gap: 8px 10px; }
.command span { color: var(--soft); font-size: 14px; }
code, .code { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono",
  monospace; font-size: .88em; overflow-wrap: anywhere; }
.command code { background: var(--lane); border: 1px solid var(--line); border-radius: 6px;
  padding: 5px 10px; min-width: 0; }
button { font: inherit; font-size: 14px; color: var(--ink); background: var(--panel);
  border: 1px solid var(--line); border-radius: 6px; padding: 4px 12px; cursor: pointer; }
button:hover { border-color: var(--soft); }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(128px, 1fr)); gap: 12px;
  margin-bottom: 16px; }
.tile { background: var(--panel); border: 1px solid var(--line); border-radius: 10px;
  padding: 12px 14px; }
.tile dt { color: var(--soft); font-size: 13px; }
.tile dd { margin: 2px 0 0; font-size: 22px; font-weight: 650; line-height: 1.25;
  font-variant-numeric: tabular-nums; }
.tile small { display: block; color: var(--soft); font-size: 12.5px; font-weight: 400;
  line-height: 1.35; }
.two { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 16px; }
.legend { display: flex; flex-wrap: wrap; gap: 6px 18px; list-style: none; margin: 0 0 14px;
  padding: 0; font-size: 13px; color: var(--soft); }
.legend li { display: flex; align-items: center; gap: 7px; }
.legend svg { flex: none; }
.defs { position: absolute; }
.strip, .scroll { overflow-x: auto; }
.strip { display: flex; }
.strip svg { flex: none; display: block; }
.strip .names { position: sticky; left: 0; background: var(--panel); z-index: 1; }
svg text { fill: var(--soft); font-size: 12px; font-family: inherit; }
svg .leader { fill: var(--ink); font-size: 11px; }
svg .lane-name { fill: var(--ink); font-size: 14px; font-weight: 650; }
svg .link-name { fill: var(--ink); font-size: 13px; font-weight: 650; }
svg .row-name { text-anchor: end; }
svg .link-lag { font-size: 11.5px; }
svg .tick { font-variant-numeric: tabular-nums; }
.lane { fill: var(--lane); }
.row { stroke: var(--line); stroke-width: 1; }
.axis { stroke: var(--fault); stroke-width: 1; }
.claim { fill: var(--claim); stroke: var(--panel); stroke-width: .8; }
.replay { fill: var(--panel); stroke: var(--replay); stroke-width: 1.6; stroke-linejoin: round; }
.refusal { fill: none; stroke: var(--refusal); stroke-width: 2; stroke-linecap: round; }
.unheard { fill: none; stroke: var(--unheard); stroke-width: 1.4; }
.lost { fill: var(--lost); stroke: var(--panel); stroke-width: 1; }
.arrow { fill: none; stroke: var(--lost); stroke-width: 1.5; opacity: .75; }
.arrow-head { fill: var(--lost); }
.loss:hover .arrow { stroke-width: 3; opacity: 1; }
pattern path { fill: none; stroke: var(--fault); }
pattern circle { fill: var(--fault); }
pattern .thin { stroke-width: .9; }
pattern .thick { stroke-width: 2; }
pattern .tint { fill: var(--tint); }
.band { opacity: .55; }
.band[fill="url(#fault-cut)"] { opacity: 1; }
.bar-ground { fill: var(--lane); }
.bar { stroke: var(--fault); stroke-width: 1; }
svg .bar-text { fill: var(--ink); }
.heal { stroke: var(--good); stroke-width: 1.6; stroke-dasharray: 2 4; }
.moment-wide { stroke: transparent; stroke-width: 11; }
.violation { stroke: var(--bad); stroke-width: 1.8; }
.flag { fill: var(--bad); }
svg .flag-text { fill: var(--panel); font-weight: 700; font-size: 11px; text-anchor: middle; }
.chart { display: block; width: 100%; max-width: 560px; height: auto; color: var(--claim); }
.column { opacity: .85; }
.column.over { stroke: var(--refusal); opacity: 1; }
.over-bound rect { fill: var(--panel); }
pattern.over-bound path { stroke: var(--refusal); stroke-width: 1.6; }
svg .count { text-anchor: middle; font-size: 11px; }
.bound { stroke: var(--bound); stroke-width: 1.5; stroke-dasharray: 6 4; }
svg .bound-text { fill: var(--bound); font-weight: 600; }
.lag { fill: var(--claim); opacity: .8; }
.lag.over { fill: var(--refusal); opacity: 1; }
.quantiles { display: flex; flex-wrap: wrap; gap: 8px 28px; margin: 10px 0 0; }
.quantiles dt { color: var(--soft); font-size: 13px; }
.quantiles dd { margin: 0; font-weight: 650; font-variant-numeric: tabular-nums; }
table { border-collapse: collapse; width: 100%; font-size: 14px; }
th, td { text-align: left; vertical-align: baseline; padding: 7px 16px 7px 0;
  border-bottom: 1px solid var(--rule); }
th:last-child, td:last-child { padding-right: 0; }
tbody tr:last-child > * { border-bottom: 0; }
thead th { color: var(--soft); font-weight: 500; font-size: 13px; border-bottom-color: var(--line);
  white-space: nowrap; }
tbody th { font-weight: 500; }
.number { font-variant-numeric: tabular-nums; white-space: nowrap; }
th.number, .answers td { text-align: right; }
.strong { font-weight: 650; }
.prose { min-width: 260px; overflow-wrap: anywhere; }
td.code { min-width: 120px; max-width: 300px; }
.pair { white-space: nowrap; }
.flags { min-width: 150px; }
.chip { display: inline-block; border: 1px solid var(--line); border-radius: 99px;
  padding: 0 9px; margin: 0 6px 2px 0; font-size: 12.5px; white-space: nowrap; }
details summary { cursor: pointer; font-weight: 600; }
details[open] summary { margin-bottom: 10px; }
details + details { margin-top: 14px; padding-top: 14px; border-top: 1px solid var(--rule); }
.violations { border-left: 6px solid var(--bad); }
.violations .scroll, .conflicts .scroll { max-height: 590px; overflow-y: auto; }
.violations thead th, .conflicts thead th { position: sticky; top: 0; background: var(--panel); }
#tip { position: fixed; z-index: 9; max-width: min(520px, 92vw); background: var(--ink);
  color: var(--panel); padding: 7px 11px; border-radius: 6px; font-size: 13px; line-height: 1.45;
  white-space: pre-line; overflow-wrap: anywhere; pointer-events: none; }
[data-tip] { cursor: default; }
:focus-visible { outline: 2px solid var(--claim); outline-offset: 2px; }
@media (max-width: 1180px) {
  .tiles { grid-template-columns: repeat(4, minmax(0, 1fr)); }
}
@media (min-width: 1216px) { .narrow { display: none; } }
@media (max-width: 800px) {
  .prose { min-width: 110px; }
  td.code { min-width: 150px; }
  main { padding: 12px 10px 40px; }
  section, header { padding: 16px 14px; }
  h1 { font-size: 23px; }
  .two { grid-template-columns: minmax(0, 1fr); gap: 0; }
  .tiles { grid-template-columns: repeat(2, minmax(0, 1fr)); }
  .chart text { font-size: 15px; }
  .chart .count { font-size: 13px; }
}
@media print {
  #tip, button { display: none; } .scroll { max-height: none !important; }
  section { break-inside: avoid; }
}
)css";

const std::string_view kReportScript = R"js(
const tip = document.getElementById('tip');
document.addEventListener('pointerover', e => {
  const at = e.target.closest('[data-tip]');
  tip.hidden = !at;
  if (!at) return;
  tip.textContent = at.dataset.tip;
  const x = Math.min(e.clientX + 14, innerWidth - tip.offsetWidth - 8);
  const below = e.clientY + 16 + tip.offsetHeight < innerHeight;
  tip.style.left = Math.max(8, x) + 'px';
  tip.style.top = (below ? e.clientY + 16 : Math.max(8, e.clientY - tip.offsetHeight - 12)) + 'px';
});
document.getElementById('copy').addEventListener('click', async e => {
  const command = document.getElementById('command');
  try {
    await navigator.clipboard.writeText(command.textContent);
    e.target.textContent = 'Copied';
  } catch {
    getSelection().selectAllChildren(command);
  }
});
)js";

}  // namespace once
