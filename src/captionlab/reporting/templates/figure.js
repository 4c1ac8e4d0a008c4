const marks = [...document.querySelectorAll(".mark")];
const reading = document.querySelector(".reading");
const KEYS = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -1, ArrowDown: 1 };

function show(mark) {
  reading.textContent = mark.dataset.text;
}

// The first mark of the next or the previous series that is nearest to a mark from left to right.
function beside(mark, step) {
  const series = [...new Set(marks.map((one) => one.dataset.series))];
  const wanted = series.at((series.indexOf(mark.dataset.series) + step) % series.length);
  const place = mark.getBBox().x;
  const far = (one) => Math.abs(one.getBBox().x - place);
  return marks.filter((one) => one.dataset.series === wanted).reduce((best, one) => (far(one) < far(best) ? one : best));
}

function enter(mark) {
  for (const one of marks) one.setAttribute("tabindex", one === mark ? "0" : "-1");
  mark.focus();
}

for (const [index, mark] of marks.entries()) {
  const title = mark.querySelector("title");
  mark.dataset.text = title.textContent;
  title.remove();
  mark.setAttribute("tabindex", index ? "-1" : "0");
  mark.addEventListener("pointerenter", () => show(mark));
  mark.addEventListener("focus", () => show(mark));
  mark.addEventListener("keydown", (event) => {
    const step = KEYS[event.key];
    if (!step || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    const along = event.key === "ArrowLeft" || event.key === "ArrowRight";
    enter(along ? marks.at((index + step) % marks.length) : beside(mark, step));
  });
}
