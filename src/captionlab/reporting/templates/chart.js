// The value of a chart under the pointer and by the arrow keys, and a table of the values where it is opened.
function made(tag, attributes, ...content) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...content);
  return element;
}

function tableOf(curves, title) {
  const cell = (tag, text) => made(tag, { class: "number", ...(tag === "th" && { scope: "col" }) }, String(text));
  const bodies = curves.map(({ training, points }) => made("tbody", {},
    ...(curves.length > 1 ? [made("tr", {}, made("th", { scope: "rowgroup", colspan: 2 }, training))] : []),
    ...points.map(({ step, value }) => made("tr", {}, cell("td", step), cell("td", value)))));
  const head = made("thead", {}, made("tr", {}, cell("th", "update"), cell("th", title)));
  return made("div", { class: "scroll", tabindex: 0 }, made("table", {}, head, ...bodies));
}

for (const chart of document.querySelectorAll(".chart")) {
  const svg = chart.querySelector("svg"), cursor = chart.querySelector(".cursor");
  const readout = chart.querySelector(".readout"), title = chart.querySelector("figcaption").textContent;
  const numbers = (name) => svg.dataset[name].split(" ").map(Number);
  const scale = ([from, to], [low, high]) => (value) => (high > low ? from + ((value - low) / (high - low)) * (to - from) : (from + to) / 2);
  const x = scale(numbers("across"), numbers("steps")), y = scale(numbers("up"), numbers("values"));
  const curves = JSON.parse(chart.querySelector("script").textContent).map(({ training, steps, values }) => ({
    training, points: steps.map((step, n) => ({ step, value: values[n], x: x(step), y: y(values[n]) })),
  }));
  let curve = 0, place = 0;

  function show() {
    const { training, points } = curves[curve], point = points[place];
    const text = `update ${point.step}: ${title} ${point.value}${curves.length > 1 ? `, ${training}` : ""}`;
    cursor.setAttribute("cx", point.x);
    cursor.setAttribute("cy", point.y);
    cursor.setAttribute("visibility", "visible");
    readout.textContent = text;
    svg.setAttribute("aria-valuenow", point.step);
    svg.setAttribute("aria-valuetext", text);
  }

  function nearest(points, left) {
    return points.reduce((best, point, n) => (Math.abs(point.x - left) < Math.abs(points[best].x - left) ? n : best), 0);
  }

  function point(event) {
    const box = svg.getBoundingClientRect(), { width, height } = svg.viewBox.baseVal;
    const left = ((event.clientX - box.left) / box.width) * width, top = ((event.clientY - box.top) / box.height) * height;
    const places = curves.map(({ points }) => nearest(points, left));
    const distances = curves.map(({ points }, n) => Math.abs(points[places[n]].y - top));
    curve = distances.indexOf(Math.min(...distances));
    place = places[curve];
    show();
  }

  function move(event) {
    const last = curves[curve].points.length - 1, other = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    const steps = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -last, End: last }[event.key];
    if (steps === undefined && (other === undefined || curves.length < 2)) return;
    event.preventDefault();
    if (other) {
      const left = curves[curve].points[place].x;
      curve = (curve + other + curves.length) % curves.length;
      place = nearest(curves[curve].points, left);
    } else {
      place = Math.max(0, Math.min(last, place + steps));
    }
    show();
  }

  const [first, last] = numbers("steps");
  for (const [name, value] of Object.entries({
    role: "slider", tabindex: 0, "aria-valuemin": first, "aria-valuemax": last, "aria-valuenow": first,
    "aria-valuetext": `update ${first}`,
  })) svg.setAttribute(name, value);
  const details = chart.querySelector("details");
  details.addEventListener("toggle", () => details.append(tableOf(curves, title)), { once: true });
  svg.addEventListener("pointermove", point);
  svg.addEventListener("pointerdown", point);
  svg.addEventListener("focus", () => { if (cursor.getAttribute("visibility") === "hidden") show(); });
  svg.addEventListener("keydown", move);
}
