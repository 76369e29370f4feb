/** One question on its way to an answer. It goes on when the person looks at another view, and is found again by its conversation. */

import * as api from "./api.js";
import * as conversations from "./conversations.js";

/** @type {Map<string, Run>} by conversation */
const running = new Map();

/** @param {string} id @returns {Run | undefined} */
export function runOf(id) {
  return running.get(id);
}

export class Run {
  /**
   * @param {conversations.Conversation} conversation
   * @param {string} question
   * @param {Record<string, any>} options fields of /v1/ask
   */
  constructor(conversation, question, options) {
    this.conversation = conversation;
    /** @type {conversations.Turn} */
    this.turn = { question, asked: new Date().toISOString(), options, answer: null };
    this.draft = ""; // what the model wrote and nothing has checked yet
    this.drafted = false;
    /** @type {any[]} */
    this.claims = [];
    /** @type {any[]} */
    this.citations = [];
    this.done = false;
    this.controller = new AbortController();
    /** @type {Set<() => void>} */
    this.listeners = new Set();
  }

  /** Ask; ends when there is an answer, a failure, or the person stopped it. */
  async start() {
    const { conversation, turn } = this;
    const past = conversations.history(conversation.turns);
    conversation.turns.push(turn);
    running.set(conversation.id, this);
    const body = { question: turn.question, stream: true, history: past, ...turn.options };
    try {
      await conversations.save(conversation);
      await api.stream("/v1/ask", { body, signal: this.controller.signal, on: (name, data) => this.hear(name, data) });
      if (!turn.answer && !turn.error) turn.error = { message: "The answer broke off.", fix: "Ask again." };
    } catch (failure) {
      if (failure.name === "AbortError") turn.stopped = true;
      else
        turn.error = { message: failure.message, fix: failure.fix || "", status: failure.status, retryAfter: failure.retryAfter };
    }
    this.done = true;
    running.delete(conversation.id);
    this.tell();
    await conversations.save(conversation);
  }

  stop() {
    this.controller.abort();
  }

  /** @param {string} name @param {any} data */
  hear(name, data) {
    if (name === "token") {
      this.draft += data.text;
      this.drafted = true;
    } else if (name === "citation") this.citations.push(data.citation);
    else if (name === "verdict") this.check(data.claim);
    else if (name === "done") this.turn.answer = data.answer;
    else if (name === "error") this.turn.error = data.error;
    this.tell();
  }

  /** A sentence is checked: it leaves the draft. @param {any} claim */
  check(claim) {
    this.claims.push(claim);
    const words = plain(claim.text);
    const at = words ? this.draft.indexOf(words) : -1;
    if (at >= 0) this.draft = this.draft.slice(at + words.length).replace(/^(\s*\[\d+\])*\s*/, "");
  }

  /** What is checked so far, in the shape of an answer. */
  soFar() {
    let text = "";
    const at = { end: 0 };
    for (const claim of this.claims) {
      // What stands between two sentences is not known yet; between quotes, which come before any draft, it is a new line.
      const gap = claim.start - at.end;
      text += gap <= 0 ? "" : gap === 1 ? (this.drafted ? " " : "\n") : "\n".repeat(gap);
      text += claim.text;
      at.end = claim.end;
    }
    return { text, claims: this.claims, citations: this.citations, findings: [], stale: [], outcome: "answered" };
  }

  tell() {
    for (const listener of this.listeners) listener();
  }
}

/** A sentence without the numbers of its citations. @param {string} text */
export function plain(text) {
  return text.replace(/(\s*\[\d+\])+\s*$/, "").trim();
}
