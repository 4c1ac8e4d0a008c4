// The same steps as in captionlab.reporting.tables.own_table, so that page and workflow make the same table.
const data = JSON.parse(document.getElementById("data").textContent);
const MISSING = "\u2013", PAPER = "paper", DIFFERENCE = "difference";
const PLACE = ["captioner", "corpus", "evaluation", "retriever", "candidates", "metric"];
const LISTS = ["evaluations", "corpora", "captioners", "metrics"];
const keyOf = (row) => JSON.stringify(PLACE.map((name) => row[name]));
const labelOf = ({ metric, retriever, candidates }) => [metric, retriever, candidates].filter(Boolean).join(", ");
const distinct = (values) => [...new Set(values)];
const bySeeds = (a, b) => a.seeds - b.seeds;

function records({ columns, rows }) {
  return rows.map((row) => Object.fromEntries(columns.map((name, place) => [name, row[place]])));
}

const summary = records(data.values), comparisons = records(data.differences).sort(bySeeds);
// Of a captioner with several trainings, the mean.
const values = new Map(summary.toSorted(bySeeds).map((row) => [keyOf(row), row]));
const published = new Map(data.published.map((entry) => [JSON.stringify(entry.slice(0, 6)), entry]));
const metrics = data.metrics.map(([retriever, candidates, metric]) => ({ metric, retriever, candidates }));
const known = {
  evaluations: distinct(summary.map((row) => row.evaluation)),
  corpora: distinct(summary.map((row) => row.corpus)),
  captioners: distinct(summary.map((row) => row.captioner)),
  metrics: metrics.map(labelOf),
};
const metricOf = new Map(metrics.map((metric) => [labelOf(metric), metric]));

// ------------------------------------------------------------------------------------------------------------ numbers
// A number as Python's format writes it: a tie in binary goes to the even digit, where toFixed goes up.
function fixed(value, decimals, signed = false) {
  let text = Math.abs(value).toFixed(decimals);
  const exact = Math.abs(value).toFixed(Math.min(100, decimals + 60));
  const rest = exact.slice(exact.indexOf(".") + 1 + decimals);
  if (/^50*$/.test(rest)) {
    const down = exact.slice(0, exact.length - rest.length).replace(/\.$/, "");
    if (Number(down.at(-1)) % 2 === 0) text = down;
  }
  return (value < 0 || Object.is(value, -0) ? "-" : signed ? "+" : "") + text;
}

function differencesFrom(against) {
  const found = new Map(), turned = new Map();
  for (const row of comparisons) {
    const ends = [row.difference, row.ci_low, row.ci_high], p = row.p_holm;
    if (row.against === against) found.set(keyOf(row), { ends, p });
    else if (row.captioner === against) {
      turned.set(keyOf({ ...row, captioner: row.against }), { ends: [-ends[0], -ends[2], -ends[1]], p });
    }
  }
  return new Map([...turned, ...found]);
}

function markOf(p) {
  const reached = Object.entries(data.marks).filter(([bound]) => p !== null && p < Number(bound));
  return reached.sort(([a], [b]) => b - a).at(-1)?.[1] ?? "";
}

// -------------------------------------------------------------------------------------------------------------- table
function partsOf(choice) {
  const printed = new Set(choice.published ? data.published.filter(([captioner, corpus, evaluation]) =>
    choice.captioners.includes(captioner) && choice.corpora.includes(corpus) && choice.evaluations.includes(evaluation),
  ).map(([, , , retriever, candidates, metric]) => labelOf({ metric, retriever, candidates })) : []);
  return choice.metrics.flatMap((label) => [
    { label, kind: "" },
    ...(printed.has(label) ? [{ label, kind: PAPER }] : []),
    ...(choice.differences ? [{ label, kind: DIFFERENCE }] : []),
  ]);
}

