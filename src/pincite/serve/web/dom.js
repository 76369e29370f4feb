/** Building blocks of the page: elements, icons, notices, dialogs. Content goes in as text nodes, never as HTML. */

import { visible } from "./text.js";

/** @typedef {Node | string | number | null | undefined | false | Array<any>} Child */

/**
 * Make an element. Properties: `class`, `text`, `dir` and other attributes by name; `on` = {event: handler};
 * `data` = data-attributes; `style` = CSS properties (set through the object model, as the policy wants it).
 * @param {string} tag "div", or with classes: "div.card.wide"
 * @param {Record<string, any> | Child} [props] null, undefined and false leave an attribute out, true sets it empty; an element
 *   without any begins with its children
 * @param {...Child} children
 * @returns {any} the element
 */
export function el(tag, props = {}, ...children) {
  if (props?.constructor !== Object) return el(tag, {}, props, ...children);
  const [name, ...classes] = tag.split(".");
  const node = document.createElement(name);
  if (classes.length) node.classList.add(...classes);
  for (const [key, value] of Object.entries(props)) {
    if (value !== null && value !== undefined && value !== false) set(node, key, value);
  }
  append(node, children);
  return node;
}

/** @param {HTMLElement} node @param {string} key @param {any} value */
function set(node, key, value) {
  if (key === "on") for (const [event, handler] of Object.entries(value)) node.addEventListener(event, handler);
  else if (key === "data") Object.assign(node.dataset, value);
  else if (key === "style") for (const [name, to] of Object.entries(value)) node.style.setProperty(name, String(to));
  else if (key === "class") node.classList.add(...String(value).split(" ").filter(Boolean));
  else if (key === "text") node.textContent = value;
  else if (key === "value") /** @type {any} */ (node).value = value;
  else node.setAttribute(key, value === true ? "" : String(value));
}

