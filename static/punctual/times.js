// Adds to every instant on a page what the reader's own clock shows, and how far away it is.
"use strict";
(function () {
  const own = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
  const weekday = new Intl.DateTimeFormat("en", { weekday: "short" });
  const short = new Intl.DateTimeFormat("sv-SE", { dateStyle: "short", timeStyle: "medium" }); // as on the rest of the page
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const words = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
  const UNITS = [["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];

  function away(at) {
    const seconds = Math.round((at - Date.now()) / 1000);
    const [unit, size] = UNITS.find(([, size]) => Math.abs(seconds) >= size) || ["second", 1];
    return words.format(Math.trunc(seconds / size), unit);
  }

  function tell(root) {
    for (const time of root.querySelectorAll("time[datetime]")) {
      const at = new Date(time.getAttribute("datetime"));
      if (Number.isNaN(at.getTime())) continue;
      if (time.hasAttribute("data-yours")) time.textContent = `${weekday.format(at)} ${short.format(at).replace(/:00$/, "")}`;
      if (time.hasAttribute("data-in")) time.textContent = away(at);
      time.title = `${own.format(at)} in ${zone}, ${away(at)}`;
    }
  }

  window.punctualTimes = tell;
  tell(document);
  setInterval(() => {
    if (!document.hidden) for (const time of document.querySelectorAll("time[data-in]")) time.textContent = away(new Date(time.getAttribute("datetime")));
  }, 1000);
})();
