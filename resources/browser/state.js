"use strict";
// All that the page shows follows from its address, so that a link to it shows the same to everybody.
const DEFAULTS = {
  corpus: "", evaluation: "", a: "", b: "", show: null, text: "", object: "", scene: "", slice: "", search: "", found: "", min: "", max: "",
  repeated: "", unknown: "", measure: "", by: "", among: "", order: "a", direction: "", low: "", high: "", image: "", copy: "", speaker: "",
  metric: "", retriever: "", candidates: "", seeds: "", printed: "",  // the number of a table that is explained
};
const FILTERS = ["text", "object", "scene", "slice", "found", "min", "max", "repeated", "unknown", "low", "high"];
// What changes many times while a reader types, drags or leafs through images: together a single step of the history.
const STEPS = { text: "text", min: "min", max: "max", low: "values", high: "values", image: "image", copy: "image" };
let state = { ...DEFAULTS }, lastStep = "";

function readAddress() {
  const given = new URLSearchParams(location.hash.slice(1));
  return Object.fromEntries(Object.entries(DEFAULTS).map(([name, value]) => [name, given.get(name) ?? value]));
}

/** Put the state into the address: a new step of the history, unless it goes on with the last one or `before` is null. */
function writeAddress(before) {
  const given = Object.entries(state).filter(([name, value]) => value !== DEFAULTS[name]);
  const address = `#${new URLSearchParams(given)}`;
  const steps = new Set(before ? Object.keys(state).filter((name) => state[name] !== before[name]).map((name) => STEPS[name] ?? "") : []);
  const step = steps.size === 1 ? [...steps][0] : "";
  const chosenIn = (one) => Object.keys(STEPS).some((name) => STEPS[name] === step && one[name] !== "");
  const again = step && step === lastStep && chosenIn(before) && chosenIn(state);
  lastStep = step;
  if (location.hash === address) return;
  if (!before || again) return history.replaceState(history.state, "", address);
  history.replaceState({ top: scrollY }, "");
  history.pushState(null, "", address);
}

/** What the address leaves open, and what of it this run does not have, chosen for a view. */
function completed(given, view) {
  const names = view.captioners.map(({ name }) => name);
  const has = (name) => names.includes(name);
  const child = view.captioners.find(({ parent }) => has(parent));
  const a = has(given.a) ? given.a : child?.name ?? names[0] ?? "";
  const parent = view.captioners.find(({ name }) => name === a)?.parent;
  const other = has(parent) ? parent : names.find((name) => name !== a) ?? "";
  const b = has(given.b) && given.b !== a ? given.b : other;
  const wanted = given.show === null ? names.filter((name) => ![a, b].includes(name)).slice(0, 2) : given.show.split(",").filter(has);
  const measure = measureAsked(given, view) ?? defaultMeasure(view);
  const searches = ranksOf(view).map(searchOf);
  const search = [given.search, measure?.metric === "rank" ? searchOf(measure) : ""].find((one) => searches.includes(one)) ?? searches[0] ?? "";
  const direction = given.direction || (measure?.metric === "rank" ? "up" : "down");
  const called = { measure: measure?.metric ?? "", by: measure?.by ?? "", among: measure?.among ?? "" };
  return { ...given, ...called, corpus: view.corpus, evaluation: view.name ?? "", a, b, show: wanted.join(","), search, direction };
}
/** The measure of the address, or the measure of single captions behind its number; null if there is none. */
function measureAsked(given, view) {
  if (given.measure) return measureCalled(view, given.measure, given.by, given.among);
  return given.metric ? measureCalled(view, given.metric, given.retriever, given.candidates) : null;
}
const defaultMeasure = (view) => view.measures.find(({ metric }) => metric === "CIDEr")
  ?? view.measures.find(({ metric }) => metric !== "rank") ?? view.measures[0] ?? null;
