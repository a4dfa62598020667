// Marking without a new page, keys, and the same hit shown in all columns. The page works without this.
"use strict";
(() => {
  const status = document.getElementById("status");
  const say = (text) => { status.textContent = text; };

  // Marking

  async function mark(form, button) {
    const data = new URLSearchParams(new FormData(form));
    data.set("grade", button.value);
    let answer;
    try {
      answer = await fetch(form.action, {
        method: "POST", body: data, headers: { Accept: "application/json" }, credentials: "omit", redirect: "error",
      });
    } catch {
      say("Not marked: pgsift browse does not answer. Is it still running?");
      return;
    }
    let told = {};
    try { told = await answer.json(); } catch { /* plain text */ }
    if (!answer.ok) {
      say(`Not marked: ${told.message || answer.status}. ${told.hint || ""}`);
      return;
    }
    const taken = button.value === "none";
    for (const other of document.querySelectorAll(`form.judge-form[data-chunk="${form.dataset.chunk}"] button`)) {
      if (other.value === "none") other.hidden = taken;
      else other.setAttribute("aria-pressed", String(!taken && other.value === button.value));
    }
    if (taken && document.activeElement === document.body) form.querySelector("button").focus();
    say(taken ? "Mark taken back." : `Marked ${button.value}: ${button.textContent.replace(/^\s*\d\s*/, "").trim()}.`);
  }

  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (form.matches("form.judge-form") && event.submitter) {
      event.preventDefault();
      mark(form, event.submitter);
    }
  });

  // The same hit in all columns

  function light(chunk) {
    for (const hit of document.querySelectorAll(".hit")) hit.classList.toggle("same", chunk !== undefined && hit.dataset.chunk === chunk);
  }
  const chunkOf = (node) => node instanceof Element ? node.closest(".hit")?.dataset.chunk : undefined;
  document.addEventListener("pointerover", (event) => light(chunkOf(event.target)));
  document.addEventListener("focusin", (event) => light(chunkOf(event.target)));

  // Keys

  const hits = () => [...document.querySelectorAll(".fused .hit")];
  const current = () => document.activeElement?.closest(".hit");

  function move(step) {
    const all = hits();
    if (!all.length) return;
    const own = current();
    let at = all.findIndex((hit) => own && hit.dataset.chunk === own.dataset.chunk);
    at = at < 0 ? (step > 0 ? 0 : all.length - 1) : Math.min(all.length - 1, Math.max(0, at + step));
    all[at].querySelector("a.key").focus();
    all[at].scrollIntoView({ block: "nearest" });
  }

  function press(value) {
    const own = current();
    const scope = own ? document.getElementById(`c${own.dataset.chunk}`) : document.querySelector("main.evidence");
    const button = scope?.querySelector(`form.judge-form button[value="${value}"]`);
    if (button && !button.hidden) button.form.requestSubmit(button);
    else if (hits().length) say("Choose a hit first, with j and k.");
  }

  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey || event.isComposing) return;
    const field = event.target.closest("input, select, textarea");
    if (event.key === "Escape" && field) { field.blur(); return; }
    if (field) return;
    const back = document.getElementById("back");
    if (event.key === "/") {
      const query = document.getElementById("q");
      if (query) { query.focus(); query.select(); } else back?.click();
    } else if (event.key === "j") move(1);
    else if (event.key === "k") move(-1);
    else if (/^[0-3]$/.test(event.key)) press(event.key);
    else if (event.key === "x") press("none");
    else if ((event.key === "u" || event.key === "Escape") && back) back.click();
    else return;
    event.preventDefault();
  });

  // Coming back to a hit; once the browser has gone to it, which takes the focus from everything.
  const target = location.hash.startsWith("#c") ? document.getElementById(location.hash.slice(1)) : null;
  addEventListener("load", () => setTimeout(() => target?.querySelector("a.key")?.focus(), 0));
})();
