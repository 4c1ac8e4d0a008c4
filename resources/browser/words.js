"use strict";
// Which words two captions have in common, in their order.
const wordsOf = (text) => text.split(/(\s+)/u).filter((part) => part.trim());
const bare = (word) => word.toLowerCase().replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, "") || word;

// How many words of two captions are compared: in the list, which shows two lines, and where an image is open.
const IN_LIST = 200, IN_DETAIL = 1000;

/** A longest common subsequence of the first words of two texts, `most` of each: of each word whether it is in it. */
function inCommon(first, second, most) {
  const ours = wordsOf(first).slice(0, most), theirs = wordsOf(second).slice(0, most);
  const left = ours.map(bare), right = theirs.map(bare);
  const lengths = Array.from({ length: left.length + 1 }, () => new Uint16Array(right.length + 1));
  for (let i = left.length - 1; i >= 0; i--) {
    for (let j = right.length - 1; j >= 0; j--) {
      lengths[i][j] = left[i] === right[j] ? lengths[i + 1][j + 1] + 1 : Math.max(lengths[i + 1][j], lengths[i][j + 1]);
    }
  }
  const steps = [];
  let i = 0, j = 0;
  while (i < left.length || j < right.length) {
    if (i < left.length && j < right.length && left[i] === right[j]) steps.push({ word: ours[i++], theirs: theirs[j++], of: "both" });
    else if (j >= right.length || (i < left.length && lengths[i + 1][j] >= lengths[i][j + 1])) steps.push({ word: ours[i++], of: "first" });
    else steps.push({ word: theirs[j++], of: "second" });
  }
  return steps;
}

/** The words of a caption, those that the other one does not have in `ins`; an unknown word is marked as one. */
function marked(text, other, unknown = [], tag = "ins") {
  const alone = other === null || other === undefined;
  const steps = alone ? [] : inCommon(text, other, IN_LIST).filter(({ of }) => of !== "second");
  steps.push(...wordsOf(text).slice(steps.length).map((word) => ({ word, of: "both" })));
  const odd = new Set(unknown.map((word) => word.toLowerCase()));
  return joined(steps.map(({ word, of }) => {
    const odds = odd.has(bare(word)) ? make("u", { class: "unknown", title: "unknown word" }, word) : word;
    return of === "first" ? make(tag, {}, odds) : odds;
  }));
}

/** From one caption to the other: what is gone in `del`, what came in `ins`. Longer captions are compared in part. */
function changed(from, to) {
  return joined(inCommon(from, to, IN_DETAIL).map(({ word, theirs, of }) => of === "first" ? make("del", {}, word) : of === "second" ? make("ins", {}, word) : theirs));
}
const joined = (parts) => parts.flatMap((part, index) => index ? [" ", part] : [part]);
