// The pages' only script: times in the reader's zone, light or dark, and updates in place each second.
// Without it every page still works; it is then as old as its last reload.
"use strict";

// --- times ---------------------------------------------------------------------------------------------------------

const FORMS = {
  second: new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" }),
  minute: new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" }),
  full: new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium" }),
};
const UNITS = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];

function distance(seconds) {
  const length = Math.abs(seconds);
  const [size, unit] = UNITS.find(([size]) => length >= size) || UNITS[3];
  const told = `${Math.floor(length / size)} ${unit}`;
  return seconds > 0.5 ? `in ${told}` : length < 1 ? "now" : `${told} ago`;
}

// The server's clock is the one that counts: what is "in 3 s" must not depend on the reader's.
let skew = 0;

function writeTimes(root) {
  const now = Date.now() + skew;
  for (const time of root.querySelectorAll("time[data-form]")) {
    const at = new Date(time.dateTime);
    const text = time.dataset.form === "ago" ? distance((at - now) / 1000) : FORMS[time.dataset.form].format(at);
    if (time.textContent !== text) time.textContent = text;
  }
  for (const tooltip of root.querySelectorAll("title[data-at]")) {
    const at = new Date(1000 * tooltip.dataset.at);
    tooltip.textContent = FORMS[tooltip.dataset.form].format(at) + tooltip.textContent.replace(/^.*? UTC/, "");
    delete tooltip.dataset.at; // once: the text after it may have a time of its own
  }
}

// --- light and dark ------------------------------------------------------------------------------------------------

function setUpTheme() {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  for (const button of document.querySelectorAll("[data-theme-toggle]")) {
    button.hidden = false;
    button.addEventListener("click", () => {
      const root = document.documentElement;
      const now = root.dataset.theme || (dark.matches ? "dark" : "light");
      root.dataset.theme = now === "dark" ? "light" : "dark";
      document.cookie = `theme=${root.dataset.theme};path=/;max-age=31536000;samesite=lax`;
    });
  }
}

// --- changing a page in place --------------------------------------------------------------------------------------

// What has the same key, or failing that the same place and tag, is the same element: it keeps focus and scroll.
function morph(old, fresh) {
  const keyed = new Map();
  for (const child of old.children) if (child.id) keyed.set(child.id, child);
  let place = old.firstChild;
  for (const wanted of [...fresh.childNodes]) {
    let here = wanted.id && keyed.get(wanted.id);
    if (here) {
      if (here !== place) old.insertBefore(here, place);
      else place = place.nextSibling;
    } else if (place && place.nodeType === wanted.nodeType && place.nodeName === wanted.nodeName && !(place.id || wanted.id)) {
      here = place;
      place = place.nextSibling;
    } else {
      old.insertBefore(document.importNode(wanted, true), place);
      continue;
    }
    if (here.nodeType !== Node.ELEMENT_NODE) {
      if (here.nodeValue !== wanted.nodeValue) here.nodeValue = wanted.nodeValue;
    } else if (!here.isEqualNode(wanted) && !("kept" in here.dataset)) {
      morphAttributes(here, wanted);
      morph(here, wanted);
    }
  }
  while (place) {
    const next = place.nextSibling;
    place.remove();
    place = next;
  }
}

function morphAttributes(old, fresh) {
  for (const { name } of [...old.attributes]) {
    // What a person has opened stays open.
    if (!fresh.hasAttribute(name) && !(name === "open" && old.nodeName === "DETAILS")) old.removeAttribute(name);
  }
  for (const { name, value } of fresh.attributes) {
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
}

// --- updates -------------------------------------------------------------------------------------------------------

const EVERY = 1000, LONGEST = 15000;
const CALM = 60, CALM_EVERY = 5000; // after so many answers without a change, the page is asked for less often

const NO_ACCESS = "No access to this page any more";
const REFUSALS = {
  401: "Signed out. Sign in again in another tab.",
  403: NO_ACCESS,
  404: NO_ACCESS,
  409: "Another tenant was chosen in another tab.",
};

class Live {
  constructor(main) {
    this.main = main;
    this.mark = null;
    this.failures = 0;
    this.unchanged = 0;
    this.timer = 0;
    this.busy = false;
    document.addEventListener("visibilitychange", () => (document.hidden ? this.pause() : this.soon(0)));
    this.say("live", "Live");
    // As in the fragments to come: what they do not have would be taken out of its form, beside what has the focus.
    for (const token of main.querySelectorAll("[name=csrfmiddlewaretoken]")) token.remove();
    if (document.hidden) this.pause();
    else this.soon(EVERY);
  }

  soon(delay) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.fetch(), delay);
  }

  pause() {
    clearTimeout(this.timer);
    this.say("paused", "Paused");
  }

  say(state, text) {
    for (const output of document.querySelectorAll("[data-live-state]")) {
      output.dataset.liveState = state;
      if (output.textContent !== text) output.textContent = text;
    }
    this.state = [state, text];
  }

  async fetch() {
    if (this.busy) return;
    this.busy = true;
    let trouble = "Reconnecting …";
    try {
      const address = new URL(location.href);
      address.searchParams.set("live", this.main.dataset.live); // the tenant that the page was drawn for
      const headers = this.mark ? { "If-None-Match": this.mark } : {};
      const patience = AbortSignal.timeout ? AbortSignal.timeout(LONGEST) : undefined;
      const answer = await fetch(address, { headers, cache: "no-store", signal: patience });
      if (answer.status in REFUSALS) {
        if (!hasInput(this.main)) return location.reload();
        trouble = REFUSALS[answer.status];
      }
      const date = Date.parse(answer.headers.get("Date"));
      if (date && Math.abs(date - Date.now()) > 3000) skew = date - Date.now();
      if (answer.status === 200) {
        const text = await answer.text();
        this.mark = answer.headers.get("ETag");
        this.show(text);
        this.unchanged = 0;
      } else if (answer.status === 304) {
        this.unchanged += 1;
      } else {
        throw new Error(`answered with ${answer.status}`);
      }
      this.failures = 0;
      this.say("live", "Live");
    } catch {
      this.failures += 1;
      this.say("lost", trouble);
    } finally {
      this.busy = false;
    }
    if (document.hidden) this.pause();
    else this.soon(this.delay());
  }

  delay() {
    if (this.failures) return Math.min(LONGEST, EVERY * 2 ** Math.min(this.failures, 4));
    return this.unchanged < CALM ? EVERY : CALM_EVERY;
  }

  show(text) {
    const parsed = new DOMParser().parseFromString(`<main>${text}</main>`, "text/html");
    const fresh = parsed.querySelector("main");
    writeTimes(fresh);
    for (const output of fresh.querySelectorAll("[data-live-state]")) {
      [output.dataset.liveState, output.textContent] = this.state;
    }
    fresh.prepend(...[...this.main.querySelectorAll(":scope > [data-message]")].map((message) => message.cloneNode(true)));
    // Whoever looks at the end of a log goes on looking at its end.
    const followed = [...this.main.querySelectorAll("[data-follows]")].filter(atEnd).map((log) => log.id);
    morph(this.main, fresh);
    for (const id of followed) toEnd(document.getElementById(id));
  }
}

