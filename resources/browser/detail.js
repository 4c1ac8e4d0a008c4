"use strict";
// One image: what everybody said of it, every score, and among which images a caption searched.
const detail = { position: -1 };

/** Open the row at a position of the list, and keep it in the address. */
function openDetail(position) {
  const view = list.view, row = list.rows[position];
  detail.position = position;
  change({ image: view.images.id[view.image[row]], copy: String(view.copy[row]) });
}

/** Show what the address says is open, or close. */
function drawDetail(view) {
  const dialog = byId("detail");
  const image = view.images.id.indexOf(state.image);
  const row = state.image === "" ? -1 : view.image.findIndex((one, at) => one === image && view.copy[at] === Number(state.copy || 0));
  if (row < 0) {
    if (dialog.open) dialog.close();
    return;
  }
  detail.position = list.rows.indexOf(row);
  const focused = dialog.contains(document.activeElement) ? document.activeElement.id : "";
  dialog.replaceChildren(headOf(view, row), bodyOf(view, row));
  if (!dialog.open) dialog.showModal();
  for (const part of dialog.querySelectorAll(".whole, .difference, dd")) if (part.scrollHeight > part.clientHeight) part.tabIndex = 0;
  const target = focused && byId(focused) && !byId(focused).disabled ? byId(focused) : byId("close");
  target.focus({ preventScroll: true });
  dialog.scrollTop = 0;
}

function headOf(view, row) {
  const place = detail.position < 0 ? "not among the captions that pass the filters" : `${detail.position + 1} of ${list.rows.length}`;
  const step = (id, text, by) => {
    const next = detail.position + by;
    const button = make("button", { type: "button", id, disabled: detail.position < 0 || next < 0 || next >= list.rows.length }, text);
    button.addEventListener("click", () => stepDetail(by));
    return button;
  };
  const close = make("button", { type: "button", id: "close" }, "Close");
  close.addEventListener("click", () => byId("detail").close());
  return make("div", { class: "head" }, make("h2", { id: "shown-image" }, `Image ${view.images.id[view.image[row]]}`),
    make("span", { class: "soft" }, place), make("span", { class: "buttons" }, step("previous", "\u2190 Previous", -1), step("next", "Next \u2192", 1), close));
}

function stepDetail(by) {
  const next = detail.position + by;
  if (detail.position >= 0 && next >= 0 && next < list.rows.length) openDetail(next);
}

function bodyOf(view, row) {
  const image = view.image[row], { references, objects, scenes, scene_captions: told, width, height, id } = view.images;
  const facts = [
    ["References", references[image], "none"], ["Objects", objects[image].length ? [objects[image].join(", ")] : [], "none annotated"],
    ["Scene", [...scenes[image], ...told[image].filter((text) => !scenes[image].includes(text))], "none annotated"],
  ];
  const list_ = facts.flatMap(([name, texts, none]) => [make("dt", {}, name),
    ...(texts.length ? texts.map((text) => make("dd", { dir: "auto", lang: view.language }, text)) : [make("dd", { class: "soft" }, none)])]);
  const figure = make("figure", {}, picture(view, image, `Image ${id[image]}`), make("figcaption", { class: "soft" }, `${width[image]} \u00d7 ${height[image]} pixels`));
  return make("div", { class: "body" }, make("div", { class: "seen" }, figure, make("dl", {}, ...list_)), differenceOf(view, row), scoresOf(view, row), candidatesOf(view, row));
}

/** From B's caption to A's, word by word. */
function differenceOf(view, row) {
  const text = (who) => view.captioners.find(({ name }) => name === who)?.text[row] ?? null;
  const [a, b] = [text(state.a), text(state.b)];
  if (a === null || b === null) return "";
  const part = a !== b && [a, b].some((one) => wordsOf(one).length > IN_DETAIL);
  return make("section", {}, make("h3", {}, `From ${state.b} (B) to ${state.a} (A)`),
    make("p", { class: "difference", dir: "auto", lang: view.language }, ...(a === b ? ["Both say the same: ", make("bdi", {}, ...spoken(a, [a]))] : changed(b, a))),
    ...(part ? [make("p", { class: "soft" }, `Only the first ${IN_DETAIL} words are compared. The table below has the whole captions.`)] : []),
    ...(a !== b ? [make("p", { class: "soft legend" }, "Only A says ", make("ins", {}, "this"), ", only B ", make("del", {}, "this"), "; both say ", movedWord("this"), ", at another place.")] : []));
}

