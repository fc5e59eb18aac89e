// Draws a form from a JSON Schema and reads the value back from it.
//
// What a schema says that this cannot draw is a field for JSON of its own: nothing is left out, and nothing is guessed.
"use strict";
window.punctualFields = (function () {
  let number = 0;
  const LONG = 200; // characters: longer texts get more than a line

  function make(tag, attributes, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value === true) element.setAttribute(name, "");
      else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
    }
    element.append(...children.filter((child) => child !== null && child !== undefined));
    return element;
  }

  function resolved(schema, root) {
    if (schema.$ref) {
      const found = schema.$ref.replace("#/", "").split("/").reduce((part, step) => part && part[step], root);
      return { ...found, ...schema, $ref: undefined };
    }
    if (schema.allOf && schema.allOf.length === 1) return { ...resolved(schema.allOf[0], root), ...schema, allOf: undefined };
    const some = schema.anyOf || schema.oneOf;
    if (some) {
      const others = some.filter((one) => one.type !== "null");
      if (others.length === 1) return { ...resolved(others[0], root), ...schema, anyOf: undefined, oneOf: undefined, nullable: some.length > 1 };
    }
    return schema;
  }

  function titled(name, schema) {
    return schema.title && schema.title.toLowerCase() !== name.replace(/_/g, " ") ? schema.title : name.replace(/_/g, " ").replace(/^./, (letter) => letter.toUpperCase());
  }

  // A field knows its element, how to read its value (undefined: left out), and how to show a fault.
  function field(name, schema, root, required, value, path, changed) {
    schema = resolved(schema, root);
    const id = `drawn-${++number}`;
    const told = make("p", { class: "p-fault", role: "alert", id: `${id}-fault`, hidden: true });
    const hint = schema.description ? make("p", { class: "p-hint", id: `${id}-hint` }, schema.description) : null;
    const label = make("label", { for: id, class: required ? "p-required" : null }, titled(name, schema));
    const described = [hint && hint.id, told.id].filter(Boolean).join(" ");
    const common = { id, class: "p-input", "aria-describedby": described, "data-path": path, required: null };
    let input, read, element;

    if (schema.type === "object" && schema.properties) {
      const inner = group(schema, root, value && typeof value === "object" ? value : {}, path, changed);
      element = make("fieldset", { class: "p-group" }, make("legend", { class: "p-legend" }, titled(name, schema)), hint, inner.element, told);
      return { element, path, faults: inner, told, read: () => { const it = inner.read(); return !required && Object.keys(it).length === 0 ? undefined : it; }, fields: inner.fields };
    }
    const choices = schema.enum || (schema.const !== undefined ? [schema.const] : null);
    if (choices) {
      input = make("select", common, ...(required && value !== undefined ? [] : [make("option", { value: "" }, required ? "Choose …" : "Default")]),
        ...choices.map((one, place) => make("option", { value: String(place), selected: one === value }, String(one))));
      read = () => (input.value === "" ? undefined : choices[Number(input.value)]);
    } else if (schema.type === "boolean") {
      const start = value === undefined ? schema.default : value;
      input = make("select", common, make("option", { value: "" }, `Default${schema.default === undefined || schema.default === null ? "" : `: ${schema.default ? "yes" : "no"}`}`),
        make("option", { value: "true", selected: value === true }, "Yes"), make("option", { value: "false", selected: value === false }, "No"));
      if (value === undefined && required) input.value = String(Boolean(start));
      read = () => (input.value === "" ? undefined : input.value === "true");
    } else if (schema.type === "integer" || schema.type === "number") {
      input = make("input", { ...common, type: "number", step: schema.type === "integer" ? 1 : "any", min: schema.minimum ?? schema.exclusiveMinimum, max: schema.maximum ?? schema.exclusiveMaximum, value: value ?? "", placeholder: schema.default ?? "" });
      read = () => (input.value === "" ? undefined : Number(input.value));
    } else if (schema.type === "array" && ["string", "integer", "number"].includes(resolved(schema.items || {}, root).type) && !resolved(schema.items, root).enum) {
      const kind = resolved(schema.items, root).type;
      const lines = value === undefined || value === null ? [] : Array.isArray(value) ? value : [value];
      input = make("textarea", { ...common, rows: Math.min(8, Math.max(2, lines.length + 1)) });
      input.value = lines.map(String).join("\n");
      label.append(make("span", { class: "p-dimmed" }, " one a line"));
      read = () => {
        const found = input.value.split("\n").map((line) => line.trim()).filter(Boolean);
        return found.length ? found.map((line) => (kind === "string" || Number.isNaN(Number(line)) ? line : Number(line))) : undefined;
      };
    } else if (schema.type === "string") {
      const long = (schema.maxLength === undefined || schema.maxLength > 2000) && !schema.format && (required || name === "html" || name === "body" || String(value || "").length > LONG || /body|text|html|message|content|template|query|script/i.test(name));
      const types = { email: "email", uri: "url" };
      input = long ? make("textarea", { ...common, rows: required ? 4 : 2 }) : make("input", { ...common, type: schema.writeOnly || schema.format === "password" ? "password" : types[schema.format] || "text", placeholder: schema.default ?? "", autocomplete: "off" });
      input.value = value ?? "";
      const wasEmpty = value === "";
      read = () => (input.value === "" && !wasEmpty ? undefined : input.value);
    } else {
      input = make("textarea", { ...common, class: "p-input p-mono", rows: 3, spellcheck: "false", placeholder: "JSON" });
      input.value = value === undefined ? "" : JSON.stringify(value, null, 2);
      label.append(make("span", { class: "p-dimmed" }, " JSON"));
      read = () => (input.value.trim() === "" ? undefined : JSON.parse(input.value));
    }
    input.addEventListener("input", changed);
    input.addEventListener("change", changed);
    element = make("div", { class: "p-field" }, label, input, hint, told);
    return { element, path, input, told, read };
  }

  function group(schema, root, value, prefix, changed) {
    const required = new Set(schema.required || []);
    const fields = Object.entries(schema.properties || {}).map(([name, one]) => [name, field(name, one, root, required.has(name), value[name], prefix ? `${prefix}.${name}` : name, changed)]);
    const known = new Set(Object.keys(schema.properties || {}));
    const others = Object.fromEntries(Object.entries(value).filter(([name]) => !known.has(name)));
    const element = make("div", {}, ...fields.map(([, one]) => one.element));
    if (schema.additionalProperties !== false || Object.keys(others).length) {
      const open = field(fields.length ? "other parts" : "contents", { description: fields.length ? "Anything else, as JSON." : "Any JSON object." }, root, false, Object.keys(others).length ? others : undefined, prefix, changed);
      if (schema.additionalProperties || Object.keys(others).length || !fields.length) {
        element.append(open.element);
        fields.push(["", open]);
      }
    }
    return {
      element,
      fields: fields.map(([, one]) => one),
      read() {
        const found = {};
        for (const [name, one] of fields) {
          const value = one.read();
          if (value === undefined) continue;
          if (name === "") Object.assign(found, value);
          else found[name] = value;
        }
        return found;
      },
    };
  }

  function everyField(fields) {
    return fields.flatMap((one) => [one, ...(one.fields ? everyField(one.fields) : [])]);
  }

  // Show each fault beside its field; return those that no field is there for.
  function showFaults(fields, faults) {
    const left = { ...faults };
    for (const one of everyField(fields)) {
      const mine = Object.keys(left).find((path) => path === one.path || (one.input && path.startsWith(`${one.path}.`)));
      one.told.hidden = mine === undefined;
      one.told.textContent = mine === undefined ? "" : left[mine];
      if (one.input) one.input.setAttribute("aria-invalid", String(mine !== undefined));
      if (mine !== undefined) delete left[mine];
    }
    return left;
  }

  return { make, field, group, showFaults };
})();
