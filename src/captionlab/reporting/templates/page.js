if (!/\/(tables|figures)\/[^\/]*$/.test(location.pathname)) {
  for (const link of document.querySelectorAll("a.beside")) link.removeAttribute("href");
}
const framed = window.top !== window || !/^(file|https?):$/.test(location.protocol);
if (framed) {
  for (const nav of document.querySelectorAll("nav.up")) nav.remove();
  for (const link of document.querySelectorAll("a")) link.replaceWith(...link.childNodes);
}

// What a reader chose is in the query of the address, a list of texts for each name; the fragment is left as it is.
function kept(name) {
  return new URLSearchParams(location.search).getAll(name);
}

function keep(name, values) {
  const query = new URLSearchParams(location.search);
  query.delete(name);
  for (const value of values) query.append(name, value);
  const text = query.toString();
  if (text === location.search.slice(1)) return;
  history.pushState(null, "", `${location.pathname}${text && "?"}${text}${location.hash}`);
}

function restored(restore) {
  restore();
  window.addEventListener("popstate", restore);
}

// What is folded is unfolded on paper.
let folded = [];
window.addEventListener("beforeprint", () => {
  folded = [...document.querySelectorAll("details:not([open])")];
  for (const part of folded) part.open = true;
});
window.addEventListener("afterprint", () => {
  for (const part of folded) part.open = false;
});
