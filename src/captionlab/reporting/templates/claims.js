const buttons = new Map(), chosen = new Set();

// A claim with several verdicts is shown whole if it has a chosen one, which is marked.
function choose() {
  for (const [verdict, button] of buttons) button.setAttribute("aria-pressed", String(chosen.has(verdict)));
  for (const part of document.querySelectorAll(".judged")) {
    part.classList.toggle("chosen", chosen.has(part.dataset.verdict));
  }
  for (const claim of document.querySelectorAll(".claim")) {
    claim.hidden = chosen.size > 0 && !claim.querySelector(".chosen");
  }
  for (const paper of document.querySelectorAll(".paper")) paper.hidden = !paper.querySelector(".claim:not([hidden])");
}

for (const item of document.querySelectorAll(".counts li")) {
  const button = document.createElement("button"), { verdict } = item.dataset;
  button.type = "button";
  button.append(...item.childNodes);
  button.addEventListener("click", () => {
    if (!chosen.delete(verdict)) chosen.add(verdict);
    choose();
    keep("verdict", [...chosen]);
  });
  buttons.set(verdict, button);
  item.append(button);
}

restored(() => {
  chosen.clear();
  for (const verdict of kept("verdict")) if (buttons.has(verdict)) chosen.add(verdict);
  choose();
});
