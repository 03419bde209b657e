// The script of a report, in JavaScript. It redraws each chart in pixels, with the chosen axes
// and the visible runs. It reads the samples from the attributes that chart.cpp writes, and
// creates elements and text only, never markup.

#include "report/report_assets.hpp"

namespace tool {
namespace {

constexpr std::string_view report_program = R"js(
'use strict';
(() => {
  const first = (selector, from = document) => from.querySelector(selector);
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];
  const numbers = text => text ? text.split(' ').map(Number) : [];
  const finite = Number.isFinite;
  const two = n => String(n).padStart(2, '0');

  const numberText = v => {
    const size = Math.abs(v);
    if (v !== 0 && (size >= 1e5 || size < 1e-4)) {
      return v.toExponential(3).replace(/\.?0*e\+?/, 'e');
    }
    return String(Number(v.toPrecision(4)));
  };
  const stepText = v => {
    for (const [unit, letter] of [[1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e3, 'k']]) {
      if (Math.abs(v) >= Math.max(unit, 1e4)) return Number((v / unit).toPrecision(6)) + letter;
    }
    return String(Number(v.toPrecision(6)));
  };
  const dateText = s => {
    const d = new Date(s * 1000);
    return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())}`;
  };
  const clockText = (s, seconds) => {
    const d = new Date(s * 1000);
    const text = `${two(d.getHours())}:${two(d.getMinutes())}`;
    return seconds ? `${text}:${two(d.getSeconds())}` : text;
  };

  // Multiples of a step from low to high.
  const multiples = (low, high, step, origin = 0) => {
    const at = [];
    const last = Math.floor((high - origin) / step);
    let k = Math.ceil((low - origin) / step);
    if (!(last - k < 100)) return at;
    for (; k <= last; k++) at.push(origin + k * step);
    return at;
  };
  const ticks = (low, high, count) => {
    const rough = (high - low) / count;
    if (!(rough > 0) || !finite(rough)) return [];
    const power = 10 ** Math.floor(Math.log10(rough));
    const factor = [1, 2, 5].find(f => power * f >= rough * 0.999) || 10;
    return multiples(low, high, power * factor);
  };
  // All of these are logarithms to base 10.
  const logTicks = (low, high, count) => {
    const decades = Math.floor(high) - Math.ceil(low) + 1;
    if (decades >= 3) return multiples(low, high, Math.ceil(decades / (count + 1)));
    const at = [];
    for (let e = Math.floor(low); e <= high; e++) {
      for (const f of [1, 2, 5]) at.push(e + Math.log10(f));
    }
    const inside = at.filter(v => v >= low && v <= high);
    if (inside.length >= 3) return inside;
    return ticks(10 ** low, 10 ** high, count).filter(v => v > 0).map(Math.log10);
  };

  const minute = 60, hour = 3600, day = 86400;
  const wallSteps = [1, 2, 5, 10, 15, 30, minute, 2 * minute, 5 * minute, 10 * minute, 15 * minute,
    30 * minute, hour, 2 * hour, 3 * hour, 6 * hour, 12 * hour, day, 2 * day, 7 * day, 14 * day,
    28 * day, 91 * day, 365 * day];
  const horizontal = {
    step: (low, high, count) => ({
      name: 'step', ticks: ticks(low, high, count), label: stepText }),
    relative: (low, high, count) => {
      const span = high - low;
      const [unit, name] = span > 2 * day ? [day, 'd'] : span > 2 * hour ? [hour, 'h'] :
        span > 2 * minute ? [minute, 'min'] : [1, 's'];
      return { name: `time since the beginning of the run (${name})`,
        ticks: ticks(low / unit, high / unit, count).map(v => v * unit),
        label: v => numberText(v / unit) };
    },
    wall: (low, high, count) => {
      const rough = (high - low) / count;
      const step = wallSteps.find(s => s >= rough) || wallSteps.at(-1);
      const origin = new Date(low * 1000).getTimezoneOffset() * 60;
      const oneDay = dateText(low) === dateText(high);
      return { name: oneDay ? `time on ${dateText(low)}` : 'time',
        ticks: rough < 1 ? ticks(low, high, count) : multiples(low, high, step, origin),
        label: v => step >= day ? dateText(v).slice(2) :
          (oneDay ? '' : dateText(v).slice(5) + ' ') + clockText(v, step < minute) };
    },
  };
  const placeText = {
    step: v => `step ${v}`,
    relative: v => v >= hour ? `${Math.floor(v / hour)} h ${Math.floor(v % hour / minute)} min` :
      v >= minute ? `${Math.floor(v / minute)} min ${Math.floor(v % minute)} s` :
      `${numberText(v)} s`,
    wall: v => `${dateText(v)} ${clockText(v, true)}`,
  };

  const view = { axis: 'step', log: first('.controls [name=log]').checked };
  const runs = all('.legend li').map(item => ({
    box: first('input', item), name: first('label', item).textContent }));
  const svgNames = first('svg')?.namespaceURI;
  const svgElement = (name, attributes, ...children) => {
    const e = document.createElementNS(svgNames, name);
    for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, value);
    e.append(...children);
    return e;
  };
  const htmlElement = (name, kind, ...children) => {
    const e = document.createElement(name);
    if (kind) e.className = kind;
    e.append(...children);
    return e;
  };

  class Series {
    constructor(group) {
      const data = group.dataset;
      this.group = group;
      this.run = Number(data.run);
      this.kind = data.kind;
      this.color = `c${data.run}`;
      this.most = numbers(data.most);
      this.texts = data.v ? data.v.split(' ') : [];
      this.values = this.texts.map(Number);
      this.stepTexts = data.s ? data.s.split(' ') : [];
      this.steps = this.stepTexts.map(Number);
      this.times = numbers(data.t);
      this.begin = Number(data.begin);
      this.bands = all('polygon', group).map(element => ({
        element, low: numbers(element.dataset.low), high: numbers(element.dataset.high) }));
    }
    get smooth() { return this.kind === 'linear' || this.kind === 'log'; }
    place(i, axis = view.axis) {
      return axis === 'step' ? this.steps[i] :
        axis === 'relative' ? this.times[i] : this.begin + this.times[i];
    }
    nearest(x) {
      let best = -1, distance = Infinity;
      for (let i = 0; i < this.steps.length; i++) {
        const d = Math.abs(this.place(i) - x);
        if (d < distance) [best, distance] = [i, d];
      }
      return best;
    }
  }

  class Chart {
    constructor(svg) {
      this.svg = svg;
      this.dirty = true;
      this.near = false;
      svg.addEventListener('pointermove', e => this.point(e));
      svg.addEventListener('pointerdown', e => this.point(e));
      svg.addEventListener('pointerleave', () => this.leave());
    }

    get series() { return this.read ??= all('g.series', this.svg).map(g => new Series(g)); }

    get width() { return Math.round(this.svg.getBoundingClientRect().width); }
    // Drawing changes the height, which is no reason to draw again.
    resized() {
      if (this.width !== this.drawn) this.dirty = true;
    }

    draw() {
      const width = this.width;
      if (width < 50) return;  // in a closed group
      this.dirty = false;
      this.drawn = width;
      this.leave();
      this.log = view.log && 'log' in this.svg.dataset;
      const transform = this.log ? Math.log10 : v => v;
      const isShown = s => runs[s.run].box.checked && s.kind !== (this.log ? 'linear' : 'log');
      for (const s of this.series) s.group.classList.toggle('off', !isShown(s));
      this.shown = this.series.filter(isShown);
      this.fit(transform);
      this.layOut(width, transform);
      this.drawAxes();
      const lines = this.shown.map(s => this.stretches(s));
      const texts = lines.map(l => l.map(points => points.join(' ')).join('\n'));
      this.shown.forEach((s, i) => this.drawSeries(s, lines[i], this.dashes(texts, i)));
    }

    // The ends of both axes.
    fit(transform) {
      let [left, right, low, high, least, most] =
        [Infinity, -Infinity, Infinity, -Infinity, Infinity, -Infinity];
      for (const s of this.shown) {
        s.values.forEach((v, i) => {
          const x = s.place(i);
          if (!finite(v) || !finite(x)) return;
          [left, right] = [Math.min(left, x), Math.max(right, x)];
          [low, high] = [Math.min(low, transform(v)), Math.max(high, transform(v))];
        });
        for (const b of s.bands) {
          for (const v of b.low) low = Math.min(low, v);
          for (const v of b.high) high = Math.max(high, v);
        }
        if (s.most.length && finite(s.most[0])) {
          least = Math.min(least, transform(s.most[0]));
          most = Math.max(most, transform(s.most[1]));
        }
      }
      const whole = this.series.every(s => runs[s.run].box.checked);
      const full = [low, high];
      const span = most - least;
      this.clipped = !this.shown.some(s => s.bands.length) && span > 0 && high - low > 8 * span;
      if (whole) {
        [low, high] = numbers(this.svg.dataset[this.log ? 'log' : 'linear']);
      } else if (this.clipped) {
        const inside = this.shown.flatMap(s => s.values.map(transform)).filter(
          v => v >= least - span / 2 && v <= most + span / 2);
        low = inside.reduce((a, b) => Math.min(a, b), Infinity);
        high = inside.reduce((a, b) => Math.max(a, b), -Infinity);
      }
      this.note(whole, full);
      const widened = (a, b) => a > b ? [0, 1] : a < b ? [a, b] :
        a === 0 ? [-1, 1] : [a - Math.abs(a) / 10, a + Math.abs(a) / 10];
      [this.x0, this.x1] = widened(left, right);
      [this.y0, this.y1] = widened(low, high);
    }

    // The notes of the page are for all runs, and are wrong if some runs are hidden.
    note(whole, full) {
      const section = this.svg.parentNode;
      for (const kind of ['linear', 'log']) {
        const here = whole && (kind === 'log') === this.log;
        first(`.clipped.${kind}`, section)?.classList.toggle('off', !here);
      }
      this.partNote?.remove();
      if (whole || !this.clipped) return;
      const [low, high] = full.map(v => numberText(this.log ? 10 ** v : v));
      this.partNote = htmlElement('p', 'note',
        `Clipped. Full range: ${low} to ${high}.`);
      this.svg.after(this.partNote);
    }

    layOut(width, transform) {
      const height = Math.round(Math.min(300, Math.max(200, width * 0.46)));
      this.svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
      const valueTicks = this.log ? logTicks(this.y0, this.y1, 5) : ticks(this.y0, this.y1, 5);
      this.valueTicks = valueTicks.map(v => [v, numberText(this.log ? 10 ** v : v)]);
      const longest = Math.max(3, ...this.valueTicks.map(([, text]) => text.length));
      this.area = { left: 14 + 7 * longest, right: width - 18, top: 26, bottom: height - 40 };
      const { left, right, top, bottom } = this.area;
      this.px = v => left + (v - this.x0) / (this.x1 - this.x0) * (right - left);
      this.py = v => bottom - (Math.min(Math.max(transform(v), this.y0), this.y1) - this.y0) /
        (this.y1 - this.y0) * (bottom - top);
      const rounding = (this.y1 - this.y0) / 1000;  // values in the page have six digits
      this.isOutside = v => transform(v) > this.y1 + rounding ? 1 :
        transform(v) < this.y0 - rounding ? -1 : 0;
    }

    drawAxes() {
      const { left, right, top, bottom } = this.area;
      const axis = horizontal[view.axis](this.x0, this.x1,
        Math.max(2, Math.floor((right - left) / (view.axis === 'wall' ? 110 : 75))));
      const parts = [];
      let free = -Infinity;  // where the next label may begin
      for (const v of axis.ticks) {
        const x = this.px(v).toFixed(1), text = axis.label(v), half = text.length * 3.5;
        parts.push(svgElement('line', { x1: x, y1: top, x2: x, y2: bottom }));
        if (x - half < free) continue;
        free = Number(x) + half + 8;
        parts.push(svgElement('text', { class: 'x', x, y: bottom + 16 }, text));
      }
      for (const [v, text] of this.valueTicks) {
        const y = bottom - (v - this.y0) / (this.y1 - this.y0) * (bottom - top);
        parts.push(svgElement('line', { x1: left, y1: y.toFixed(1), x2: right, y2: y.toFixed(1) }),
          svgElement('text', { class: 'y', x: left - 6, y: (y + 4).toFixed(1) }, text));
      }
      parts.push(
        svgElement('text', { class: 'x', x: (left + right) / 2, y: bottom + 35 }, axis.name),
        svgElement('text', { class: 'title', x: 2, y: 14 }, this.log ? 'value (log)' : 'value'));
      const axes = first('.axes', this.svg);
      axes.replaceChildren(...parts);
    }

    // The points of a line, in stretches without a gap.
    stretches(s) {
      const found = [];
      let last = null;
      s.values.forEach((v, i) => {
        const x = s.place(i);
        if (!finite(v) || !finite(x)) {
          last = null;
          return;
        }
        if (!last) found.push(last = []);
        last.push(`${this.px(x).toFixed(1)},${this.py(v).toFixed(1)}`);
      });
      return found;
    }

    // Overlapping curves share the line: each has a different dash.
    dashes(texts, i) {
      const same = texts.map((_, k) => k).filter(
        k => texts[k] === texts[i] && this.shown[k].kind === this.shown[i].kind);
      const before = same.indexOf(i);
      return before === 0 ? {} : { style:
        `stroke-dasharray: 8 ${8 * (same.length - 1)}; stroke-dashoffset: ${-8 * before}` };
    }

    drawSeries(s, lines, dashes) {
      const look = s.color + (s.kind === 'faint' ? ' faint' : '');
      const parts = [];
      for (const b of s.bands) {
        const edge = values => values.map(
          (v, i) => `${this.px(s.place(i)).toFixed(1)},${this.py(v).toFixed(1)}`);
        b.element.setAttribute('points', [...edge(b.high), ...edge(b.low).reverse()].join(' '));
        parts.push(b.element);
      }
      for (const points of lines) {
        if (points.length === 1) {
          const [cx, cy] = points[0].split(',');
          parts.push(svgElement('circle', { class: `dot ${look}`, cx, cy, r: 3 }));
        } else {
          parts.push(svgElement('polyline',
            { class: `curve ${look}`, points: points.join(' '), ...dashes }));
        }
      }
      if (this.clipped && !s.smooth) parts.push(...this.marks(s));
      s.group.replaceChildren(...parts);
    }

    // Triangles at the edge; of adjacent values, the farthest one is marked.
    marks(s) {
      const found = { 1: [], '-1': [] };
      s.values.forEach((v, i) => {
        const x = this.px(s.place(i)), side = this.isOutside(v);
        if (!finite(v) || !finite(x) || side === 0) return;
        const last = found[side].at(-1);
        if (!last || Math.abs(x - last.x) >= 9) {
          found[side].push({ x, i, side });
        } else if ((v - s.values[last.i]) * side > 0) {
          found[side][found[side].length - 1] = { x, i, side };
        }
      });
      return [...found[1], ...found[-1]].map(({ x, i, side }) => svgElement('path', {
        class: `mark ${s.color}`,
        d: `M${x.toFixed(1)},${side > 0 ? this.area.top : this.area.bottom}l-5,${8 * side}h10z`,
      }, svgElement('title', {}, `step ${s.stepTexts[i]}: ${s.texts[i]}`)));
    }

    // Shows the values next to the pointer.
    point(event) {
      if (this.dirty) return;
      const box = this.svg.getBoundingClientRect();
      const { left, right, top, bottom } = this.area;
      const wanted = this.x0 + (event.clientX - box.left - left) / (right - left) *
        (this.x1 - this.x0);
      let at = null;
      for (const s of this.shown) {
        const i = s.nearest(wanted);
        if (i < 0) continue;
        const x = s.place(i);
        if (at === null || Math.abs(x - wanted) < Math.abs(at.x - wanted)) {
          at = { x, text: view.axis === 'step' ? s.stepTexts[i] : x };
        }
      }
      this.leave();
      if (at === null) return;
      const rows = this.shown.filter(s => !s.smooth).map(s => this.row(s, at.x)).filter(Boolean);
      const from = event.clientY - box.top;
      rows.sort((a, b) => Math.abs(a.y - from) - Math.abs(b.y - from));
      rows.splice(16);
      rows.sort((a, b) => a.y - b.y || a.run - b.run);
      const x = this.px(at.x).toFixed(1);
      this.guide = svgElement('g', {}, svgElement('line',
        { class: 'guide', x1: x, x2: x, y1: top, y2: bottom }), ...rows.flatMap(r => r.spots));
      this.svg.append(this.guide);
      tip.replaceChildren(htmlElement('div', '', placeText[view.axis](at.text)),
        htmlElement('table', '', ...rows.map(r => r.element)));
      tip.hidden = false;
      const { width, height } = tip.getBoundingClientRect();
      const room = document.documentElement.clientWidth;
      let beside = event.clientX + 16;
      if (beside + width > room) beside = Math.max(4, event.clientX - 16 - width);
      tip.style.left = `${beside}px`;
      // On a narrow page it would hide the curves: it goes above the chart, or below.
      const above = room < 640 ? box.top - height : Math.max(4, event.clientY - height - 12);
      tip.style.top = `${above >= 0 ? above : box.bottom}px`;
    }

    // The value of a run at a position, or the nearest one.
    row(s, x) {
      const i = s.nearest(x);
      if (i < 0) return null;
      const smooth = this.shown.find(o => o.run === s.run && o.smooth);
      const k = smooth ? smooth.nearest(x) : -1;
      const swatch = htmlElement('span', `swatch ${s.color}`);
      const element = htmlElement('tr', '', htmlElement('td', '', swatch, runs[s.run].name),
        htmlElement('td', '', s.texts[i] + (k < 0 ? '' : `, smoothed ${smooth.texts[k]}`)));
      if (s.place(i) !== x) {
        element.append(htmlElement('td', 'note', `at ${placeText[view.axis](
          view.axis === 'step' ? s.stepTexts[i] : s.place(i))}`));
      }
      const y = finite(s.values[i]) ? this.py(s.values[i]) : this.area.bottom;
      const spots = finite(s.values[i]) ? [svgElement('circle', { class: `spot ${s.color}`,
        cx: this.px(s.place(i)).toFixed(1), cy: y.toFixed(1), r: 3.5 })] : [];
      return { y, run: s.run, element, spots };
    }

    leave() {
      this.guide?.remove();
      tip.hidden = true;
    }
  }

  const tip = htmlElement('div', 'tip');
  tip.hidden = true;
  document.body.append(tip);
  const charts = new Map(all('svg').map(svg => [svg, new Chart(svg)]));
  const drawNear = () => {
    for (const c of charts.values()) if (c.dirty && c.near) c.draw();
  };
  const drawAgain = () => {
    for (const c of charts.values()) c.dirty = true;
    drawNear();
  };
  const watcher = new IntersectionObserver(entries => {
    for (const e of entries) charts.get(e.target).near = e.isIntersecting;
    drawNear();
  }, { rootMargin: '300px' });
  const sizes = new ResizeObserver(entries => {
    for (const e of entries) charts.get(e.target).resized();
    drawNear();
  });
  for (const [svg, chart] of charts) {
    const { top } = svg.getBoundingClientRect();
    chart.near = top < innerHeight;
    watcher.observe(svg);
    sizes.observe(svg);
  }
  drawNear();
  for (const { box } of runs) box.addEventListener('change', drawAgain);
  const controls = first('.controls');
  controls.hidden = charts.size === 0;
  controls.addEventListener('change', () => {
    view.axis = first('[name=axis]:checked', controls).value;
    view.log = first('[name=log]', controls).checked;
    drawAgain();
  });
  addEventListener('beforeprint', () => {
    for (const c of charts.values()) c.draw();
  });
})();
)js";

}  // namespace

std::string_view report_script() noexcept { return report_program; }

}  // namespace tool
