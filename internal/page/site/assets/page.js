// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// The page works without this script. It adds two things: forms with data-search search as the user
// types, and a main element with data-live is fetched again when the server reports a change.
"use strict";
(() => {
  const main = document.getElementById("content");
  const live = document.getElementById("live");
  let latest = 0, timer = 0, stream = null;

  const keyOf = (node) => node.nodeType === 1 ? (node.id || node.dataset.key || "") : "";

  // morph changes an element into another one. Nodes that both have stay, so that the focus, the
  // selection, a half-typed search, an open details element and the scroll position stay too.
  function morph(from, to) {
    for (const {name} of [...from.attributes]) {
      if (!to.hasAttribute(name) && name !== "open") from.removeAttribute(name);
    }
    for (const {name, value} of to.attributes) {
      if (from.getAttribute(name) !== value && name !== "open") from.setAttribute(name, value);
    }
    const keyed = new Map([...from.children].filter(keyOf).map((child) => [keyOf(child), child]));
    let next = from.firstChild;
    for (const wanted of [...to.childNodes]) {
      const key = keyOf(wanted);
      let node = key ? keyed.get(key) : next;
      if (!node || node.nodeName !== wanted.nodeName || keyOf(node) !== key) {
        from.insertBefore(document.importNode(wanted, true), next);
        continue;
      }
      if (node === next) next = next.nextSibling;
      else from.insertBefore(node, next);
      if (node.isEqualNode(wanted)) continue;
      if (node.nodeType === 1) morph(node, wanted);
      else node.nodeValue = wanted.nodeValue;
    }
    while (next) {
      const rest = next.nextSibling;
      next.remove();
      next = rest;
    }
  }

  // refresh fetches an address and shows it in place of the present one.
  async function refresh(address, message) {
    const mine = ++latest;
    const answer = await fetch(address, {headers: {Accept: "text/html"}}).catch(() => null);
    if (!answer || mine !== latest) return;
    if (answer.redirected) return location.assign(answer.url);
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const shown = page.getElementById("content");
    if (!shown || mine !== latest) return;
    const focused = document.activeElement;
    morph(main, shown);
    document.title = page.title;
    if (focused !== document.activeElement && main.contains(focused)) focused.focus({preventScroll: true});
    if (message) live.textContent = message;
  }

  function search(form) {
    const fields = [...new FormData(form)].filter(([, value]) => value !== "");
    const query = new URLSearchParams(fields).toString();
    history.replaceState(null, "", location.pathname + (query ? "?" + query : ""));
    refresh(location.href);
  }

  for (const kind of ["input", "change"]) {
    main.addEventListener(kind, (event) => {
      const form = event.target.form;
      if (!form || !("search" in form.dataset)) return;
      clearTimeout(timer);
      timer = setTimeout(search, kind === "input" ? 200 : 0, form);
    });
  }

  // concerns reports whether one of the changed paths is shown by this page. A list shows all.
  const lists = ["/", "/operations", "/sources"];
  const concerns = (paths) => paths.some((path) => path === "*" || path === location.pathname || lists.includes(location.pathname));

  // Only a visible page listens: a browser has few connections to a host.
  function listen() {
    if (document.hidden) {
      if (stream) stream.close();
      stream = null;
    } else if (!stream) {
      stream = new EventSource("/events");
      stream.addEventListener("changed", (event) => {
        const paths = JSON.parse(event.data);
        if (concerns(paths)) refresh(location.href, "Updated.");
      });
    }
  }
  if ("live" in main.dataset) {
    document.addEventListener("visibilitychange", () => {
      listen();
      if (!document.hidden) refresh(location.href);
    });
    listen();
  }
})();
