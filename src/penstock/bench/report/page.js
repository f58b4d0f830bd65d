// Tables that sort, and a choice of measures. Without this everything is shown, in the order of the standings.
function value(row, column) {
  const text = row.cells[column].textContent.trim();
  const number = Number.parseFloat(text);
  return Number.isNaN(number) ? text : number;
}

function compare(one, other) {
  if (typeof one !== typeof other) return typeof one === "number" ? -1 : 1;
  return typeof one === "number" ? one - other : one.localeCompare(other);
}

function sort(header) {
  const column = header.cellIndex;
  const upwards = header.getAttribute("aria-sort") !== "ascending";
  for (const each of header.parentNode.cells) each.removeAttribute("aria-sort");
  header.setAttribute("aria-sort", upwards ? "ascending" : "descending");
  for (const body of header.closest("table").tBodies) {
    const rows = [...body.rows].sort((one, other) => compare(value(one, column), value(other, column)));
    body.append(...(upwards ? rows : rows.reverse()));
  }
}

for (const header of document.querySelectorAll("thead th")) {
  const button = document.createElement("button");
  button.type = "button";
  button.title = "sort by this column";
  button.append(...header.childNodes);
  button.addEventListener("click", () => sort(header));
  header.append(button);
}

for (const measures of document.querySelectorAll(".measures")) {
  const sections = [...measures.children];
  const choice = document.createElement("div");
  choice.className = "choice";
  const buttons = sections.map((section) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = section.dataset.name;
    button.addEventListener("click", () => show(section));
    return button;
  });
  function show(chosen) {
    sections.forEach((section, i) => {
      section.hidden = section !== chosen;
      buttons[i].setAttribute("aria-pressed", String(section === chosen));
    });
  }
  choice.append(...buttons);
  measures.prepend(choice);
  show(sections[0]);
}
