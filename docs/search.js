// The search page of the documentation. It works without a server, where a page may load scripts but no data: the index
// is a script, search/index.js, which docs/pages.py writes. Sections with more of the words come first, then those with
// a word in the title, then those that have the words more often.
(() => {
  const list = document.getElementById("properdocs-search-results");
  const field = document.getElementById("properdocs-search-query");
  if (!list) return;
  const MOST = 100;
  const AROUND = 100; // characters on either side of the first word

  function occurrences(text, word) {
    return text.split(word).length - 1;
  }

  function score(section, words) {
    const title = section.title.toLowerCase();
    const text = section.text.toLowerCase();
    let sum = 0;
    for (const word of words) {
      const inText = occurrences(text, word);
      const inTitle = occurrences(title, word);
      if (inText || inTitle) sum += 1000 + 100 * Math.min(inTitle, 1) + Math.min(inText, 99);
    }
    return sum;
  }

  function passage(section, words) {
    const text = section.text.toLowerCase();
    const first = Math.min(...words.map((word) => text.indexOf(word)).filter((place) => place >= 0));
    const start = Number.isFinite(first) ? Math.max(0, first - AROUND) : 0;
    return section.text.slice(start, start + 2 * AROUND);
  }

  function entry(section, words) {
    const article = document.createElement("article");
    const link = document.createElement("a");
    link.href = `${base_url}/${section.location}`;
    link.textContent = section.title;
    article.appendChild(document.createElement("h3")).appendChild(link);
    article.appendChild(document.createElement("p")).textContent = passage(section, words);
    return article;
  }

  function show() {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    const scored = window.searchIndex.map((section) => [score(section, words), section]).filter(([sum]) => sum);
    scored.sort(([a], [b]) => b - a);
    list.replaceChildren(...scored.slice(0, MOST).map(([, section]) => entry(section, words)));
    if (!scored.length) list.textContent = list.dataset.noResultsText;
  }

  field.value = new URLSearchParams(location.search).get("q") ?? "";
  const index = document.createElement("script");
  index.src = `${base_url}/search/index.js`;
  index.onload = () => {
    field.addEventListener("input", show);
    if (field.value) show();
  };
  document.head.appendChild(index);
})();
