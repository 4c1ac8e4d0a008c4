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

/** A test whether a row is in a slice: by length, the caption of captioner `a` is; no row is in a slice that is not there. */
function inSlice(view, a, slice) {
  const length = run.lengths.find(({ name }) => slice === `length: ${name}`);
  if (length) return (row) => {
    const text = a?.text[row] ?? null, words = text === null ? -1 : text.trim().split(/\s+/).filter(Boolean).length;
    return words >= length.from && (length.to === null || words <= length.to);
  };
  const column = Object.keys(view.slices ?? {}).find((name) => slice.startsWith(`${name}: `));
  return (row) => column !== undefined && `${column}: ${view.slices[column][view.image[row]]}` === slice;
}
