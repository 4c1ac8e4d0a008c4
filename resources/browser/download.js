"use strict";
// The selection as CSV: a line for each caption of a captioner that is shown.

/** A field, quoted; a text that a spreadsheet would take for a formula starts with an apostrophe. */
function fieldOf(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return String(value);
  const safe = /^[\s]*[=+\-@]|^[\t\r\n]/u.test(value) ? `'${value}` : value;
  return `"${safe.replaceAll('"', '""')}"`;
}

function csvOf(view, rows) {
  const head = ["corpus", "evaluation", "image_id", "caption_index", "captioner", "caption", "references", ...view.measures.map(({ label }) => label)];
  const lines = [head.map(fieldOf)];
  const speakers = linesShown().map((who) => view.captioners.find(({ name }) => name === who));
  for (const row of rows) {
    const image = view.image[row];
    for (const one of speakers) {
      if (!one || one.text[row] === null) continue;
      const place = [view.corpus, view.name, view.images.id[image], view.copy[row], one.name, one.text[row], view.images.references[image].join(" | ")];
      lines.push([...place, ...view.measures.map((measure) => valueOf(one, measure, row))].map(fieldOf));
    }
  }
  return `\ufeff${lines.map((line) => line.join(",")).join("\r\n")}\r\n`;
}

function download(view, rows) {
  const url = URL.createObjectURL(new Blob([csvOf(view, rows)], { type: "text/csv" }));
  make("a", { href: url, download: `captions-${view.corpus}-${view.name}.csv` }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}
