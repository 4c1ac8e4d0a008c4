"use strict";
// From the address to the page, and from what is done on the page to the address.
const run = handed.get("_run");
let looked = 0;
let view = null, current = { rows: [], values: [] }, said = "";

/** Change what is shown. */
function change(parts) {
  const before = state;
  if (parts.measure) {
    said = "";
    parts = { ...parts, metric: "", retriever: "", candidates: "", seeds: "", printed: "" };
  }
  if (["a", "b", "order"].some((name) => name in parts)) parts = { ...parts, seeds: "", printed: "" };
  state = { ...state, ...parts };
  writeAddress(before);
  draw(before);
}

/** Show a state. `before` is the state that a reader changed, null if the address asks for the new one. */
async function look(given, before = null) {
  const turn = ++looked;
  const corpus = run.corpora.find(({ name }) => name === given.corpus) ?? run.corpora[0];
  if (!corpus) return say("This run has no captions that were scored, so there is nothing to show.");
  let next;
  try {
    const data = await load(corpus.name);
    if (turn !== looked) return;  // somebody chose another one meanwhile
    next = viewOf(corpus.name, data, given.evaluation);
  } catch (error) {
    return say(error.message);
  }
  const anew = next.corpus !== view?.corpus || next.name !== view.name, last = state;
  if (anew) {
    view = next;
    fillControls(corpus);
  }
  view.missing = { without: new Set(view.images.without), broken: new Set(view.images.broken) };
  const asked = measureAsked(given, view) ? "" : given.measure || given.metric;
  byId("number").open = given.metric !== "";
  state = completed(given, view);
  said = asked ? `This page has no ${asked} of single captions; here they are by ${state.measure || "image"}. ` : "";
  writeAddress(before);
  draw(anew || asked ? null : last);
  if (!before && history.state?.top !== undefined) scrollTo(0, history.state.top);
  performance.mark("captions shown");
}

/** Draw all that follows from the state; `before` is the last one, null where everything is new. */
function draw(before) {
  const kept = ["image", "copy", "speaker"];
  if (!before || Object.keys(state).some((name) => !kept.includes(name) && state[name] !== before[name])) {
    syncControls();
    current = selected(view);
    drawNumber(view);
    drawHistogram(current.values, measureCalled(view, state.measure, state.by, state.among));
    showRows(view, current.rows);
    if (before && byId("list").getBoundingClientRect().top < 0) scrollTo(0, byId("list").getBoundingClientRect().top + scrollY - byId("columns").offsetHeight);
    summarise();
  }
  drawDetail(view);
}

function say(text) {
  byId("summary").textContent = text;
  for (const id of ["histogram", "columns"]) byId(id).hidden = true;
}

/** How many there are, and the means of what is sorted by. */
function summarise() {
  if (!view.rows) return say(`Nobody has captioned ${view.corpus} yet: this run has no captions of it that were scored.`);
  const measure = measureCalled(view, state.measure, state.by, state.among);
  const meanOf = (who) => {
    const captioner = view.captioners.find(({ name }) => name === who);
    const values = current.rows.map((row) => valueOf(captioner, measure, row)).filter((value) => value !== null);
    return values.length ? shown(values.reduce((sum, one) => sum + one, 0) / values.length, { metric: "" }) : null;
  };
  const means = !measure ? [] : [["A", meanOf(state.a)], ["B", meanOf(state.b)]].filter(([, mean]) => mean !== null).map(([side, mean]) => `${side} ${mean}`);
  const count = current.rows.length.toLocaleString("en"), all = view.rows.toLocaleString("en");
  byId("summary").replaceChildren(said, make("b", {}, count), ` of ${all} ${view.copy.some(Boolean) ? "rows (an image has one for each of its captions)" : "images"}`,
    ...(means.length ? [` \u00b7 mean ${measure.label}: ${means.join(", ")}`] : []),
    ...(measure ? [testedDifference(measure)] : []),
    ...(current.rows.length ? [] : [". No caption passes these filters; clear some of them."]));
  byId("columns").hidden = !current.rows.length;
}

/** The difference of A and B in the tables, of all images, if the run compared them; for ranks the difference of P@1. */
function testedDifference(measure) {
  const metric = measure.metric === "rank" ? "P@1" : measure.metric;
  const found = view.numbers.differences.find((one) => one.seeds === 1 && one.metric === metric && one.retriever === measure.by && (measure.metric !== "rank" || one.candidates === measure.among)
    && [[state.a, state.b], [state.b, state.a]].some(([a, b]) => one.captioner === a && one.against === b));
  if (!found) return "";
  const sign = found.captioner === state.a ? 1 : -1;
  const [low, high] = [found.ci_low * sign, found.ci_high * sign].sort((one, other) => one - other);
  const number = (value) => shown(value, { metric: "" }, true);
  const p = found.p_holm < 0.001 ? "p < 0.001" : `p = ${found.p_holm.toFixed(3)}`;
  return ` \u00b7 of all images, A minus B in ${metric}: ${number(found.difference * sign)} [${number(low)}, ${number(high)}], ${p} with Holm's correction`;
}

/** What this corpus does not have. */
function notesOf() {
  const { references, objects, scenes, without, broken, id } = view.images;
  const none = (lists) => lists.every((one) => !one.length);
  const foreign = view.captioners.filter(({ trained, family }) => !trained.length && family !== "human").map(({ name }) => name);
  return [
    none(references) && "There are no references, so nothing that is measured by them.",
    none(objects) && "No objects are annotated.",
    none(scenes) && "No scenes are annotated.",
    without.length === id.length ? "The corpus has no image files, so only texts are shown." : without.length && `${without.length} images have no file.`,
    broken.length && `${broken.length} images can no longer be read.`,
    view.rows && !ranksOf(view).length && "No retriever searched for the images.",
    foreign.length && `What ${foreign.join(", ")} learnt from is not known, so of their words only UNK is known to be unknown.`,
  ].filter(Boolean);
}

