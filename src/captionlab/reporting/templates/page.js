if (!/\/tables\/[^\/]*$/.test(location.pathname)) {
  for (const link of document.querySelectorAll("a.beside")) link.removeAttribute("href");
}
if (window.top !== window || !/^(file|https?):$/.test(location.protocol)) {
  for (const nav of document.querySelectorAll("nav.up")) nav.remove();
  for (const link of document.querySelectorAll("a")) link.replaceWith(...link.childNodes);
}
