/** The panel beside the answer; on narrow screens a sheet over it. It takes the focus, and gives it back. */

import { button, el, fill } from "./dom.js";

const NARROW = "(max-width: 1150px)";
const side = /** @type {HTMLElement} */ (document.getElementById("side"));
const behind = () => [".rail", ".topbar", "#main"].map((name) => /** @type {HTMLElement} */ (document.querySelector(name)));

/** @type {{onKey?: (event: KeyboardEvent) => boolean, onClose?: () => void, from: Element | null} | null} */
let now = null;

/**
 * @param {string} title
 * @param {{controls?: any[], body: any, onKey?: (event: KeyboardEvent) => boolean, onClose?: () => void}} what `onKey` gives
 *   true when it took the key
 */
export function openSide(title, { controls = [], body, onKey, onClose }) {
  const from = now ? now.from : document.activeElement;
  now?.onClose?.();
  now = { onKey, onClose, from };
  const heading = el("h2", { text: title, tabindex: -1 });
  side.setAttribute("aria-label", title);
  fill(
    side,
    el(
      "header.side-head",
      heading,
      el(
        "div.row",
        controls,
        button("Close", { icon: "close", bare: true, kind: "quiet", title: "Close (Esc)", on: closeSide }),
      ),
    ),
    el("div.side-body", body),
  );
  side.hidden = false;
  document.documentElement.toggleAttribute("data-side", true);
  for (const part of behind()) part.inert = matchMedia(NARROW).matches;
  heading.focus({ preventScroll: true });
  return side;
}

export function closeSide() {
  if (!now) return;
  const { from, onClose } = now;
  now = null;
  onClose?.();
  side.hidden = true;
  side.replaceChildren();
  document.documentElement.removeAttribute("data-side");
  for (const part of behind()) part.inert = false;
  if (from instanceof HTMLElement && from.isConnected) from.focus();
}

document.addEventListener("keydown", (event) => {
  if (!now || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  if (/** @type {Element} */ (event.target).closest?.("dialog")) return;
  if (event.key === "Escape") closeSide();
  else if (!(/** @type {Element} */ (event.target).closest?.("input, textarea, select")) && now.onKey?.(event))
    event.preventDefault();
});
document.getElementById("scrim")?.addEventListener("click", closeSide);
matchMedia(NARROW).addEventListener("change", (change) => {
  if (now) for (const part of behind()) part.inert = change.matches;
});