function options(select, values, texts = values) {
  select.replaceChildren(...values.map((value, at) => make("option", { value }, texts[at])));
}
function counted(lists) {
  const counts = new Map();
  for (const labels of lists) for (const label of labels) counts.set(label, (counts.get(label) ?? 0) + 1);
  return [...counts].sort(([one], [other]) => one < other ? -1 : 1);
}

/** The choices that there are in this view. */
function fillControls(corpus) {
  const form = byId("filters").elements, names = view.captioners.map(({ name }) => name);
  options(byId("corpus"), run.corpora.map(({ name }) => name), run.corpora.map((one) => `${one.name} (${one.split}, ${one.images} images)`));
  options(byId("evaluation"), corpus.evaluations.map(({ name }) => name));
  options(form.a, names);
  options(form.b, names);
  for (const [name, lists] of [["object", view.images.objects], ["scene", view.images.scenes]]) {
    const found = counted(lists);
    options(form[name], ["", ...found.map(([label]) => label)], [found.length ? "any" : "none annotated", ...found.map(([label, count]) => `${label} (${count})`)]);
  }
  fillSlices(view, form.slice);
  options(form.search, ranksOf(view).map(searchOf));
  for (const name of ["search", "found", "min", "max"]) form[name].disabled = !ranksOf(view).length;
  options(byId("measure"), view.measures.map(({ number }) => String(number)), view.measures.map(({ label }) => label));
  byId("shown").replaceChildren(make("legend", {}, "Also show"), ...names.map((name) =>
    make("label", { class: "tick" }, make("input", { type: "checkbox", name: "show", value: name }), ` ${name}`)));
  byId("notes").textContent = notesOf().join(" ");
}

/** Put the state into the controls. */
function syncControls() {
  const form = byId("filters").elements;
  byId("corpus").value = state.corpus;
  byId("evaluation").value = state.evaluation;
  for (const name of ["a", "b", "text", "object", "scene", "slice", "search", "found", "min", "max"]) {
    if (form[name].value !== state[name]) form[name].value = state[name];
  }
  for (const name of ["repeated", "unknown"]) form[name].checked = Boolean(state[name]);
  for (const box of byId("shown").querySelectorAll("input")) {
    box.checked = linesShown().includes(box.value);
    box.disabled = [state.a, state.b].includes(box.value);
  }
  const measure = measureCalled(view, state.measure, state.by, state.among);
  byId("measure").value = measure ? String(measure.number) : "";
  byId("order").value = state.order;
  byId("direction").value = state.direction;
  const active = FILTERS.filter((name) => state[name] !== "" && name !== "high").length;
  byId("clear").hidden = !active;
  byId("active").textContent = active ? ` (${active} set)` : "";
}

function watchControls() {
  const form = byId("filters");
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", ({ target }) => {
    if (target.name === "show") return change({ show: [...form.querySelectorAll("[name=show]:checked:enabled")].map(({ value }) => value).join(",") });
    if (target.type === "checkbox") return change({ [target.name]: target.checked ? "1" : "" });
    if (target.name === "a" || target.name === "b") return compare(target.name, target.value);
    change({ [target.name]: target.value, ...(target.name === "search" && state.measure === "rank" ? forget() : {}) });
  });
  byId("swap").addEventListener("click", () => change({ a: state.b, b: state.a, ...forget() }));
  byId("clear").addEventListener("click", () => { change(Object.fromEntries(FILTERS.map((name) => [name, ""]))); byId("measure").focus(); });
  byId("skip").addEventListener("click", () => focusRow(list.first));
  byId("corpus").addEventListener("change", ({ target }) => look({ ...DEFAULTS, a: state.a, b: state.b, show: state.show, corpus: target.value, evaluation: state.evaluation }, state));
  byId("evaluation").addEventListener("change", ({ target }) => look({ ...DEFAULTS, corpus: state.corpus, evaluation: target.value }, state));
  byId("measure").addEventListener("change", ({ target }) => {
    const { metric, by, among } = view.measures[Number(target.value)];
    change({ measure: metric, by: by ?? "", among: among ?? "", direction: metric === "rank" ? "up" : "down", ...forget() });
  });
  byId("order").addEventListener("change", ({ target }) => change({ order: target.value, ...forget() }));
  byId("direction").addEventListener("change", ({ target }) => change({ direction: target.value }));
  byId("csv").addEventListener("click", () => download(view, current.rows));
}
/** What was brushed is of values that are no longer those of the histogram. */
const forget = () => ({ low: "", high: "" });

/** Compare with another captioner; if that is the other side already, the two change places. */
function compare(side, name) {
  const other = side === "a" ? "b" : "a";
  change({ [side]: name, ...(state[other] === name ? { [other]: state[side] } : {}), ...forget() });
}

byId("toy").hidden = !run.toy;
if (run.caveats?.length) document.title = document.querySelector("h1").textContent += ` [${run.caveats.join("; ")}]`;
if (matchMedia("(max-width: 760px)").matches) byId("panel").open = false;
watchControls();
watchHistogram();
watchList();
watchDetail();
addEventListener("hashchange", () => look(readAddress()));
look(readAddress());
