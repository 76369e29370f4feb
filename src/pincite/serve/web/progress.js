/** A question on its way to an answer: quotes and sentences that are checked, the draft that is not, what is being done. */

import { rendered } from "./answer.js";
import { el, fill, loading } from "./dom.js";
import { visible } from "./text.js";

const SLOW = 4000; // milliseconds
const WORDS = {
  searching: "Searching your documents…",
  slow: "Still at it. The first question after a start also loads the models…",
  quoted: "Quotes found. Writing…",
  writing: "Writing, and checking each sentence…",
};

export class Progress {
  /**
   * @param {import("./run.js").Run} run
   * @param {HTMLElement} body where it is shown
   * @param {import("./answer.js").Shown} can
   * @param {() => void} ended called once, when the run is done
   */
  constructor(run, body, can, ended) {
    this.run = run;
    this.can = can;
    this.ended = ended;
    this.checked = el("div");
    this.words = el("span");
    const label = el("span.draft-label.small", { text: "Draft, not yet checked" });
    this.draft = el("p.draft.reading", { dir: "auto", hidden: true }, label, this.words);
    this.status = loading(WORDS.searching);
    this.claims = 0;
    this.frame = 0;
    this.slow = setTimeout(() => this.say(WORDS.slow), SLOW);
    this.listener = () => this.hear();
    run.listeners.add(this.listener);
    fill(body, this.checked, this.draft, this.status);
    this.show();
  }

  /** Something came: it is shown with the next frame, as tokens may come faster. */
  hear() {
    if (this.run.done) {
      this.forget();
      this.ended();
    } else this.frame ||= requestAnimationFrame(() => this.show());
  }

  /** Stop looking; the run goes on. */
  forget() {
    clearTimeout(this.slow);
    cancelAnimationFrame(this.frame);
    this.run.listeners.delete(this.listener);
  }

  show() {
    const { run } = this;
    this.frame = 0;
    if (run.claims.length !== this.claims) {
      this.claims = run.claims.length;
      refocused(this.checked, () => fill(this.checked, rendered(run.soFar(), { ...this.can, streaming: true })));
    }
    this.words.textContent = visible(run.draft);
    this.draft.hidden = !run.draft.trim();
    if (run.drafted || this.claims) this.say(run.drafted ? WORDS.writing : WORDS.quoted);
  }

  /** @param {string} words */
  say(words) {
    clearTimeout(this.slow);
    const said = /** @type {ChildNode} */ (this.status.lastChild);
    if (said.textContent !== words) said.textContent = words;
  }
}

/** Change a part of the page, and keep the focus on the same chip. @param {HTMLElement} part @param {() => void} change */
export function refocused(part, change) {
  const focused = /** @type {HTMLElement} */ (document.activeElement);
  const claim = part.contains(focused) ? focused.dataset.claim : undefined;
  change();
  if (claim !== undefined) /** @type {HTMLElement} */ (part.querySelector(`button[data-claim="${Number(claim)}"]`))?.focus();
}
