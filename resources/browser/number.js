"use strict";
// About a number of a table: its value and interval as the table prints them, its definition, and how to compute it again.

/** The metric whose number is explained: the metric of the address, or the metric of what is sorted by. */
function numberAsked(view) {
  if (state.metric) return { metric: state.metric, retriever: state.retriever || null, candidates: state.candidates || null };
  const measure = measureCalled(view, state.measure, state.by, state.among);
  return measure && { metric: measure.metric === "rank" ? "P@1" : measure.metric, retriever: measure.by, candidates: measure.among };
}
const ofMetric = (asked) => (row) => ["metric", "retriever", "candidates"].every((name) => row[name] === asked[name]) && row.seeds === (Number(state.seeds) || 1);
const valueRow = (view, asked, who) => view.numbers.values.find((row) => row.captioner === who && ofMetric(asked)(row)) ?? null;

/** The difference of A and B in a metric, turned round if the run subtracts A from B; null if the run does not compare them. */
function differenceRow(view, asked) {
  const rows = view.numbers.differences.filter(ofMetric(asked));
  const row = rows.find((one) => one.captioner === state.a && one.against === state.b);
  if (row) return { ...row, value: row.difference };
  const turned = rows.find((one) => one.captioner === state.b && one.against === state.a);
  return turned ? { ...turned, value: -turned.difference, ci_low: -turned.ci_high, ci_high: -turned.ci_low, turned: true } : null;
}

/** A number with decimals as Python prints it: a tie goes to the even digit. */
function printed(value, decimals, sign = false) {
  const exact = Math.abs(value).toFixed(60), cut = exact.length - 60 + decimals;
  const below = exact.slice(0, cut).replace(/\.$/, "");
  const text = /^50*$/.test(exact.slice(cut)) && Number(below.at(-1)) % 2 === 0 ? below : Math.abs(value).toFixed(decimals);
  return (value < 0 ? "-" : sign ? "+" : "") + text;
}
/** A value with its interval, as a table prints them. */
function withInterval(row, sign = false) {
  const ofTable = /^[+-]?\d+(?:\.(\d+))?/.exec(state.printed);
  const decimals = ofTable ? (ofTable[1] ?? "").length : row.retriever ? 1 : 2;
  const text = (value) => printed(value, decimals, sign);
  return `${text(row.value)} [${text(row.ci_low)}, ${text(row.ci_high)}]`;
}
/** The number that the table prints, if it is another. */
const otherwisePrinted = (shown) => state.printed && state.printed !== shown ? [`${state.printed}; the table and this page are of different states of the run`] : [];
const nameOf = ({ metric, retriever, candidates }) => `${metric}${retriever ? ` by ${retriever}` : ""}${candidates ? ` among ${candidates}` : ""}`;
const grouped = (count) => count.toLocaleString("en");

/** The values that the captions of a captioner have of their own. */
function ownValues(view, measure, who) {
  const values = view.captioners.find(({ name }) => name === who)?.values[measure?.number] ?? [];
  return values.filter((value) => value !== null);
}

/** A share of captions as a count, such as `1,468 of 1,600 captions`; empty for other numbers, and if captions have no values. */
function countOf(view, row, measure, metric) {
  const captions = ownValues(view, measure, row.captioner).length, hits = row.value * captions / 100;
  if (metric.computation !== "share" || row.seeds > 1 || !captions || Math.abs(hits - Math.round(hits)) > 1e-6) return "";
  return `${grouped(Math.round(hits))} of ${grouped(captions)} captions`;
}

/** The mean of the captions' own values, if it is another number than the value of the corpus. */
function ownMean(view, row, measure, asked) {
  const values = ownValues(view, measure, row.captioner);
  if (!values.length) return "";
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  if (measure.metric === asked.metric && withInterval({ ...row, value: mean }) === withInterval(row)) return "";
  const what = measure.metric === "rank" ? "mean rank of the captions' images" : `mean of the captions' own ${measure.metric}`;
  return `${what}: ${printed(mean, 2)}`;
}

