"use strict";
// Which words two captions have in common, in their order or in another one.
// Scripts without spaces between words. Their words are what Intl.Segmenter finds, each but the first of a piece after GLUE.
const UNSPACED = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}\p{sc=Tibetan}]/u;
const GLUE = "\u200b";
const segmenter = Intl.Segmenter && new Intl.Segmenter(undefined, { granularity: "word" });
const segments = (piece) => segmenter ? Array.from(segmenter.segment(piece), ({ segment }) => segment) : [...piece];
const wordsOf = (text) => text.split(/\s+/u).filter(Boolean).flatMap((piece) =>
  UNSPACED.test(piece) ? segments(piece).map((word, index) => index ? GLUE + word : word) : [piece]);
const plain = (word) => word.replace(GLUE, "");
const bare = (word) => word.toLowerCase().replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{M}\p{N}]+$/gu, "") || word;

// How many words of two captions are aligned: in the list, which shows two lines, and where an image is open.
const IN_LIST = 200, IN_DETAIL = 1000;

/** A longest common subsequence of two lists of words: a step for each word, which is of the first, the second or both. */
function alignment(ours, theirs) {
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

/** The words of one text by number, less those that are aligned with words of the other text. */
function spareWords(words, aligned) {
  const counts = new Map();
  for (const word of words.map(bare)) counts.set(word, (counts.get(word) ?? 0) + 1);
  for (const { word } of aligned) counts.set(bare(word), counts.get(bare(word)) - 1);
  return counts;
}

/** The alignment of the first `most` words of two texts. A word that the other text has elsewhere, as often as it has it, is moved. */
function inCommon(first, second, most) {
  const ours = wordsOf(first), theirs = wordsOf(second);
  const steps = alignment(ours.slice(0, most), theirs.slice(0, most));
  const aligned = steps.filter(({ of }) => of === "both");
  const spare = { first: spareWords(theirs, aligned), second: spareWords(ours, aligned) };
  for (const step of steps) {
    const word = bare(step.word), left = spare[step.of]?.get(word);
    step.moved = left > 0;
    if (step.moved) spare[step.of].set(word, left - 1);
  }
  return steps;
}
const movedWord = (...parts) => make("span", { class: "moved", title: "in both captions, at another place" }, ...parts);

/** The words of a caption, those that the other one does not have in `tag`; moved and unknown words are marked as such. */
function marked(text, other, unknown = [], tag = "ins") {
  const single = other === null || other === undefined;
  const steps = single ? [] : inCommon(text, other, IN_LIST).filter(({ of }) => of !== "second");
  steps.push(...wordsOf(text).slice(steps.length).map((word) => ({ word, of: "both" })));
  const odd = new Set(unknown.map((word) => word.toLowerCase()));
  return joined(steps.map(({ word, of, moved }) => {
    const odds = odd.has(bare(word)) ? make("u", { class: "unknown", title: "unknown word" }, plain(word)) : plain(word);
    return [word, moved ? movedWord(odds) : of === "first" ? make(tag, {}, odds) : odds];
  }));
}

/** From one caption to the other: what is gone in `del`, what came in `ins`, moved words where they are now. */
function changed(from, to) {
  return joined(inCommon(from, to, IN_DETAIL).filter(({ of, moved }) => of !== "first" || !moved).map(({ word, theirs, of, moved }) =>
    moved ? [word, movedWord(plain(word))] : of === "first" ? [word, make("del", {}, plain(word))]
      : of === "second" ? [word, make("ins", {}, plain(word))] : [theirs, plain(theirs)]));
}
/** Parts with blanks between them but before glued words, of pairs of word and part; texts in a row become a single text. */
function joined(pairs) {
  const merged = [];
  for (const part of pairs.flatMap(([word, one], index) => index && !word.startsWith(GLUE) ? [" ", one] : [one])) {
    if (typeof part === "string" && typeof merged.at(-1) === "string") merged.push(merged.pop() + part);
    else merged.push(part);
  }
  return merged;
}
/** A caption as parts of an element; one without anything to be seen is described. */
const spoken = (text, parts) => visible(text) ? parts : [make("i", { class: "soft" }, text ? "only blanks" : "says nothing")];
