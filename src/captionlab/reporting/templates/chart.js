// The value of a chart under the pointer and by the arrow keys. The points are read from the chart's table of values.
for (const chart of document.querySelectorAll(".chart")) {
  const svg = chart.querySelector("svg"), cursor = chart.querySelector(".cursor");
  const readout = chart.querySelector(".readout"), title = chart.querySelector("figcaption").textContent;
  const numbers = (name) => svg.dataset[name].split(" ").map(Number);
  const scale = ([from, to], [low, high]) => (value) => (high > low ? from + ((value - low) / (high - low)) * (to - from) : (from + to) / 2);
  const x = scale(numbers("across"), numbers("steps")), y = scale(numbers("up"), numbers("values"));
  const curves = [...chart.querySelectorAll("tbody")].map((body) => ({
    training: body.dataset.training,
    points: [...body.rows].filter(({ cells }) => cells.length === 2)
      .map(({ cells: [step, value] }) => ({ step: Number(step.textContent), value: value.textContent }))
      .map((point) => ({ ...point, x: x(point.step), y: y(Number(point.value)) })),
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
  svg.addEventListener("pointermove", point);
  svg.addEventListener("pointerdown", point);
  svg.addEventListener("focus", () => { if (cursor.getAttribute("visibility") === "hidden") show(); });
  svg.addEventListener("keydown", move);
}
