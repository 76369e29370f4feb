/** Evaluation: questions whose answers are known, and runs over them. */

import * as api from "./api.js";
import { MODES } from "./composer.js";
import { progress, suggested, troubled } from "./documents.js";
import { button, confirmed, dialog, el, emptyState, failed, field, fill, form, icon, loading, notice } from "./dom.js";
import * as report from "./report.js";
import { ago, duration, line, plural } from "./text.js";

/** @param {HTMLElement} root @param {import("./app.js").App} app */
export function mount(root, app) {
  return app.route.id ? report.mount(root, app) : new Evaluation(root, app).end;
}

/** A run that goes on outlives the view. */
let running = /** @type {{job: string, at: any, problems: any[]} | null} */ (null);

class Evaluation {
  /** @param {HTMLElement} root @param {import("./app.js").App} app */
  constructor(root, app) {
    Object.assign(this, { root, app, cases: [], runs: [], chosen: new Set(), stop: new AbortController() });
    this.end = () => this.stop.abort();
    this.body = el("div.stack", loading("Reading the cases …"));
    fill(
      root,
      el(
        "div.page",
        el("header.page-head", el("div", el("h1", { text: "Evaluation" }), el("p", { text: "Ask questions whose answers you know, and see at which stage answers are lost." }))),
        this.body,
      ),
    );
    this.load();
  }

  async load() {
    try {
      const { signal } = this.stop;
      const [{ cases }, { evaluations }] = await Promise.all([api.get("/v1/cases", {}, signal), api.get("/v1/evaluations", {}, signal)]);
      this.cases = cases;
      this.runs = evaluations;
      this.draw();
      await this.adopt();
    } catch (failure) {
      troubled(this.body, failure, () => this.load(), this.stop.signal);
    }
  }

  /** Take up a run that goes on, as after a reload. */
  async adopt() {
    if (running) return this.follow();
    const { jobs } = await api.get("/v1/jobs", {}, this.stop.signal);
    const going = (jobs || []).find((job) => job.kind === "evaluate" && ["queued", "running"].includes(job.state));
    if (going) running = { job: going.id, at: going, problems: [] };
    return running && this.follow();
  }

  draw() {
    this.runner = el("div");
    fill(this.body, this.caseSection(), this.runner, this.runSection());
  }

  // --- cases

  caseSection() {
    const { app, cases } = this;
    const tools = app.canEdit && el("div.row", button("Add a case", { icon: "plus", on: () => this.edit(null) }), button("Import", { icon: "upload", kind: "quiet", on: () => this.import() }), cases.length > 0 && button("Export", { icon: "download", kind: "quiet", on: () => this.export() }));
    if (!cases.length) {
      return el("section.card", emptyState("evaluation", "No cases yet", el("p", { text: "A case is a question, and what a right answer says or where it stands. Twenty of your own questions tell more about your documents than any benchmark." }), tools));
    }
    return el(
      "section.card.stack", { "aria-labelledby": "cases" },
      el(
        "div.row.spread",
        el("h2", { id: "cases", text: plural(cases.length, "case") }),
        el("div.row", button("Run with the model’s answers", { kind: "quiet", on: () => this.run(false), title: "Slower: the language model writes each answer" }), button("Run", { icon: "send", kind: "primary", on: () => this.run(true) })),
      ),
      el("ul.cases", cases.map((one, at) => this.caseRow(one, at))),
      tools,
    );
  }

  caseRow(one, at) {
    const expected = one.answerable === false ? "the documents do not answer it" : [one.answers?.join(" / "), one.quote && `“${one.quote}”`].filter(Boolean).join(" · ");
    return el(
      "li",
      el("div.grow", el("p", { dir: "auto", text: line(one.question, 300) }), el("p.small.muted", el("bdi", { text: line(expected, 200) }), one.uri && [" · ", el("bdi", { text: line(one.uri.split("/").pop() || one.uri, 80) })])),
      this.app.canEdit && [button(`Edit: ${line(one.question, 60)}`, { icon: "edit", bare: true, kind: "quiet", on: () => this.edit(at) }), button(`Remove: ${line(one.question, 60)}`, { icon: "trash", bare: true, kind: "quiet", on: () => this.drop(at) })],
    );
  }

