"use strict";
// Which rows pass the filters, in which order.

/** What is looked for in captions and references, lower case, made once for each view. */
function textOf(view, row) {
  view.texts ??= Array.from({ length: view.rows }, (_, at) =>
    [...view.captioners.map(({ text }) => text[at] ?? ""), ...view.images.references[view.image[at]]].join("\n").toLowerCase());
  return view.texts[row];
}

/** A test for each filter that is set. */
function testsOf(view) {
  const a = view.captioners.find(({ name }) => name === state.a), b = view.captioners.find(({ name }) => name === state.b);
  const search = searchShown(view);
  const rank = (captioner, row) => valueOf(captioner, search, row);
  const wanted = state.text.toLowerCase(), least = Number(state.min), most = Number(state.max);
  const found = {
    "a-not-b": (row) => rank(a, row) === 1 && rank(b, row) > 1, "b-not-a": (row) => rank(b, row) === 1 && rank(a, row) > 1,
    both: (row) => rank(a, row) === 1 && rank(b, row) === 1, neither: (row) => rank(a, row) > 1 && rank(b, row) > 1,
    a: (row) => rank(a, row) === 1, "not-a": (row) => rank(a, row) > 1,
  };
  return [
    wanted && ((row) => textOf(view, row).includes(wanted)),
    state.object && ((row) => view.images.objects[view.image[row]].includes(state.object)),
    state.scene && ((row) => view.images.scenes[view.image[row]].includes(state.scene)),
    state.slice && inSlice(view, a, state.slice),
    state.found && (found[state.found] ?? (() => true)),
    state.min && ((row) => rank(a, row) !== null && rank(a, row) >= least),
    state.max && ((row) => rank(a, row) !== null && rank(a, row) <= most),
    state.repeated && ((row) => a?.repeats.get(a.text[row]) > 1),
    state.unknown && ((row) => Boolean(a?.unknown[row])),
  ].filter(Boolean);
}

/** What rows are sorted by: a value for each, null where there is none. */
function sortingBy(view) {
  const [a, b] = [state.a, state.b].map((wanted) => view.captioners.find(({ name }) => name === wanted));
  const measure = measureCalled(view, state.measure, state.by, state.among);
  if (state.order === "b") return (row) => valueOf(b, measure, row);
  if (state.order !== "difference") return (row) => valueOf(a, measure, row);
  return (row) => {
    const first = valueOf(a, measure, row), second = valueOf(b, measure, row);
    return first === null || second === null ? null : first - second;
  };
}

/** Rows that pass all filters but the brush, those of them within it, sorted, and the values of the former. */
function selected(view) {
  const tests = testsOf(view), value = sortingBy(view);
  const speaking = view.captioners.filter(({ name }) => linesShown().includes(name));
  const passing = [], values = new Float64Array(view.rows);
  for (let row = 0; row < view.rows; row++) {
    if (speaking.some(({ text }) => text[row] !== null) && tests.every((test) => test(row))) passing.push(row);
  }
  for (const row of passing) values[row] = value(row) ?? NaN;
  const low = state.low === "" ? -Infinity : Number(state.low), high = state.high === "" ? Infinity : Number(state.high);
  const brushed = state.low !== "" || state.high !== "";
  const within = (row) => !brushed || (values[row] >= low && values[row] <= high);
  const sign = state.direction === "up" ? 1 : -1;
  const rows = passing.filter(within).sort((one, other) => {
    const first = values[one], second = values[other];
    if (isNaN(first) || isNaN(second)) return isNaN(first) - isNaN(second) || one - other;
    return sign * (first - second) || one - other;
  });
  return { rows, values: passing.map((row) => values[row]).filter((one) => !isNaN(one)) };
}
/** The captioners that have a line, A and B first. */
const linesShown = () => [...new Set([state.a, state.b, ...(state.show || "").split(",")])].filter(Boolean);
