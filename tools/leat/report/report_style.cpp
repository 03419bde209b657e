#include <fmt/format.h>

#include "report/report_assets.hpp"

namespace tool {
namespace {

// Colors that can be distinguished with color blindness, for light and for dark pages.
constexpr std::string_view report_sheet = R"(
:root { color-scheme: light dark; --back: #fff; --fore: #1b1f24; --dim: #626b75; --grid: #e3e6ea;
  --p0: #0072b2; --p1: #d55e00; --p2: #009e73; --p3: #cc79a7; --p4: #b8860b; --p5: #2f9fd8;
  --p6: #8c6bb1; --p7: #444c56; }
@media (prefers-color-scheme: dark) { :root { --back: #0f1318; --fore: #dfe4ea; --dim: #93a0ad;
  --grid: #29313a; --p0: #56b4e9; --p1: #ff9e57; --p2: #3ecf9e; --p3: #eaa4cb; --p4: #f0d04a;
  --p5: #7fc8ff; --p6: #c3a6ea; --p7: #b3bcc6; } }
* { box-sizing: border-box; }
body { background: var(--back); color: var(--fore); font: 15px/1.45 system-ui, sans-serif;
  margin: 0 auto; max-width: 1400px; padding: 1rem; }
h1 { font-size: 1.3rem; margin: 0 0 .5rem; overflow-wrap: anywhere; }
h2 { font-size: 1rem; margin: 0 0 .3rem; overflow-wrap: anywhere; }
.off, [hidden] { display: none !important; }
.legend { list-style: none; margin: 0; padding: 0; display: flex; flex-wrap: wrap;
  gap: .2rem 1.2rem; max-height: 9rem; overflow-y: auto; }
.legend li { overflow-wrap: anywhere; }
.swatch { display: inline-block; width: 1.4em; height: .3em; margin-right: .4em;
  vertical-align: middle; background: var(--c); }
.controls { display: flex; flex-wrap: wrap; gap: .2rem 1.6rem; margin-top: .5rem; }
.controls fieldset { border: 0; margin: 0; padding: 0; display: flex; flex-wrap: wrap;
  gap: 0 .8rem; }
.charts { display: grid; gap: 1rem; margin-top: 1rem;
  grid-template-columns: repeat(auto-fill, minmax(min(100%, 26rem), 1fr)); }
details { margin-top: 1.2rem; }
summary { cursor: pointer; font-weight: 600; overflow-wrap: anywhere;
  border-bottom: 1px solid var(--grid); }
summary .note { font-weight: normal; }
section { border: 1px solid var(--grid); border-radius: 6px; padding: .8rem; min-width: 0; }
section.singles { margin-top: 1.2rem; }
svg { display: block; width: 100%; height: auto; touch-action: pan-y; }
.axes line { stroke: var(--grid); } .axes text { fill: var(--dim); font-size: 12px; }
.axes .x { text-anchor: middle; } .axes .y { text-anchor: end; }
.curve { fill: none; stroke: var(--c); stroke-width: 1.8; stroke-linejoin: round; }
.dot, .mark { fill: var(--c); } .faint { opacity: .3; } .band { fill: var(--c); opacity: .18; }
.guide { stroke: var(--dim); stroke-dasharray: 3 3; } .spot { fill: var(--c); }
.tip { position: fixed; z-index: 1; pointer-events: none; width: max-content; max-width: 95vw;
  padding: .3rem .5rem; border: 1px solid var(--grid); border-radius: 4px;
  background: var(--back); font-size: .8rem; box-shadow: 0 1px 6px #0005; }
.table { overflow-x: auto; }
table { border-collapse: collapse; font-size: .85rem; width: 100%; margin-top: .4rem; }
th, td { text-align: right; padding: .1rem .4rem; font-variant-numeric: tabular-nums;
  white-space: nowrap; vertical-align: top; }
th:first-child, td:first-child { text-align: left; padding-left: 0; }
td:first-child { overflow-wrap: anywhere; white-space: normal; min-width: 8em; }
td:has(> .swatch) { position: relative; padding-left: 1.9em; }
td > .swatch { position: absolute; left: 0; top: .7em; }
tr + tr td { border-top: 1px solid var(--grid); }
.tip table { margin: 0; width: auto; font-size: inherit; } .tip tr td { border: 0; }
.tip td:first-child { white-space: nowrap; min-width: 0; max-width: 16em; overflow: hidden;
  text-overflow: ellipsis; }
footer, .note { color: var(--dim); font-size: .85rem; }
p.note { margin: .3rem 0; overflow-wrap: anywhere; } footer { margin-top: 1.2rem; }
@media (max-width: 40rem) { body { padding: .5rem; } section { padding: .5rem; }
  table { font-size: .8rem; } th, td { padding: .1rem .25rem; } td:first-child { min-width: 6em; }
  .tip td { white-space: normal; } .tip td:first-child { max-width: 9em; } }
)";

}  // namespace

std::string_view report_style() noexcept { return report_sheet; }

std::string report_run_style(std::size_t runs) {
  std::string rules;
  for (std::size_t i = 0; i < runs; ++i) {
    rules += fmt::format(".c{0} {{ --c: var(--p{1}); }}", i, i % report_colors);
    if (i >= report_colors) rules += fmt::format(" .curve.c{} {{ stroke-dasharray: 6 3; }}", i);
    rules += fmt::format(
        "\n:root:has(#r{0}:not(:checked)) main :is(svg .c{0}, tr:has(> td > .c{0}), .v{0}) "
        "{{ display: none; }}\n",
        i);
  }
  return rules;
}

}  // namespace tool