  /** Edit a case, or make one. @param {number | null} at */
  async edit(at) {
    const one = at === null ? { question: "", answers: [], uri: "", quote: "", answerable: true } : this.cases[at];
    const edited = await dialog(at === null ? "A new case" : "Edit the case", (close) => [caseForm(one, close)]);
    if (!edited) return;
    const cases = [...this.cases];
    if (at === null) cases.push(edited);
    else cases[at] = { ...(one.id ? { id: one.id } : {}), ...edited };
    await this.keep(cases);
  }

  async drop(at) {
    if (await confirmed("Remove this case?", `“${line(this.cases[at].question, 200)}” is no longer asked. Runs that asked it stay as they are.`, "Remove")) {
      await this.keep(this.cases.filter((_, n) => n !== at));
    }
  }

  async keep(cases) {
    const kept = await this.app.tried(api.put("/v1/cases", { cases }));
    if (!kept) return;
    this.cases = kept.cases;
    this.draw();
    this.app.say(plural(this.cases.length, "case"));
  }

  export() {
    const lines = this.cases.map(({ id, question, answers, uri, quote, answerable }) => JSON.stringify({ id, question, ...(answers?.length ? { answers } : {}), ...(uri ? { source: uri } : {}), ...(quote ? { quote } : {}), ...(answerable === false ? { answerable } : {}) }));
    api.save(new Blob([`${lines.join("\n")}\n`], { type: "application/jsonl" }), "cases.jsonl");
  }

  /** Read JSON lines as `pincite cases` writes them. */
  import() {
    const input = /** @type {HTMLInputElement} */ (el("input", { type: "file", accept: ".jsonl,.json,.txt" }));
    input.addEventListener("change", async () => {
      const [file] = input.files || [];
      if (!file) return;
      try {
        const rows = (await file.text()).split("\n").filter((row) => row.trim()).map((row) => JSON.parse(row));
        await this.keep([...this.cases, ...rows.map(ofFile)]);
      } catch {
        this.app.toast("This file is not made of JSON lines, each with a “question”.", "error");
      }
    });
    input.click();
  }

  // --- runs

  async run(extract) {
    if (running) return;
    try {
      const cases = this.cases.map(({ question, answers, uri, quote, answerable }) => ({ question, answers: answers || [], uri: uri || "", quote: quote || "", answerable: answerable !== false }));
      const { job } = await api.post("/v1/evaluate", { cases, extract });
      running = { job: job.id, at: {}, problems: [] };
    } catch (failure) {
      fill(this.runner, failed(failure));
      return;
    }
    await this.follow();
  }

  /** Show how far the run is, then open its report. */
  async follow() {
    const now = running;
    const bar = progress("Questions asked");
    const words = el("p.small", { text: "Starting …" });
    fill(this.runner, el("section.card.stack", { "aria-label": "The run" }, el("div.row.spread", words, button("Cancel", { icon: "close", kind: "quiet", on: () => api.del(`/v1/jobs/${encodeURIComponent(now.job)}`).catch(() => {}) })), bar.node));
    const show = (at) => {
      now.at = at;
      bar.set(at.files_found ? at.files / at.files_found : null);
      words.textContent = at.files_found ? `Asked ${at.files} of ${plural(at.files_found, "question")}${at.left_seconds ? ` · about ${duration(Math.ceil(at.left_seconds))} left` : ""}` : "Starting …";
    };
    show(now.at);
    let last = null;
    try {
      await api.stream(`/v1/jobs/${encodeURIComponent(now.job)}`, { signal: this.stop.signal, on: (name, data) => (name === "done" ? (last = data) : name === "progress" && show(data)) });
    } catch (failure) {
      if (failure.name === "AbortError") return; // the view is gone; the run goes on
      running = null;
      fill(this.runner, failed(failure));
      return;
    }
    running = null;
    this.ended(last);
  }

  ended(job) {
    if (job?.evaluation) {
      this.app.say("The run is done.");
      this.app.go(`/evaluation/${encodeURIComponent(job.evaluation)}`);
    } else if (job?.state === "cancelled") fill(this.runner, notice("info", "The run was stopped."));
    else fill(this.runner, notice("error", job?.error?.message || "The run ended without a report.", { fix: job?.error?.fix, live: true }));
  }

