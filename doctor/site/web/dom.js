// Creates elements without markup: everything in a report becomes text, never HTML.

/** An element: its tag with classes ("p.dim"), its attributes and properties, its children (strings become text). */
export function el(tag, ...rest) {
  const [name, ...classes] = tag.split(".");
  const node = document.createElement(name);
  if (classes.length) node.className = classes.join(" ");
  const given = rest[0];
  if (given && typeof given === "object" && !(given instanceof Node) && !Array.isArray(given)) {
    rest.shift();
    for (const [key, value] of Object.entries(given)) {
      if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
      else if (key in node && typeof value === "boolean") node[key] = value;
      else node.setAttribute(key, value);
    }
  }
  node.append(...rest.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== ""));
  return node;
}

/** A button that copies a text (or the text that a function returns) and confirms it. */
export function copier(label, text, kind = "quiet.small") {
  const button = el(`button.${kind}`, { type: "button" }, label);
  button.addEventListener("click", async () => {
    let said = "Copied";
    try {
      await navigator.clipboard.writeText(typeof text === "function" ? text() : text);
    } catch {
      said = "Select it and press Ctrl + C";
    }
    button.textContent = said;
    setTimeout(() => { button.textContent = label; }, 1600);
  });
  return button;
}

/** The parts of a text; those in backticks become code elements. */
export function prose(text) {
  return text.split(/`([^`\n]+)`/).map((part, at) => (at % 2 ? el("code", part) : part));
}
