// The job form: the payload as a form made from its task's schema, and the schedule with what it means, while typing.
//
// The textareas hold the truth. What is drawn writes into them, and reads from them when it is drawn anew.
"use strict";
(function () {
  const { make, field, group, showFaults } = window.punctualFields;
  const PAUSE = 250; // milliseconds without a key before the preview is asked for

  function parsed(text, fallback) {
    if (text.trim() === "") return fallback;
    try { return JSON.parse(text); } catch { return undefined; }
  }

  function readJson(id) {
    const element = document.getElementById(id);
    return element ? JSON.parse(element.textContent) : {};
  }

  function press(buttons, chosen) {
    for (const one of buttons) one.setAttribute("aria-pressed", String(one === chosen));
  }

  // The list of errors that the server wrote is taken away once each of them stands beside its part.
  function tookOver(editor) {
    const lists = editor.closest(".grow, [data-field]");
    for (const list of lists ? lists.querySelectorAll("ul.errorlist") : []) list.hidden = true;
  }

  function payloadEditor(editor) {
    const area = editor.querySelector("textarea");
    const drawn = editor.querySelector("[data-drawn]");
    const plain = editor.querySelector("[data-plain]");
    const fault = editor.querySelector("[data-fault]");
    const buttons = [...editor.querySelectorAll("[data-view]")];
    const task = document.getElementById("id_task");
    const schemas = readJson("payload-schemas");
    let faults = readJson("payload-faults");
    let shown = null;

    function say(text) { fault.textContent = text; fault.hidden = !text; }

    function write() {
      try {
        area.value = JSON.stringify(shown.read(), null, 2);
        say("");
      } catch {
        say("One of the fields for JSON is not JSON yet.");
      }
    }

    function view(name) {
      if (name === "form") {
        const schema = schemas[task.value];
        const value = parsed(area.value, {});
        if (!schema || value === undefined || value === null || typeof value !== "object" || Array.isArray(value)) {
          if (schema) say("This is no JSON object, so it cannot be shown as a form. Correct it here.");
          name = "json";
        } else {
          shown = group(schema, schema, value, "", write);
          drawn.replaceChildren(...(schema.description ? [make("p", { class: "p-hint" }, schema.description)] : []), shown.element);
          const left = showFaults(shown.fields, faults);
          if (Object.keys(faults).length && !Object.keys(left).length) tookOver(editor);
          say("");
        }
      }
      drawn.hidden = name !== "form";
      plain.hidden = name === "form";
      press(buttons, buttons.find((one) => one.dataset.view === name));
    }

    for (const one of buttons) one.addEventListener("click", () => view(one.dataset.view));
    task.addEventListener("change", () => { faults = {}; view("form"); write(); });
    if (["", "null"].includes(area.value.trim())) area.value = "{}";
    view("form");
  }

  const KINDS = {
    now: {},
    once: { run_at: { type: "instant", title: "At", required: true } },
    interval: {
      seconds: { type: "integer", minimum: 1, title: "Every so many seconds", required: true, description: "60 is a minute, 3600 an hour, 86400 a day." },
      start_at: { type: "instant", title: "First run", more: true }, end_at: { type: "instant", title: "No run after", more: true },
      max_runs: { type: "integer", minimum: 1, title: "At most so many runs", more: true },
      jitter: { type: "integer", minimum: 0, title: "Jitter, seconds", more: true, description: "Each run starts up to so much later, so that not all jobs start together." },
    },
    cron: {
      expression: { type: "cron", title: "Expression", required: true, description: "Minute, hour, day, month, weekday. H picks a minute of the job's own, so that not all start together." },
      timezone: { type: "zone", title: "Time zone" },
      start_at: { type: "instant", title: "No run before", more: true }, end_at: { type: "instant", title: "No run after", more: true },
      max_runs: { type: "integer", minimum: 1, title: "At most so many runs", more: true },
      jitter: { type: "integer", minimum: 0, title: "Jitter, seconds", more: true },
      on_gap: { enum: ["run_once", "skip"], title: "A time that the clocks skip", more: true },
      on_repeat: { enum: ["run_once", "run_twice", "skip"], title: "A time that comes twice", more: true },
    },
  };
  const FIRST = { now: {}, once: {}, interval: { seconds: 3600 }, cron: { expression: "0 9 * * 1-5", timezone: Intl.DateTimeFormat().resolvedOptions().timeZone } };

  function scheduleEditor(editor) {
    const area = editor.querySelector("textarea");
    const drawn = editor.querySelector("[data-drawn]");
    const plain = editor.querySelector("[data-plain]");
    const fault = editor.querySelector("[data-fault]");
    const preview = editor.querySelector("[data-preview]");
    const kinds = editor.querySelector("[data-kinds]");
    const buttons = [...kinds.querySelectorAll("[data-kind]")];
    const token = document.querySelector("[name=csrfmiddlewaretoken]").value;
    let parts = [];
    let kind = "json";
    let waiting = null;
    let asked = 0;

    function instant(name, about, value) {
      const one = field(name, { type: "string", format: "instant", title: about.title, maxLength: 40, description: about.description || "In your own time zone." }, {}, about.required, undefined, name, write);
      one.input.type = "datetime-local";
      one.input.step = "1";
      if (value) {
        const at = new Date(value);
        if (!Number.isNaN(at.getTime())) one.input.value = new Date(at.getTime() - at.getTimezoneOffset() * 60000).toISOString().slice(0, 19);
      }
      const before = one.input.value;
      one.read = () => (one.input.value === "" ? undefined : one.input.value === before && value ? value : new Date(one.input.value).toISOString().replace(/\.000Z$/, "Z"));
      return one;
    }

    function draw(value) {
      parts = Object.entries(KINDS[kind]).map(([name, about]) => {
        let one;
        if (about.type === "instant") one = instant(name, about, value[name]);
        else if (about.type === "cron" || about.type === "zone") {
          one = field(name, { type: "string", maxLength: 200, title: about.title, description: about.description }, {}, about.required, value[name], name, write);
          if (about.type === "cron") one.input.classList.add("p-cron");
          else { one.input.setAttribute("list", "zone-names"); one.input.placeholder = "UTC"; }
          one.input.spellcheck = false;
        } else one = field(name, about, {}, about.required, value[name], name, write);
        return [name, about, one];
      });
      const usual = parts.filter(([, about]) => !about.more).map(([, , one]) => one.element);
      const rare = parts.filter(([, about]) => about.more);
      drawn.replaceChildren(...usual);
      if (rare.length) {
        const used = rare.some(([name]) => value[name] !== undefined);
        drawn.append(make("details", { class: "p-more", open: used }, make("summary", {}, "Start, end, jitter and more"), make("div", { class: "p-fields" }, ...rare.map(([, , one]) => one.element))));
      }
      if (kind === "now") drawn.replaceChildren(make("p", { class: "p-empty" }, "It runs once, as soon as it is saved."));
    }

    function show(name, value) {
      kind = name;
      if (name !== "json") draw(value);
      drawn.hidden = name === "json";
      plain.hidden = name !== "json";
      press(buttons, buttons.find((one) => one.dataset.kind === name));
    }

    function write() {
      const schedule = { type: kind };
      for (const [name, , one] of parts) {
        const value = one.read();
        if (value !== undefined) schedule[name] = value;
      }
      area.value = JSON.stringify(schedule, null, 2);
      soon();
    }

    function soon() {
      clearTimeout(waiting);
      preview.classList.add("p-stale");
      waiting = setTimeout(look, PAUSE);
    }

    function tell(faults) {
      const left = kind === "json" ? faults : showFaults(parts.map(([, , one]) => one), faults);
      const [text] = Object.entries(left).map(([name, message]) => (kind === "json" && name !== "schedule" ? `${name}: ${message}` : message));
      fault.textContent = text || "";
      fault.hidden = !text;
    }

    async function look() {
      const mine = ++asked;
      const body = new URLSearchParams({ schedule: area.value });
      let answer;
      try {
        const response = await fetch(editor.dataset.previewUrl, { method: "POST", headers: { "X-CSRFToken": token }, body });
        answer = await response.json();
      } catch {
        answer = { faults: { schedule: "The server cannot be reached, so there is no preview now." } };
      }
      if (mine !== asked) return; // somebody has typed on
      tell(answer.faults);
      if (answer.drawn === undefined) {
        preview.replaceChildren(make("p", { class: "p-empty" }, "No preview: see what is said beside the field."));
      } else {
        preview.innerHTML = answer.drawn;
        window.punctualTimes(preview);
        if (answer.first && kind !== "now") load(answer.first, mine);
      }
      preview.classList.remove("p-stale");
    }

    async function load(at, mine) {
      try {
        const response = await fetch(`${editor.dataset.loadUrl}?${new URLSearchParams({ at })}`);
        const answer = await response.json();
        const place = preview.querySelector("[data-load]");
        if (mine === asked && place) place.textContent = answer.said;
      } catch { /* the preview is worth as much without it */ }
    }

    for (const one of buttons) {
      one.addEventListener("click", () => {
        const present = parsed(area.value, {}) || {};
        const name = one.dataset.kind;
        if (name === "json") show("json");
        else { show(name, present.type === name ? present : FIRST[name]); write(); }
      });
    }
    area.addEventListener("input", soon);
    kinds.hidden = false;
    const present = ["", "null", "{}"].includes(area.value.trim()) ? { type: "now" } : parsed(area.value, {});
    if (present && KINDS[present.type]) {
      show(present.type, present);
      if (Object.keys(present).some((name) => name !== "type" && !(name in KINDS[present.type]))) show("json");
    }
    const faults = readJson("schedule-faults");
    if (Object.keys(faults).length) { tell(faults); tookOver(editor); }
    look();
  }

  for (const editor of document.querySelectorAll("[data-payload-editor]")) payloadEditor(editor);
  for (const editor of document.querySelectorAll("[data-schedule-editor]")) scheduleEditor(editor);
})();
