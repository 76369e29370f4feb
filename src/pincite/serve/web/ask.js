/** The view where questions are asked: a conversation, and the evidence beside it. */

import { rendered } from "./answer.js";
import { post } from "./api.js";
import { Composer } from "./composer.js";
import * as conversations from "./conversations.js";
import { button, el, emptyState, fill, icon, notice } from "./dom.js";
import { items, showEvidence } from "./evidence.js";
import * as history from "./history.js";
import { Progress, refocused } from "./progress.js";
import { Run, runOf } from "./run.js";
import { VERDICTS } from "./sentences.js";
import { closeSide } from "./side.js";
import { addButtons } from "./upload.js";
import { line, plural, visible } from "./text.js";
import { showWhy } from "./why.js";

/** @param {HTMLElement} root @param {import("./app.js").App} app */
export function mount(root, app) {
  const view = new Asking(root, app);
  view.open(app.route.view === "c" ? app.route.id : "");
  return () => view.leave();
}

class Asking {
  /** @param {HTMLElement} root @param {import("./app.js").App} app */
  constructor(root, app) {
    this.app = app;
    this.heading = el("h1.visually-hidden");
    this.thread = el("div.thread");
    this.welcome = el("div.welcome");
    this.below = el("div.below");
    this.composer = new Composer({
      onAsk: (question, options) => this.ask(question, options),
      onStop: () => this.run?.stop(),
      within: app.route.params.get("in") || "",
      question: app.route.params.get("q") || "",
    });
    this.dock = el("div.dock", this.composer.node);
    this.frame = el("div.asking", this.welcome, this.heading, this.thread, this.dock, this.below);
    fill(root, this.frame);
    this.known = () => {
      fill(this.welcome, greeting(app));
      fill(this.below, app.library && legend());
      this.dock.hidden = app.library?.documents === 0 && !this.conversation?.turns.length; // nothing to ask yet
    };
    document.addEventListener("pincite:library", this.known);
  }

  /** @param {string} id "" begins a new conversation */
  async open(id) {
    const conversation = id ? await conversations.load(id) : conversations.begin();
    if (!this.frame.isConnected) return;
    if (!conversation) {
      const why = "Conversations are kept in the browser where they were held. This one was deleted, or held elsewhere.";
      const anew = button("Ask something new", { kind: "primary", on: () => this.app.go("/") });
      fill(this.frame, emptyState("ask", "This conversation is not here", el("p", { text: why }), anew));
      return;
    }
    this.conversation = conversation;
    this.known();
    this.mode();
    for (const turn of conversation.turns) this.add(turn, runOf(id)?.turn === turn ? runOf(id) : undefined);
    const last = this.thread.lastElementChild;
    if (last) last.scrollIntoView({ block: "start" });
    if (matchMedia("(hover: hover)").matches) this.composer.focus();
  }

  /** A first question is asked in the middle, later ones below the conversation. */
  mode() {
    const begun = this.conversation.turns.length > 0;
    this.frame.classList.toggle("begun", begun);
    this.heading.hidden = !begun;
    this.heading.textContent = this.conversation.title || "Conversation";
    this.app.title(begun ? this.heading.textContent : "Ask");
    this.welcome.hidden = this.below.hidden = begun;
    this.composer.hint(begun ? "Ask a follow-up" : "Ask about your documents");
  }

  /** @param {string} question @param {Record<string, any>} options */
  ask(question, options) {
    const { conversation, app } = this;
    const run = new Run(conversation, question, options);
    run.start();
    if (app.route.id !== conversation.id) {
      window.history.pushState(null, "", `#/c/${conversation.id}`);
      app.route = { view: "c", id: conversation.id, params: new URLSearchParams() };
    }
    history.mark(conversation.id);
    this.mode();
    closeSide();
    this.add(run.turn, run).scrollIntoView({ block: "start", behavior: "smooth" });
  }

  /** Show a turn, and follow it while it is on its way. @param {conversations.Turn} turn @param {Run} [run] */
  add(turn, run) {
    const body = el("div.turn-body");
    const node = el(
      "article.turn",
      { "aria-label": `Question: ${line(turn.question, 80)}` },
      el("h2.question", { dir: "auto", text: visible(turn.question) }),
      body,
    );
    const can = this.abilities(turn, body);
    this.thread.append(node);
    if (!run || run.done) fill(body, this.settled(turn, can));
    else this.follow(run, body, can);
    return node;
  }

  /** What an answer's buttons do. */
  abilities(turn, body) {
    const { app } = this;
    const searched = (more) => {
      const { mode, where } = turn.options;
      const { turns } = this.conversation;
      return post("/v1/search", {
        question: turn.question,
        explain: true,
        mode,
        where,
        history: conversations.history(turns.slice(0, turns.indexOf(turn))),
        ...more,
      });
    };
    const whyNot = (target = "") => showWhy(turn, searched, { target, asked: true });
    return {
      app,
      searched,
      whyNot,
      why: () => showWhy(turn, searched, {}),
      evidence: (at) => showEvidence(turn.answer || this.run?.soFar(), at, { root: body, app, whyNot }),
    };
  }