/** A table of what each captioner said and every score of it. */
function scoresOf(view, row) {
  const speakers = view.captioners.filter(({ text }) => text[row] !== null);
  const head = make("tr", {}, make("th", { scope: "col" }, "captioner"), make("th", { scope: "col" }, "caption"),
    ...view.measures.map(({ label }) => make("th", { scope: "col", class: "number" }, label)));
  const rows = speakers.map((one) => make("tr", { class: one.name === state.a ? "a" : one.name === state.b ? "b" : null },
    make("th", { scope: "row" }, ...(one.name === state.a ? [make("span", { class: "badge a" }, "A"), " "] : one.name === state.b ? [make("span", { class: "badge b" }, "B"), " "] : []), one.name),
    make("td", { dir: "auto" }, make("div", { class: "whole", dir: "auto", lang: view.language }, ...spoken(one.text[row], marked(one.text[row], null, one.unknown[row]))),
      ...(one.unknown[row] ? [make("small", {}, `unknown: ${one.unknown[row].join(", ")}`)] : []),
      ...(one.repeats.get(one.text[row]) > 1 ? [make("small", {}, `said of ${one.repeats.get(one.text[row])} images`)] : []),
      ...reasonsOf(view, one, row).map((note) => make("small", {}, note))),
    ...view.measures.map((measure) => make("td", { class: "number", "data-measure": measure.label }, shown(valueOf(one, measure, row), measure)))));
  const table = make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows));
  return make("section", {}, make("h3", {}, "Captions and scores, as tables print them"),
    make("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": "Captions and scores" }, table));
}

/** What judges say of a caption, after their names. */
function reasonsOf(view, captioner, row) {
  return view.measures.flatMap(({ number, label }) => {
    const note = captioner.notes[number]?.[row];
    return note ? [`${label}: ${note}`] : [];
  });
}

/** The images that a caption searched among, the right one and the one that was taken for it. */
function candidatesOf(view, row) {
  const searches = ranksOf(view), speakers = view.captioners.filter(({ text }) => text[row] !== null);
  if (!searches.length || !speakers.length) return make("section", {}, make("h3", {}, "Candidates"), make("p", { class: "soft" }, "No retriever searched for images in this evaluation."));
  const speaker = speakers.find(({ name }) => name === state.speaker) ?? speakers.find(({ name }) => name === state.a) ?? speakers[0];
  const search = searches.find((one) => searchOf(one) === state.search) ?? searches[0];
  const options = (texts, now) => texts.map((text) => make("option", { value: text, selected: text === now }, text));
  const who = make("select", { id: "speaker" }, ...options(speakers.map(({ name }) => name), speaker.name));
  who.addEventListener("change", () => change({ speaker: who.value }));
  const how = make("select", { id: "searching" }, ...options(searches.map(searchOf), searchOf(search)));
  how.addEventListener("change", () => change({ search: how.value }));
  const found = make("div", { class: "candidates" });
  const section = make("section", {}, make("h3", {}, "Candidates"),
    make("div", { class: "controls" }, make("label", {}, "Caption of ", who), make("label", {}, "searched by, among ", how)), found);
  showCandidates(view, row, speaker, search, found);
  return section;
}

async function showCandidates(view, row, speaker, search, place) {
  const rank = valueOf(speaker, search, row), right = view.image[row], picked = speaker.chosen[search.number]?.[row] ?? null;
  if (rank === null) {
    place.replaceChildren(make("p", { class: "soft" }, "This caption did not search: its image is behind the last whole block of candidates, or has no look-alikes."));
    return;
  }
  const images = await candidates(view, row, search.among);
  const said = rank === 1 ? "The caption found its image" : `The caption took another image for its own, which is at rank ${rank}`;
  const others = (images ?? []).filter((image) => image !== right && image !== picked);
  const shownFirst = [...new Set([right, picked])];
  const figureOf = (image) => make("figure", { class: image === right ? "right" : image === picked ? "wrong" : null }, picture(view, image, `Image ${view.images.id[image]}`),
    make("figcaption", {}, ...(image === right ? [rank === 1 ? "\u2713 right, and found" : "right image"] : image === picked ? ["\u2717 wrong pick"] : []), make("small", {}, view.images.id[image])));
  place.replaceChildren(make("p", {}, `${said}, among ${images ? `these ${images.length}` : `all ${view.images.id.length} images of the split`}.`),
    make("div", { class: "pictures" }, ...[...shownFirst, ...others].map(figureOf)));
}

/** The images that were searched; null for all of the split. */
async function candidates(view, row, among) {
  const protocol = among.split(" ").pop(), image = view.image[row];
  if (protocol === "full") return null;
  const every = view.images.id.map((_, at) => at);
  if (protocol === "set") return every.filter((at) => view.images.set[at] === view.images.set[image]);
  if (protocol === "random") return [image, ...(await load(`${view.corpus}.${view.name}`))[view.copy[row]][image]];
  const first = Math.floor(image / view.candidates) * view.candidates;
  return every.slice(first, first + view.candidates);
}

function watchDetail() {
  const dialog = byId("detail");
  dialog.addEventListener("close", () => {
    const position = detail.position;
    if (state.image !== "") change({ image: "", copy: "" });
    if (position >= 0) focusRow(position);
  });
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  dialog.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!by || !alone(event) || event.target.closest("select, input, .scroll")) return;
    event.preventDefault();
    stepDetail(by);
  });
}