function captionsOf({ corpus, evaluation, captioner, metric, retriever, candidates, seeds }, printed) {
  const state = {
    corpus, evaluation, a: captioner, metric, retriever, candidates, seeds: seeds > 1 ? String(seeds) : "", printed,
  };
  return `${data.captions}#${new URLSearchParams(Object.entries(state).filter(([, value]) => value))}`;
}

function fieldsOf(choice, label, ends, signed) {
  const labels = [label, ...(choice.intervals ? [`${label}, low`, `${label}, high`] : [])];
  return labels.map((name, place) => [name, ends ? fixed(ends[place], choice.decimals, signed) : ""]);
}

function cellOf(choice, ends, signed, row) {
  if (!ends) return { text: MISSING, detail: "" };
  const [text, low, high] = ends.map((end) => fixed(end, choice.decimals, signed)), interval = `[${low}, ${high}]`;
  const link = row && captionsOf(row, `${text} ${interval}`);
  return { text, detail: choice.intervals ? interval : "", value: ends[0], link };
}

function partOf(choice, apart, place, { label, kind }) {
  const key = keyOf(place);
  if (kind === PAPER) {
    const text = published.get(key)?.[6] ?? "";
    return [{ text: text || MISSING, detail: "" }, [[`${label}, ${PAPER}`, text]]];
  }
  if (kind === DIFFERENCE) {
    const found = apart.get(key), cell = cellOf(choice, found?.ends, true);
    const fields = fieldsOf(choice, `${label}, ${DIFFERENCE}`, found?.ends, true);
    const p = found && found.p !== null ? fixed(found.p, 4) : "";
    const shown = { ...cell, text: cell.text + (found ? markOf(found.p) : "") };
    return [place.captioner === choice.differences ? { text: "", detail: "" } : shown, [...fields, [`${label}, p`, p]]];
  }
  const row = values.get(key), ends = row && [row.value, row.ci_low, row.ci_high];
  return [cellOf(choice, ends, false, row), fieldsOf(choice, label, ends, false)];
}

function markBest(rows, column, metric) {
  const better = data.better[metric] ?? 0;
  const rivals = rows.filter((row) => !data.humans.includes(row[0].text)).map((row) => row[column])
    .filter((cell) => cell.value !== undefined);
  if (!better || new Set(rivals.map((cell) => cell.text)).size < 2) return;
  const best = rivals.reduce((a, b) => (better * b.value > better * a.value ? b : a)).text;
  for (const cell of rivals) cell.best = cell.text === best;
}

const countsOf = (rows) => distinct(rows.map((row) => row.n)).sort((a, b) => a - b).join(" to ");

function blockOf(choice, parts, apart, corpus, evaluation) {
  const here = [...values.values()].filter((row) =>
    row.corpus === corpus && row.evaluation === evaluation && choice.captioners.includes(row.captioner));
  const rows = [], fields = [];
  for (const captioner of choice.captioners) {
    const own = here.filter((row) => row.captioner === captioner);
    if (!own.length) continue;
    const seeds = Math.max(...own.map((row) => row.seeds));
    const found = parts.map((part) => partOf(choice, apart, { ...metricOf.get(part.label), captioner, corpus, evaluation }, part));
    rows.push([{ text: captioner, detail: seeds > 1 ? `${seeds} trainings` : "" }, ...found.map(([cell]) => cell)]);
    const place = [["corpus", corpus], ["evaluation", evaluation], ["captioner", captioner], ["images", countsOf(own)]];
    fields.push(Object.fromEntries([...place, ...found.flatMap(([, of]) => of), ...Object.entries(data.made)]));
  }
  if (choice.best) {
    parts.forEach(({ label, kind }, place) => kind || markBest(rows, place + 1, metricOf.get(label).metric));
  }
  const [split, decoding] = ["split", "decoding"].map((name) => distinct(here.map((row) => row[name])).join(" and "));
  return { heading: `${corpus}, ${split}; ${evaluation}, ${decoding}; ${countsOf(here)} images`, rows, fields };
}