  runSection() {
    const { runs } = this;
    if (!runs.length) return null;
    const compare = button("Compare two", { icon: "conflict", disabled: true, on: () => {
      const [later, earlier] = runs.filter((run) => this.chosen.has(run.id)).map((run) => run.id);
      this.app.go(`/evaluation/${encodeURIComponent(later)}?against=${encodeURIComponent(earlier)}`);
    } });
    const choose = (run) => el("input", { type: "checkbox", "aria-label": `Compare the run ${line(run.name, 60)}, ${ago(run.started)}`, on: { change: (event) => {
      if (event.target.checked) this.chosen.add(run.id);
      else this.chosen.delete(run.id);
      compare.disabled = this.chosen.size !== 2;
    } } });
    return el(
      "section.card.stack", { "aria-labelledby": "runs" },
      el("div.row.spread", el("h2", { id: "runs", text: "Runs" }), runs.length > 1 && compare),
      el(
        "div.scroll-x",
        el(
          "table.table",
          el("thead", el("tr", runs.length > 1 && el("th", { scope: "col" }, el("span.visually-hidden", { text: "Compare" })), ["Run", "Right", "Answers", "Search"].map((words) => el("th", { scope: "col", text: words })), el("th", { scope: "col" }, el("span.visually-hidden", { text: "Remove" })))),
          el("tbody", runs.map((run) => el(
            "tr",
            runs.length > 1 && el("td", choose(run)),
            el("th", { scope: "row" }, el("a", { href: `#/evaluation/${encodeURIComponent(run.id)}`, text: ago(run.started) || "Run" }), el("span.small.muted", { text: ` ${plural(run.questions, "question")}, ${duration(run.seconds || 0)}` })),
            el("td", { text: share(run.right, run.questions) }),
            el("td", { text: run.generator === "extractive" ? "quotes" : line(run.generator, 40) }),
            el("td", { text: MODES[run.mode] || run.mode }),
            el("td.number", this.app.canEdit && button(`Remove the run of ${ago(run.started)}`, { icon: "trash", bare: true, kind: "quiet", on: () => this.dropRun(run) })),
          ))),
        ),
      ),
    );
  }

  async dropRun(run) {
    if (!(await confirmed("Remove this run?", "Its report is deleted. The cases stay.", "Remove"))) return;
    if (!(await this.app.tried(api.del(`/v1/evaluations/${encodeURIComponent(run.id)}`)))) return;
    this.runs = this.runs.filter((each) => each !== run);
    this.chosen.delete(run.id);
    this.draw();
  }
}

/** @param {number} right @param {number} all */
export const share = (right, all) => (all ? `${right} of ${all} (${Math.round((100 * right) / all)} %)` : "none asked");

/** A row of a file of cases, as the page has it. */
function ofFile(row) {
  if (typeof row.question !== "string") throw new TypeError("a case has a question");
  const answers = row.answers || (row.answer ? [row.answer] : []);
  return { ...(row.id ? { id: String(row.id) } : {}), question: row.question, answers, uri: row.source || row.uri || "", quote: row.quote || "", answerable: row.answerable !== false };
}

/** The form of a case. @param {any} one @param {(value: any) => void} close */
function caseForm(one, close) {
  const question = el("textarea.input", { id: "case-question", rows: 2, required: true, text: one.question, dir: "auto" });
  const answers = el("textarea.input", { id: "case-answers", rows: 2, text: (one.answers || []).join("\n"), dir: "auto" });
  const [source, list] = suggested(el("input.input", { id: "case-source", value: one.uri || "" }), (document) => document.uri);
  const quote = el("textarea.input", { id: "case-quote", rows: 2, text: one.quote || "", dir: "auto" });
  const none = /** @type {HTMLInputElement} */ (el("input", { type: "checkbox", id: "case-none" }));
  none.checked = one.answerable === false;
  const gold = el("div.stack", field("What a right answer says (one a line; each is right by itself)", answers), field("The document that says it", source), list, field("Its words there (optional)", quote));
  const toggle = () => (gold.hidden = none.checked);
  none.addEventListener("change", toggle);
  toggle();
  const problem = el("p.problem", { role: "alert", hidden: true });
  const submit = () => {
    const edited = { question: question.value.trim(), answers: none.checked ? [] : answers.value.split("\n").map((words) => words.trim()).filter(Boolean), uri: none.checked ? "" : source.value.trim(), quote: none.checked ? "" : quote.value, answerable: !none.checked };
    const complete = none.checked || edited.uri;
    problem.hidden = Boolean(complete && edited.question);
    problem.textContent = edited.question ? "Name the document that says it, or tick that none does." : "Write a question.";
    if (complete && edited.question) close(edited);
  };
  const tick = el("label.tick", { for: "case-none" }, none, "The documents do not answer it");
  return form("Save", [field("Question", question), tick, gold, problem], submit, button("Cancel", { on: () => close(null) }));
}
