/** A glance at a citation while the mouse rests on its chip. The panel has the same for keyboards and screen readers. */

import { placeOf } from "./conversations.js";
import { el, fill } from "./dom.js";
import { line } from "./text.js";

const DELAY = 250; // milliseconds
const card = el("div.preview", { popover: "manual", "aria-hidden": "true" });
let waiting = 0;

/** Handlers for a chip. @param {any} citation @param {string} means what its verdict means */
export function preview(citation, means) {
  const hide = () => {
    clearTimeout(waiting);
    if (card.isConnected) card.hidePopover();
  };
  const show = (chip) => {
    if (!chip.isConnected) return;
    fill(
      card,
      el("p.small.muted", { dir: "auto", text: placeOf(citation) }),
      el("p.reading", { dir: "auto" }, el("mark", { text: line(citation.quote, 260) })),
      el("p.small.muted", { text: means }),
    );
    document.body.append(card);
    card.showPopover();
    place(chip.getBoundingClientRect());
  };
  const enter = ({ pointerType, currentTarget }) => {
    clearTimeout(waiting);
    if (pointerType === "mouse") waiting = setTimeout(() => show(currentTarget), DELAY);
  };
  return { pointerenter: enter, pointerleave: hide, pointerdown: hide };
}

/** Below the chip, above it where there is no room. @param {DOMRect} chip */
function place(chip) {
  const { width, height } = card.getBoundingClientRect();
  const below = chip.bottom + 8;
  card.style.left = `${Math.max(8, Math.min(chip.left - 20, innerWidth - width - 8))}px`;
  card.style.top = `${below + height > innerHeight ? chip.top - height - 8 : below}px`;
}