function tableOf(choice) {
  const parts = partsOf(choice), apart = choice.differences ? differencesFrom(choice.differences) : new Map();
  const blocks = choice.corpora.flatMap((corpus) =>
    choice.evaluations.map((evaluation) => blockOf(choice, parts, apart, corpus, evaluation)));
  const columns = [{ heading: "captioner", detail: "", numeric: false }, ...parts.map(({ label, kind }) => {
    const { metric, retriever, candidates } = metricOf.get(label);
    const scoredBy = [retriever, candidates].filter(Boolean).join(", ");
    return kind ? { heading: kind, detail: label, numeric: true } : { heading: metric, detail: scoredBy, numeric: true };
  })];
  const table = { columns, blocks: blocks.filter(({ rows }) => rows.length) };
  const cells = table.blocks.flatMap(({ rows }) => rows.flat());
  const { notes } = data;
  table.notes = [
    ...choice.notes,
    ...(choice.intervals ? [notes.intervals] : []),
    ...(choice.differences ? [notes.differences.replace("{against}", () => choice.differences)] : []),
    ...(parts.some(({ kind }) => kind === PAPER) ? [notes.published] : []),
    ...(cells.some(({ text }) => text === MISSING) ? [notes.missing] : []),
    ...notes.run,
    ...(cells.some(({ best }) => best) ? [notes.best] : []),
  ];
  return table;
}

// ------------------------------------------------------------------------------------------------------------ formats
const words = (text) => text.split(/\s+/).filter(Boolean).join(" ");
const printed = new RegExp(`^${data.latex.printed}$`, "u");

function tex(text) {
  return [...words(text)].map((character) => {
    const plain = character <= "\x7f" || printed.test(character);
    const code = character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
    return data.latex.written[character] ?? (plain ? character : `\\texttt{U+${code}}`);
  }).join("");
}

const texNumber = (text) => tex(text === MISSING ? text : text.replaceAll("-", "\u2212"));

function stacked(first, small, place, side) {
  if (!small.length) return first;
  const lines = small.map((line) => `\\\\{\\scriptsize ${line}}`).join("");
  return `\\begin{tabular}[${place}]{@{}${side}@{}}${first}${lines}\\end{tabular}`;
}

function latexOf({ columns, blocks, notes }, choice) {
  const sides = columns.map(({ numeric }) => (numeric ? "r" : "l")), width = data.widths[choice.width];
  const made = ["config", "seed", "commit"].filter((name) => data.made[name]).map((name) => `${name} ${data.made[name]}`);
  const heads = columns.map(({ heading, detail }, place) =>
    stacked(tex(heading), detail.split(", ").filter(Boolean).map(tex), "b", sides[place]));
  const cell = ({ text, detail, best }, place) => {
    const shown = columns[place].numeric ? texNumber(text) : tex(text);
    return stacked(best ? `\\textbf{${shown}}` : shown, detail ? [texNumber(detail)] : [], "t", sides[place]);
  };
  return [
    "% Packages: adjustbox, booktabs; \\usepackage[T1]{fontenc}",
    `% ${words(made.join(", "))}`,
    `\\begin{adjustbox}{max width=${width}in}`,
    `\\begin{tabular}{${sides.join("")}}`,
    "\\toprule",
    `${heads.join(" & ")} \\\\`,
    ...blocks.flatMap(({ heading, rows }) => [
      "\\midrule",
      `\\multicolumn{${columns.length}}{l}{\\textit{${tex(heading)}}} \\\\`,
      ...rows.map((row) => `${row.map(cell).join(" & ")} \\\\`),
    ]),
    "\\bottomrule",
    "\\end{tabular}",
    "\\end{adjustbox}",
    ...(notes.length ? [
      "", `\\begin{minipage}{${width}in}\\footnotesize\\raggedright`, ...notes.map((note) => `${tex(note)}\\par`), "\\end{minipage}",
    ] : []),
    "",
  ].join("\n");
}