// Whether a text was typed and not sent: a reload would lose it.
function hasInput(root) {
  return [...root.querySelectorAll("textarea")].some((field) => field.value !== field.defaultValue);
}

function atEnd(log) {
  return log.scrollTop + log.clientHeight >= log.scrollHeight - 4;
}

function toEnd(log) {
  if (log) log.scrollTop = log.scrollHeight;
}

// --- the rest ------------------------------------------------------------------------------------------------------

// A choice made with the pointer sends its form. With the keyboard each arrow key is a choice: the form is sent with its
// button, which is shown then.
let byKey = false;
document.addEventListener("keydown", () => (byKey = true), true);
document.addEventListener("pointerdown", () => (byKey = false), true);
document.addEventListener("change", (event) => {
  if (!event.target.matches("[data-submits]")) return;
  if (byKey) for (const button of event.target.form.querySelectorAll("[data-by-key]")) button.hidden = false;
  else event.target.form.requestSubmit();
});

// The answer to a form that is not to be sent again: reloading it asks for the page alone.
if (document.querySelector("[data-once]")) history.replaceState(null, "", location.href);

document.addEventListener("submit", (event) => {
  const question = event.submitter && event.submitter.dataset.asks;
  if (question && !confirm(question)) event.preventDefault();
  else if (event.target.method === "post") {
    addToken(event.target);
    if (event.target.querySelector("textarea")) sendIfSignedIn(event);
  }
});

// A form with a text is sent only while the session lasts: the answer would be the sign-in page, and the text be lost.
const SIGNED_OUT = "Not sent: you are signed out. Sign in again in another tab, then send the form again.";
const NO_ANSWER = "Not sent: the server does not answer. Try again in a moment.";
const checked = new WeakSet();

async function sendIfSignedIn(event) {
  const { target: form, submitter } = event;
  if (checked.delete(form)) return;
  event.preventDefault();
  // Asked with GET, the form's address leads to its page, or answers 401.
  const asked = fetch(`${form.action}?live`, { cache: "no-store", redirect: "manual" });
  const trouble = await asked.then((answer) => answer.status === 401 && SIGNED_OUT, () => NO_ANSWER);
  if (trouble) return alert(trouble);
  addToken(form); // that of whoever has signed in meanwhile
  checked.add(form);
  form.requestSubmit(submitter);
}

// The cookie has the token that counts: that of the page itself is outdated once somebody has signed in anew, and what
// the page is updated with has none.
function addToken(form) {
  const token = document.cookie.split("; ").find((cookie) => cookie.startsWith("csrftoken="));
  if (!token) return;
  let field = form.elements.namedItem("csrfmiddlewaretoken");
  if (!field) {
    field = document.createElement("input");
    field.type = "hidden";
    field.name = "csrfmiddlewaretoken";
    form.append(field);
  }
  field.value = token.slice("csrftoken=".length);
}

// What was done is told for a while; what was refused stays until it is dismissed.
const MESSAGE_SHOWN = 10000;

function setUpMessages() {
  for (const button of document.querySelectorAll("[data-dismiss]")) button.hidden = false;
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-dismiss]");
    if (button) button.closest("[data-message]").remove();
  });
  setTimeout(() => {
    for (const message of document.querySelectorAll(".success[data-message]")) message.remove();
  }, MESSAGE_SHOWN);
}

for (const button of document.querySelectorAll("[data-by-key]")) button.hidden = true;
setUpMessages();
setUpTheme();
writeTimes(document);
setInterval(() => document.hidden || writeTimes(document), 1000);
document.querySelectorAll("[data-follows]").forEach(toEnd);
const main = document.querySelector("main[data-live]");
if (main) new Live(main);