/** @param {Node} node @param {Child[]} children */
export function append(node, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    node.appendChild(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

/** Put children in place of what is there. @param {Element} node @param {...Child} children */
export function fill(node, ...children) {
  node.replaceChildren();
  append(node, children);
  return node;
}

/** Say of a link whether it is where the person is. @param {Element} link @param {boolean} here */
export const current = (link, here) => (here ? link.setAttribute("aria-current", "page") : link.removeAttribute("aria-current"));

/** Strokes on a 24 x 24 grid; what stands behind "|" is filled. */
const ICONS = {
  ask: "M21 12a8 8 0 0 1-11.5 7.2L4 21l1.6-4.6A8 8 0 1 1 21 12z",
  library: "M4 5a2 2 0 0 1 2-2h3v18H6a2 2 0 0 1-2-2zM9 3h5v18H9zM14.5 4.5l3.9-1 4 16-3.9 1z",
  evaluation: "M4 20V10M10 20V4M16 20v-8M22 20H2",
  plus: "M12 5v14M5 12h14",
  send: "M12 20V5M5.5 11.5 12 5l6.5 6.5",
  stop: "M7 7h10v10H7z",
  close: "M6 6l12 12M18 6 6 18",
  menu: "M4 7h16M4 12h16M4 17h16",
  back: "M15 5l-7 7 7 7",
  forward: "M9 5l7 7-7 7",
  check: "M5 12.5l4.5 4.5L19 7.5",
  half: "M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16z|M12 4a8 8 0 0 0 0 16z",
  cross: "M7 7l10 10M17 7 7 17",
  conflict: "M8 7h12l-3-3M16 17H4l3 3",
  none: "M7 12h10",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  open: "M14 4h6v6M20 4l-9 9M18 14v6H4V6h6",
  download: "M12 4v11M7 10.5l5 5 5-5M5 20h14",
  trash: "M4 7h16M9 7V4h6v3M6 7l1 13h10l1-13",
  edit: "M4 20l1-4L16 5l3 3L8 19zM14 7l3 3",
  more: "M6 12h.01M12 12h.01M18 12h.01",
  search: "M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM16 16l4.5 4.5",
  file: "M6 3h8l5 5v13H6zM14 3v5h5",
  folder: "M3 6h6l2 2h10v11H3z",
  follow: "M3 6h6l2 2h10v4M3 6v13h8M21 17a4 4 0 1 1-1.2-2.8M21 12.5v2.3h-2.3",
  upload: "M12 16V5M7 9.5l5-5 5 5M5 20h14",
  clock: "M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16zM12 8v4.5l3 2",
  warn: "M12 4 2.5 20h19zM12 10v4M12 17h.01",
  info: "M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16zM12 11v5M12 8h.01",
  key: "M14.5 4a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11zM10.5 13.5 4 20v1h3v-2h2v-2l2.5-2.5M16 8h.01",
  sun: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2v2M12 20v2M4 12H2M22 12h-2M5 5l1.4 1.4M17.6 17.6 19 19M5 19l1.4-1.4M17.6 6.4 19 5",
  moon: "M20 14A8 8 0 1 1 10 4a6.5 6.5 0 0 0 10 10z",
  system: "M4 5h16v11H4zM9 20h6M12 16v4",
  retry: "M20 11a8 8 0 1 0-2.3 6M20 4v7h-7",
  why: "M4 6h10M4 12h16M4 18h7",
  tune: "M4 7h9M17 7h3M15 4.5v5M4 17h3M11 17h9M9 14.5v5",
  quote: "M5 17V11c0-3 1.5-5 4-6M5 11h5v6H5zM14 17V11c0-3 1.5-5 4-6M14 11h5v6h-5z",
};

/** @param {keyof typeof ICONS | string} name @param {string} [label] for screen readers; without one it is decoration */
export function icon(name, label = "") {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("class", `icon icon-${name}`);
  if (label) {
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", label);
  } else svg.setAttribute("aria-hidden", "true");
  for (const [index, strokes] of (ICONS[name] || ICONS.info).split("|").entries()) {
    const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
    path.setAttribute("d", strokes);
    if (index) path.setAttribute("fill", "currentColor");
    svg.append(path);
  }
  return svg;
}

/**
 * Make a button.
 * @param {string} label its words; also its name where only the icon shows
 * @param {{icon?: string, kind?: "primary" | "quiet" | "danger" | "", bare?: boolean, on: (event: Event) => void,
 *   [attribute: string]: any}} how `bare`: the icon alone
 */
export function button(label, { icon: sign, kind = "", bare = false, on, ...more }) {
  return el(
    "button.button",
    {
      type: "button",
      class: [kind, bare && "bare"].filter(Boolean).join(" "),
      "aria-label": bare ? label : null,
      title: bare ? label : null,
      on: { click: on },
      ...more,
    },
    sign && icon(sign),
    !bare && el("span", { text: label }),
  );
}

/**
 * A notice in the flow of the page: what happened, and what to do.
 * @param {"info" | "warn" | "error" | "good"} kind
 * @param {Child} what
 * @param {{fix?: Child, actions?: Child[], live?: boolean}} [how] `live`: it is read out at once
 */
export function notice(kind, what, { fix = "", actions = [], live = false } = {}) {
  const signs = { info: "info", warn: "warn", error: "warn", good: "check" };
  return el(
    `div.notice.${kind}`,
    { role: live ? "alert" : null },
    icon(signs[kind]),
    el("div", el("p.what", what), fix && el("p.fix", fix), actions.length > 0 && el("div.row", actions)),
  );
}

/** Show a failure. @param {any} failure an ApiError or Error @param {() => void} [retry] */
export function failed(failure, retry = undefined) {
  const actions = retry ? [button("Try again", { icon: "retry", on: retry })] : [];
  return notice("error", failure.message, { fix: failure.fix, actions, live: true });
}

/** A state that fills a view: nothing here yet, nothing found. @param {string} sign @param {string} title @param {...Child} more */
export function emptyState(sign, title, ...more) {
  return el("div.empty", icon(sign), el("h2", { text: title }), more);
}

/** A sign that something is on its way. @param {string} label */
export function loading(label) {
  return el("div.loading", { role: "status" }, el("span.spinner", { "aria-hidden": "true" }), el("span", { text: label }));
}

/** A label above its control. @param {string} label @param {HTMLElement} control with an id */
export const field = (label, control) => el("label.field", { for: control.id }, label, control);

/**
 * A form; Enter or its button submits it.
 * @param {string} verb what its button says
 * @param {Child[]} inside
 * @param {() => void} submit
 * @param {...Child} others buttons before its own
 */
export function form(verb, inside, submit, ...others) {
  const on = { submit: (event) => (event.preventDefault(), submit()) };
  return el("form.stack", { on }, inside, el("div.row.end", others, el("button.button.primary", { text: verb })));
}

/**
 * Buttons of which one is pressed: each shows its part.
 * @param {string} label for screen readers
 * @param {Record<string, () => void>} parts by the words of their buttons
 * @returns {{node: HTMLElement, choose: (name: string) => void}} `choose` presses one
 */
export function tabs(label, parts) {
  const buttons = Object.keys(parts).map((name) => button(name, { kind: "quiet", on: () => choose(name) }));
  const choose = (name) => {
    for (const one of buttons) one.setAttribute("aria-pressed", String(one.textContent === name));
    parts[name]();
  };
  return { node: el("div.tabs", { role: "group", "aria-label": label }, buttons), choose };
}

const LONG = 50; // characters of a line that may have been wrapped
const WRAPPED = new RegExp(`(?<=[^\\n]{${LONG}})\\n(?![\\s#>|*+\\-•~=]|\`\`\`|\\d+[.)]\\s)`, "g");

/**
 * Words as they flow: a line break that only wraps a long line is shown as a space. It stays the same character.
 * @param {string} text
 * @returns {(start: number, end: number) => Child[]} gives what stands between two offsets of the string
 */
export function flowing(text) {
  return (start, end) => {
    const out = [];
    const from = Math.max(0, start - LONG);
    for (const found of text.slice(from, end + 8).matchAll(WRAPPED)) {
      const at = from + found.index;
      if (at < start || at >= end) continue;
      out.push(visible(text.slice(start, at)), el("span.soft", { text: "\n" }));
      start = at + 1;
    }
    return [...out, visible(text.slice(start, Math.max(start, end)))];
  };
}

/**
 * Open a modal dialog; Escape and the close button give null.
 * @param {string} title
 * @param {(close: (value: any) => void) => Child[]} content
 * @returns {Promise<any>} what `close` was given
 */
export function dialog(title, content) {
  return new Promise((resolve) => {
    const id = `dialog-${Math.random().toString(36).slice(2)}`;
    const box = el("dialog.dialog", { "aria-labelledby": id });
    const close = (value) => {
      box.close();
      box.remove();
      resolve(value);
    };
    box.addEventListener("cancel", (event) => {
      event.preventDefault();
      close(null);
    });
    append(box, [
      el(
        "header",
        el("h2", { id, text: title }),
        button("Close", { icon: "close", bare: true, kind: "quiet", on: () => close(null) }),
      ),
      content(close),
    ]);
    document.body.append(box);
    box.showModal();
    /** @type {HTMLElement | null} */ (box.querySelector("input, textarea, select, .primary"))?.focus();
  });
}

/** Ask before something that cannot be undone. @returns {Promise<boolean>} */
export async function confirmed(title, words, verb) {
  const answer = await dialog(title, (close) => [
    el("p", { text: words }),
    el("div.row.end", button("Cancel", { on: () => close(false) }), button(verb, { kind: "danger", on: () => close(true) })),
  ]);
  return answer === true;
}