function md(text) {
  return words(text).replace(/[\\`*_|~]/g, "\\$&").replaceAll("](", "]\\(")
    .replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

function markdownOf({ columns, blocks, notes }) {
  const line = (cells) => `| ${cells.join(" | ")} |`;
  const cell = ({ text, detail, best }) => [best ? `**${md(text)}**` : md(text), md(detail)].filter(Boolean).join(" ");
  return [
    line(columns.map(({ heading, detail }) => [heading, detail].filter(Boolean).map(md).join("<br>"))),
    line(columns.map(({ numeric }) => (numeric ? "---:" : "---"))),
    ...blocks.flatMap(({ heading, rows }) => [
      `| **${md(heading)}** ${"|  ".repeat(columns.length - 1)}|`,
      ...rows.map((row) => line(row.map(cell))),
    ]),
    "",
    ...notes.map((note) => `- ${md(note)}`),
    "",
  ].join("\n");
}

function csvOf({ blocks }) {
  const quoted = (value) => {
    const text = String(value ?? "");
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const rows = blocks.flatMap(({ fields }) => fields);
  return [Object.keys(rows[0] ?? {}), ...rows.map(Object.values)].map((row) => `${row.map(quoted).join(",")}\n`).join("");
}

function yamlOf(choice) {
  const item = JSON.stringify;  // a text of JSON is a text of YAML
  const list = (name, items) => (items.length ? [`${name}:`, ...items.map((text) => `  - ${text}`)] : []);
  const chosen = choice.metrics.map((label) => Object.entries(metricOf.get(label)).filter(([, value]) => value))
    .map((entries) => `{${entries.map(([name, value]) => `${name}: ${item(value)}`).join(", ")}}`);
  return [
    "# Choice of a table. In a config: own_tables: {NAME: this file}",
    ...["captioners", "corpora", "evaluations"].flatMap((name) => list(name, choice[name].map((text) => item(text)))),
    ...list("metrics", chosen),
    ...["decimals", "intervals", "best", "published"].map((name) => `${name}: ${choice[name]}`),
    ...(choice.differences ? [`differences: ${item(choice.differences)}`] : []),
    ...list("notes", choice.notes.map((text) => item(text))),
    `width: ${choice.width}`,
    "",
  ].join("\n");
}

// ------------------------------------------------------------------------------------------------------------- choice
const form = document.querySelector(".choice"), field = form.elements;

function usualChoice() {
  const [evaluation] = known.evaluations;
  const [corpus] = summary.filter((row) => row.evaluation === evaluation).map((row) => row.corpus);
  const here = summary.filter((row) => row.evaluation === evaluation && row.corpus === corpus);
  const measured = new Set(here.map(labelOf));
  return {
    evaluations: [evaluation], corpora: [corpus], captioners: distinct(here.map((row) => row.captioner)),
    metrics: known.metrics.filter((label) => measured.has(label)).slice(0, 7),
    decimals: 1, intervals: true, best: true, published: false, differences: "", notes: [], width: "acl-text",
  };
}

// What the address says, and names in it that this run does not have.
function choiceOfAddress() {
  const address = new URLSearchParams(location.hash.slice(1)), choice = usualChoice(), absent = [];
  for (const list of LISTS) {
    if (!address.has(list)) continue;
    choice[list] = distinct(address.getAll(list)).filter((name) => name && known[list].includes(name));
    absent.push(...address.getAll(list).filter((name) => name && !known[list].includes(name)));
  }
  for (const name of ["intervals", "best", "published"]) if (address.has(name)) choice[name] = address.get(name) === "true";
  if (/^[0-6]$/.test(address.get("decimals"))) choice.decimals = Number(address.get("decimals"));
  if (address.get("width") in data.widths) choice.width = address.get("width");
  const against = address.get("differences");
  if (against && compared.includes(against)) choice.differences = against;
  else if (against) absent.push(against);
  choice.notes = address.getAll("notes");
  return [choice, absent];
}

function addressOf(choice) {
  const entries = Object.entries(choice).flatMap(([name, value]) =>
    (LISTS.includes(name) && !value.length ? [""] : [value].flat()).map((one) => [name, String(one)]));
  return `#${new URLSearchParams(entries.filter(([name, value]) => value || LISTS.includes(name)))}`;
}

const compared = distinct([...comparisons.map((row) => row.against), ...comparisons.map((row) => row.captioner)]);
let [choice, absent] = choiceOfAddress();

// ----------------------------------------------------------------------------------------------------------- controls
function element(tag, properties, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

function move(list, name, by) {
  const names = choice[list], place = names.indexOf(name);
  names.splice(place, 1);
  names.splice(place + by, 0, name);
  changed();
  const rows = [...form.querySelector(`[data-list=${list}]`).children];
  const buttons = [...rows.find((row) => row.dataset.name === name).querySelectorAll("button")];
  (buttons[by < 0 ? 0 : 1].disabled ? buttons[by < 0 ? 1 : 0] : buttons[by < 0 ? 0 : 1]).focus();
}

function toggle(list, name, on) {
  choice[list] = on ? [...choice[list], name] : choice[list].filter((other) => other !== name);
  changed();
  const rows = [...form.querySelectorAll(`[data-list=${list}] li`)];
  (rows.find((row) => row.dataset.name === name) ?? rows[0])?.querySelector("input").focus();
}

// The names of a list for which the chosen evaluations, and for captioners and metrics the chosen corpora, have numbers.
function namesOf(list) {
  if (list === "evaluations") return known.evaluations;
  const holds = (name, value) => !choice[name].length || choice[name].includes(value);
  const here = summary.filter((row) => holds("evaluations", row.evaluation) && (list === "corpora" || holds("corpora", row.corpus)));
  const of = { corpora: (row) => row.corpus, captioners: (row) => row.captioner, metrics: labelOf };
  const there = new Set(here.map(of[list]));
  return known[list].filter((name) => there.has(name));
}

// The chosen names in their order, then the others.
function showList(list) {
  const chosen = choice[list], place = form.querySelector(`[data-list=${list}]`), { scrollTop } = place;
  place.replaceChildren(...distinct([...chosen, ...namesOf(list)]).map((name) => {
    const index = chosen.indexOf(name), box = element("input", { type: "checkbox", checked: index >= 0 });
    box.addEventListener("change", () => toggle(list, name, box.checked));
    const buttons = [[-1, "\u2191", "up", index < 1], [1, "\u2193", "down", index < 0 || index === chosen.length - 1]];
    const row = element("li", {}, element("label", {}, box, name), ...buttons.map(([by, text, where, disabled]) => {
      const button = element("button", { type: "button", textContent: text, ariaLabel: `Move ${name} ${where}`, disabled });
      button.addEventListener("click", () => move(list, name, by));
      return button;
    }));
    row.dataset.name = name;
    return row;
  }));
  place.scrollTop = scrollTop;
}

function options(select, entries) {
  select.replaceChildren(...entries.map(([value, textContent]) => element("option", { value, textContent })));
}

function showForm() {
  for (const name of ["decimals", "differences", "width"]) field[name].value = choice[name];
  for (const name of ["intervals", "best", "published"]) field[name].checked = choice[name];
  if (document.activeElement !== field.notes) field.notes.value = choice.notes.join("\n");
}

// --------------------------------------------------------------------------------------------------------------- page
function showCell({ text, detail, best, link }) {
  let content = best ? element("strong", {}, text) : text;
  if (link) content = element("a", { className: "beside", href: link, title: "the captions behind this" }, content);
  return [content, ...(detail ? [element("small", {}, detail)] : [])];
}

function showTable({ columns, blocks, notes }) {
  const classes = columns.map(({ heading, numeric }) => (numeric ? "number" : "text") + (heading === PAPER ? " paper" : ""));
  const head = element("tr", {}, ...columns.map(({ heading, detail }, place) => element(
    "th", { scope: "col", className: classes[place] }, heading, ...(detail ? [element("small", {}, detail)] : []))));
  const bodies = blocks.map(({ heading, rows }) => element("tbody", {},
    element("tr", {}, element("th", { scope: "rowgroup", colSpan: columns.length }, heading)),
    ...rows.map((row) => element("tr", {}, ...row.map((cell, place) => (place
      ? element("td", { className: classes[place] }, ...showCell(cell))
      : element("th", { scope: "row" }, ...showCell(cell))))))));
  const region = document.querySelector("main .scroll");
  region.replaceChildren(element("table", {}, element("thead", {}, head), ...bodies));
  region.classList.remove("fits");
  region.classList.toggle("fits", region.scrollWidth <= region.clientWidth);
  document.querySelector("ul.notes").replaceChildren(...notes.map((note) => element("li", {}, note)));
}

const texts = {};

function show() {
  for (const list of LISTS) showList(list);
  showForm();
  const empty = LISTS.filter((list) => !choice[list].length), table = tableOf(choice);
  const problems = absent.length ? [`Not in this run: ${absent.join(", ")}.`] : [];
  if (empty.length) problems.push(`Choose at least one of: ${empty.join(", ")}.`);
  else if (!table.blocks.length) problems.push("No captioner has a number on these corpora in these evaluations.");
  document.querySelector(".problem").textContent = problems.join(" ");
  const whole = !empty.length && table.blocks.length > 0;
  showTable(whole ? table : { columns: [], blocks: [], notes: [] });
  Object.assign(texts, {
    latex: whole ? latexOf(table, choice) : "", markdown: whole ? markdownOf(table) : "", csv: whole ? csvOf(table) : "",
    yaml: whole ? yamlOf(choice) : "",
  });
  for (const place of document.querySelectorAll("[data-text]")) place.textContent = texts[place.dataset.text];
  for (const button of document.querySelectorAll("[data-copy]")) button.disabled = !whole;
  document.querySelector("a.button").href = `data:application/yaml;charset=utf-8,${encodeURIComponent(texts.yaml)}`;
}

function changed() {
  absent = [];
  history.replaceState(null, "", addressOf(choice));
  show();
}

form.addEventListener("input", ({ target }) => {
  if (!target.name || !target.validity.valid) return;
  if (target.name === "notes") choice.notes = target.value.split("\n").map(words).filter(Boolean);
  else if (target.type === "checkbox") choice[target.name] = target.checked;
  else choice[target.name] = target.name === "decimals" ? Number(target.value) : target.value;
  changed();
});
form.addEventListener("submit", (event) => event.preventDefault());
window.addEventListener("hashchange", () => {
  [choice, absent] = choiceOfAddress();
  show();
});
for (const button of document.querySelectorAll("[data-copy]")) {
  button.addEventListener("click", () => navigator.clipboard.writeText(texts[button.dataset.copy]).then(
    () => { document.querySelector(".copied").textContent = `${button.textContent.replace("Copy ", "")} is copied.`; },
    () => {  // where a page may not write to the clipboard, the text is selected
      const place = document.querySelector(`[data-text=${button.dataset.copy}]`);
      place.parentElement.open = true;
      getSelection().selectAllChildren(place);
      document.querySelector(".copied").textContent = "Selected below: copy it from there.";
    },
  ));
}
options(field.differences, [["", "no captioner"], ...compared.map((name) => [name, name])]);
options(field.width, Object.entries(data.widths).map(([name, inches]) => [name, `${name.replace("-", " ")}, ${inches} in`]));
document.querySelector(".maker").hidden = false;
show();