/** A word of a command as a shell reads it. */
const quoted = (word) => /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`;
/** The command that computes a row of the summary, of the comparisons or of a paper's analyses again. */
function commandOf(view, row) {
  const folder = location.protocol === "file:" ? decodeURIComponent(new URL("../..", location.href).pathname).replace(/(?<=.)\/$/, "") : ".";
  const options = row.paper
    ? { paper: row.paper, captioner: row.role, corpus: view.corpus, metric: row.metric, retriever: row.scorer, against: row.against_role, directory: folder }
    : { captioner: row.captioner, corpus: view.corpus, evaluation: view.name, metric: row.metric, retriever: row.retriever,
      candidates: row.candidates, against: row.against, seeds: row.seeds > 1 ? String(row.seeds) : null, directory: folder };
  return ["captionlab number", ...Object.entries(options).filter(([, value]) => value).map(([name, value]) => `--${name} ${quoted(value)}`)].join(" ");
}

/** The files that a metric of captioners is computed from, each with its digest. */
function filesOf(view, metric, captioners) {
  const files = captioners.flatMap((who) => view.numbers.files[who] ?? []).filter(({ table }) => table === "captions" || metric.tables.includes(table));
  return [...new Map(files.map((file) => [`${file.name} ${file.digest}`, file])).values()];
}

/** Draw the panel about the number of the address, or of what is sorted by. */
function drawNumber(view) {
  const asked = view.rows ? numberAsked(view) : null, between = state.order === "difference";
  const who = state.order === "b" ? state.b : state.a;
  const values = asked ? (between ? [state.a, state.b] : [who]).map((name) => valueRow(view, asked, name)).filter(Boolean) : [];
  const difference = asked && between ? differenceRow(view, asked) : null;
  const row = between ? difference : values[0] ?? null;
  const of = (between ? `${state.a} minus ${state.b}` : who) + (FILTERS.some((name) => state[name]) ? ", of all captions" : "");
  const told = (text, facts) => {
    byId("about").replaceChildren(`About this number: ${nameOf(asked)} of ${of}: `, make("b", { id: "printed-number" }, text));
    byId("facts").replaceChildren(...facts.flatMap(([term, ...parts]) => [make("dt", {}, term), ...parts.map((part) => make("dd", {}, part))]));
  };
  byId("number").hidden = !row && !values.length && !(asked && state.printed);
  if (byId("number").hidden) return;
  if (!row && !values.length) {
    const analysis = analysisRow(view, asked, who, between);
    const captioners = between ? [state.a, state.b] : [who];
    if (!analysis) return told(state.printed, factsOfTable(view, captioners));
    const shown = withInterval(analysis, between);
    return told(shown, factsOfAnalysis(view, analysis, shown, captioners));
  }
  const metric = view.numbers.metrics[asked.metric], measure = measureCalled(view, asked.metric, asked.retriever, asked.candidates);
  const text = row ? withInterval(row, between) : "not compared in this run";
  told(text, factsOf(view, { asked, row, values, metric, measure, between }));
}

/** A number of a paper that is of no metric of the evaluation; null if no paper of the run explains such a number. */
function analysisRow(view, asked, captioner, between) {
  const place = { metric: asked.metric, retriever: asked.retriever, captioner, against: between ? state.b : null };
  return view.numbers.analyses.find((row) => Object.entries(place).every(([name, value]) => row[name] === value)) ?? null;
}

/** Terms of the panel about a number of a paper's analysis of the captions. */
function factsOfAnalysis(view, row, shown, captioners) {
  const seeds = row.seeds > 1 ? `, mean over ${row.seeds} trainings` : "";
  return [
    ["Definition", row.definition],
    ["Unit", row.unit],
    ["In the table", ...otherwisePrinted(shown)],
    ["Images", `n = ${grouped(row.n)} of ${view.corpus}${seeds}`],
    ["Interval, 95 %", row.interval],
    ["Computed from", ...filesOf(view, { tables: [] }, captioners).map(fileShown)],
    ["Compute it again", ...(run.runs > 1 ? [] : [make("code", { class: "command" }, commandOf(view, row))])],
  ].filter(([, first]) => first);
}

/** Terms of the panel about a number that only its table explains. */
function factsOfTable(view, captioners) {
  return [
    ["Definition", "A number of an analysis of these captions, as its table prints it. The notes below the table define it; the summary of the evaluations does not have it."],
    ["Computed from", ...filesOf(view, { tables: [] }, captioners).map(fileShown)],
  ];
}
const fileShown = ({ name, digest }) => make("span", {}, make("code", {}, name), " ", make("small", {}, `digest ${digest}`));

/** Terms of the panel with what stands beside them, without those that have nothing. */
function factsOf(view, { asked, row, values, metric, measure, between }) {
  const any = row ?? values[0], seeds = any.seeds > 1 ? `, mean over ${any.seeds} trainings` : "";
  const sides = between ? values.map((one) => `${one.captioner}: ${withInterval(one)}`) : [];
  const means = values.map((one) => [one.captioner, countOf(view, one, measure, metric), ownMean(view, one, measure, asked)]);
  const told = (place) => means.filter((one) => one[place]).map((one) => between ? `${one[0]}: ${one[place]}` : one[place]);
  const interval = between ? metric.interval_of_difference : metric.interval;
  const tested = row?.test ? [`${row.test}, p = ${row.p_value.toPrecision(2)}, with Holm's correction ${row.p_holm.toPrecision(2)}`] : [];
  const different = (name) => [...new Set(values.map((one) => one[name]).filter(Boolean))].join(", ");
  return [
    ["Definition", metric.definition],
    ["Unit", metric.unit],
    ["In the table", ...(row ? otherwisePrinted(withInterval(row, between)) : [])],
    ["Values of the two", ...sides],
    ["As a count", ...told(1)],
    ["Of single captions", ...told(2)],
    ["Images", `n = ${grouped(any.n)} of ${view.corpus}${seeds}`],
    ["Interval, 95 %", ...(row ? [interval + (seeds && "; joined by squares with Student's t over the trainings")] : [])],
    ["Test", ...tested],
    ["Decoding", different("decoding")],
    ["Device", different("device") || "not recorded; metrics of texts need no GPU"],
    ["Computed from", ...filesOf(view, metric, [...new Set([...values.map(({ captioner }) => captioner), any.captioner])]).map(fileShown)],
    ["Compute it again", ...(run.runs > 1 ? [] : row ? [row] : values).map((one) => make("code", { class: "command" }, commandOf(view, one)))],
  ].filter(([, first]) => first);
}