  /** @param {Run} run @param {HTMLElement} body @param {import("./answer.js").Shown} can */
  follow(run, body, can) {
    this.run = run;
    this.composer.busy(true);
    this.progress = new Progress(run, body, can, () => {
      this.run = undefined;
      this.composer.busy(false);
      refocused(body, () => fill(body, this.settled(run.turn, can)));
      this.app.say(told(run.turn));
    });
  }

  /** A turn that has ended. @param {conversations.Turn} turn */
  settled(turn, can) {
    if (turn.answer) return [understood(turn, this.app), rendered(turn.answer, can)];
    const again = () => this.again(turn);
    if (turn.error) return troubled(turn.error, again);
    const actions = [button("Ask again", { icon: "retry", on: again })];
    if (turn.stopped) return notice("info", "You stopped this answer.", { actions });
    return notice("info", "This answer was not finished.", { fix: "The page was closed or reloaded while it was on its way.", actions });
  }

  /** Ask a failed question anew, in its place. @param {conversations.Turn} turn */
  again(turn) {
    const { turns } = this.conversation;
    const at = turns.indexOf(turn);
    turns.splice(at, 1);
    this.thread.children[at].remove();
    this.ask(turn.question, turn.options);
  }

  leave() {
    this.progress?.forget();
    document.removeEventListener("pincite:library", this.known);
    closeSide();
  }
}

/** What was taken from the conversation. */
function understood({ question, answer }, app) {
  const stage = answer.trace.stages.find((one) => one.name === "understand");
  if (!stage?.taken || !stage.depends) return null;
  const alone = () => app.go(`/?${new URLSearchParams({ q: question })}`);
  return el(
    "p.understood.small.muted",
    el("span", { dir: "auto", text: `Understood together with “${line(stage.taken, 120)}”` }),
    " ",
    el("button.link", { type: "button", text: "Ask it by itself", on: { click: alone } }),
  );
}

/** A failure, and when to try again: a server that is busy says in how many seconds. */
function troubled(error, again) {
  const retry = button("Try again", { icon: "retry", on: again });
  const busy = [429, 503].includes(error.status);
  const words = /** @type {Element} */ (retry.lastChild);
  const wait = (seconds) => {
    retry.disabled = seconds > 0;
    words.textContent = seconds > 0 ? `Try again in ${plural(seconds, "second")}` : "Try again";
    if (seconds > 0) setTimeout(() => wait(seconds - 1), 1000);
  };
  if (busy && error.retryAfter) wait(Math.ceil(error.retryAfter));
  return notice(busy ? "warn" : "error", error.status === 429 ? "Many questions are being answered right now." : error.message, {
    fix: error.status === 429 ? "Your question is kept here." : error.fix,
    actions: [retry],
    live: true,
  });
}

/** The outcome in a sentence, to be read out. */
function told({ answer, stopped, error }) {
  if (stopped) return "Stopped.";
  if (!answer) return error?.message || "No answer.";
  if (answer.outcome === "not_in_documents") return "Not in these documents.";
  const counts = Object.entries(VERDICTS).map(([verdict, { word }]) => [
    answer.claims.filter((claim) => claim.verdict === verdict).length,
    word.toLowerCase(),
  ]);
  const said = counts.filter(([count]) => count).map(([count, word]) => `${count} ${word}`);
  return `Answer ready. ${plural(answer.claims.length, "sentence")}: ${said.join(", ")}. ${plural(items(answer).length, "piece of evidence", "pieces of evidence")}.`;
}

/** Before the first question. @param {import("./app.js").App} app */
function greeting(app) {
  if (!app.library) return null;
  if (!app.library.documents) return bare(app);
  return [
    el("h1", { text: "Ask your documents" }),
    el("p.lead", { text: "Every sentence of the answer is checked, and pinned to the exact words that it comes from." }),
  ];
}

/** What the signs mean. */
function legend() {
  const rows = ["supported", "partly", "unsupported", "conflicting"].map((verdict) => {
    const { sign, word, means } = VERDICTS[verdict];
    return el("li", el("span.chip", { class: verdict }, icon(sign), el("span", { text: word })), el("span.small", { text: means }));
  });
  return el("ul.legend", { "aria-label": "What the signs behind sentences mean" }, rows);
}

/** Nothing to ask yet. */
function bare(app) {
  if (!app.canEdit)
    return [
      el("h1", { text: "Nothing to ask yet" }),
      el("p.lead", { text: "This library has no documents that you may see. Whoever runs it can add some, or give your key more." }),
    ];
  return [
    el("h1", { text: "Start with your documents" }),
    el("p.lead", {
      text: "Drop files or a folder anywhere on this page: contracts, papers, manuals, mail, notes. They are read on this machine and stay on it. Then ask.",
    }),
    el("div.row.center", addButtons(app, () => app.go("/library"))),
  ];
}
