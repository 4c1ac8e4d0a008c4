const items = [...document.querySelectorAll(".counts li")], chosen = new Set();
for (const item of items) {
  const button = document.createElement("button"), { verdict } = item.dataset;
  button.type = "button";
  button.setAttribute("aria-pressed", "false");
  button.append(...item.childNodes);
  button.addEventListener("click", () => {
    if (!chosen.delete(verdict)) chosen.add(verdict);
    button.setAttribute("aria-pressed", String(chosen.has(verdict)));
    for (const part of document.querySelectorAll(".judged")) {
      part.hidden = chosen.size > 0 && !chosen.has(part.dataset.verdict);
    }
    for (const outer of [...document.querySelectorAll(".claim"), ...document.querySelectorAll(".paper")]) {
      outer.hidden = !outer.querySelector(".judged:not([hidden])");
    }
  });
  item.append(button);
}
