// What Unfold's pages lack for whoever uses a screen reader or a keyboard: landmarks, and switches that are buttons.
"use strict";
document.addEventListener("DOMContentLoaded", () => {
  const main = document.getElementById("main") || document.getElementById("page");
  if (main) main.setAttribute("role", "main");

  for (const icon of document.querySelectorAll("span.material-symbols-outlined")) {
    const act = icon.getAttribute("x-on:click") || "";
    if (!act.includes("sidebar")) continue;
    icon.setAttribute("role", "button");
    icon.setAttribute("tabindex", "0");
    icon.setAttribute("aria-label", "Show or hide the navigation");
    icon.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") { event.preventDefault(); icon.click(); }
    });
  }
});
window.addEventListener("load", () => {
  for (const [place, region] of document.querySelectorAll(".simplebar-content-wrapper").entries()) {
    region.setAttribute("aria-label", region.closest("nav") ? "Navigation entries" : `List ${place || ""}`.trim());
  }
});
