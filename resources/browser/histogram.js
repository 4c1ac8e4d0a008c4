"use strict";
// How the values of the measure are spread; a part of them can be chosen by mouse, finger or keys.
const BINS = 48;
const spread = { low: 0, high: 1, step: 1 };

/** Draw the values, and what is chosen of them. */
function drawHistogram(values, measure) {
  const section = byId("histogram");
  section.hidden = measure === null || !values.length;
  if (section.hidden) return;
  spread.low = values.reduce((least, one) => Math.min(least, one), Infinity);
  spread.high = values.reduce((most, one) => Math.max(most, one), -Infinity);
  if (spread.high === spread.low) spread.high = spread.low + 1;
  spread.step = (spread.high - spread.low) / BINS;
  const counts = new Array(BINS).fill(0);
  for (const one of values) counts[Math.min(BINS - 1, Math.floor((one - spread.low) / spread.step))]++;
  const most = Math.max(...counts);
  byId("bars").replaceChildren(...counts.map((count) => {
    const bar = make("span", {});
    bar.style.height = count ? `${Math.max(3, 100 * count / most)}%` : "0";
    return bar;
  }));
  const of = { a: state.a, b: state.b, difference: `${state.a} minus ${state.b}` }[state.order];
  byId("plotted").textContent = `${measure.label} of ${of}`;
  const [left, , right] = byId("ends").children;
  left.textContent = shown(spread.low, measure);
  right.textContent = shown(spread.high, measure);
  drawBrush(measure);
}

function drawBrush(measure) {
  const [from, to] = chosen();
  const at = (value) => 100 * Math.min(1, Math.max(0, (value - spread.low) / (spread.high - spread.low)));
  const brushed = state.low !== "" || state.high !== "";
  byId("brush").style.left = `${at(from)}%`;
  byId("brush").style.width = `${at(to) - at(from)}%`;
  byId("brush").hidden = !brushed;
  byId("all").hidden = !brushed;
  [...byId("bars").children].forEach((bar, index) => {
    const middle = spread.low + (index + 0.5) * spread.step;
    bar.className = brushed && (middle < from || middle > to) ? "out" : "";
  });
  for (const [id, value] of [["low", from], ["high", to]]) {
    const handle = byId(id);
    handle.style.left = `${at(value)}%`;
    handle.setAttribute("aria-valuemin", spread.low);
    handle.setAttribute("aria-valuemax", spread.high);
    handle.setAttribute("aria-valuenow", value);
    handle.setAttribute("aria-valuetext", shown(value, measure));
  }
}
const chosen = () => [state.low === "" ? spread.low : Number(state.low), state.high === "" ? spread.high : Number(state.high)];

/** Choose values between two; all of them where that is as far as they go. */
function choose(from, to) {
  const [low, high] = [Math.max(spread.low, Math.min(from, to)), Math.min(spread.high, Math.max(from, to))];
  const near = (one, other) => Math.abs(one - other) < spread.step / 1000;
  const text = (value) => String(Number(value.toPrecision(10)));
  change({ low: near(low, spread.low) ? "" : text(low), high: near(high, spread.high) ? "" : text(high) });
}

function watchHistogram() {
  const plot = byId("plot");
  let from = null;
  const bin = (event) => {
    const box = plot.getBoundingClientRect();
    return Math.min(BINS - 1, Math.max(0, Math.floor(BINS * (event.clientX - box.left) / box.width)));
  };
  const to = (event) => {
    const [first, last] = [Math.min(from, bin(event)), Math.max(from, bin(event))];
    choose(spread.low + first * spread.step, spread.low + (last + 1) * spread.step);
  };
  plot.addEventListener("pointerdown", (event) => {
    if (event.target.classList.contains("handle")) return;
    from = bin(event);
    plot.setPointerCapture(event.pointerId);
    to(event);
  });
  plot.addEventListener("pointermove", (event) => { if (from !== null) to(event); });
  for (const end of ["pointerup", "pointercancel"]) plot.addEventListener(end, () => { from = null; });
  for (const id of ["low", "high"]) watchHandle(byId(id), id === "low" ? 0 : 1);
  byId("all").addEventListener("click", () => { change({ low: "", high: "" }); byId("low").focus(); });
}

/** An end of what is chosen: dragged, or moved by keys, a bar or ten at a time. */
function watchHandle(handle, end) {
  const move = (value) => {
    const ends = chosen();
    ends[end] = end ? Math.max(value, ends[0] + spread.step) : Math.min(value, ends[1] - spread.step);
    choose(...ends);
  };
  handle.addEventListener("keydown", (event) => {
    const steps = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 10, PageDown: -10 }[event.key];
    const value = { Home: spread.low, End: spread.high }[event.key] ?? (steps && chosen()[end] + steps * spread.step);
    if (value === undefined || !alone(event)) return;
    event.preventDefault();
    move(value);
  });
  handle.addEventListener("pointerdown", (event) => { handle.setPointerCapture(event.pointerId); handle.focus(); event.preventDefault(); });
  handle.addEventListener("pointermove", (event) => {
    if (!handle.hasPointerCapture(event.pointerId)) return;
    const box = byId("plot").getBoundingClientRect();
    const part = Math.round(BINS * (event.clientX - box.left) / box.width);
    move(spread.low + part * spread.step);
  });
}
