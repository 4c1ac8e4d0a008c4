"use strict";
// Slices: captions of a length, and images with a value in a column of the user. The address names a slice as the table does.

/** The slices of a view with the number of images of each column's value; lengths have no number, they depend on A. */
function slicesOf(view) {
  const lengths = run.lengths.map(({ name }) => ({ name: `length: ${name}`, text: name }));
  const columns = Object.entries(view.slices ?? {}).flatMap(([column, values]) => counted(values.map((value) => value === null ? [] : [value]))
    .map(([value, count]) => ({ name: `${column}: ${value}`, text: `${column}: ${value} (${count})` })));
  return [...lengths, ...columns];
}

function fillSlices(view, select) {
  const slices = slicesOf(view);
  options(select, ["", ...slices.map(({ name }) => name)], ["any", ...slices.map(({ text }) => text)]);
}

/** A test whether a row is in a slice, by length by the caption of `a`; no row is in a slice that there is not. */
function inSlice(view, a, slice) {
  const length = run.lengths.find(({ name }) => slice === `length: ${name}`);
  const words = (row) => (a?.text[row] ?? "").split(/\s+/).filter(Boolean).length;
  const has = (row) => (a?.text[row] ?? null) !== null;
  if (length) return (row) => has(row) && words(row) >= length.from && words(row) <= (length.to ?? Infinity);
  const columns = Object.entries(view.slices ?? {});
  return (row) => columns.some(([column, values]) => values[view.image[row]] !== null && `${column}: ${values[view.image[row]]}` === slice);
}
