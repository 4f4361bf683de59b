// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// The page works without this script behind a proxy that authenticates users, and for the anonymous
// user. For others, it keeps the key of the login and sends it. It adds four more things: forms with
// data-search search as the user types, the key "/" moves the focus to the search, buttons with data-copy
// copy the command before them, and a main element with data-live is fetched again when the server
// reports a change of what it shows, and while it has data-follow.
"use strict";
(async () => {
  // The key of the cookie. Programs on other ports of this host get the cookie, but not this storage.
  const keyName = "pintle-key";
  const key = (() => {
    try {
      return localStorage.getItem(keyName);
    } catch {
      // The browser keeps nothing for this site. So there is no login.
      return null;
    }
  })();

  async function fetchPage(address, signal) {
    const answer = await fetch(address, {signal, headers: {Accept: "text/html", ...key && {"Pintle-Key": key}}});
    return {answer, page: new DOMParser().parseFromString(await answer.text(), "text/html")};
  }

  // unlock shows the page of the logged-in user in place of this one, which was requested without the
  // key: a browser does not send it when it opens a page.
  async function unlock(address) {
    const {page} = await fetchPage(address);
    const shown = page.getElementById("content");
    // The server does not accept the key.
    if (shown && "unlock" in shown.dataset) return localStorage.removeItem(keyName);
    if (!shown) throw new Error("no page");
    document.body.replaceWith(document.adoptNode(page.body));
    document.title = page.title;
    history.replaceState(null, "", address + location.hash);
    document.getElementById(location.hash.slice(1))?.scrollIntoView();
  }

  const sent = document.getElementById("content").dataset;
  let unanswered = false;
  if (key && "unlock" in sent) await unlock(sent.unlock || location.pathname + location.search).catch(() => { unanswered = true; });

  const main = document.getElementById("content");
  const live = document.getElementById("live");
  main.hidden = false;
  if (unanswered) report("The server does not answer. Load this page again.");

  function report(text) {
    live.classList.toggle("visually-hidden", !text);
    live.textContent = text;
  }

  // A login has a new key, which the server never keeps.
  main.querySelector("form[data-login]")?.addEventListener("submit", ({target: {elements}}) => {
    const bytes = crypto.getRandomValues(new Uint8Array(32));
    const made = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
    localStorage.setItem(keyName, made);
    elements.key.value = made;
  });

  // The request in flight, if there is one, and whether a change was reported since it was sent.
  let request = null, again = false;

  // put shows another version of this page. Nodes that both have stay, so that the focus, a half-typed
  // search, an open details element and the scroll position stay too.
  function put(page) {
    const shown = page.getElementById("content");
    if (!shown || main.isEqualNode(shown)) return false;
    const focused = document.activeElement;
    morph(main, shown);
    document.title = page.title;
    if (focused !== document.activeElement && main.contains(focused)) focused.focus({preventScroll: true});
    return true;
  }

  // morph changes an element into another one. An ID or data-key says which nodes are the same.
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
      const node = key ? keyed.get(key) : next;
      if (!node || node.nodeName !== wanted.nodeName || keyOf(node) !== key) {
        from.insertBefore(document.importNode(wanted, true), next);
        continue;
      }
      if (node === next) next = next.nextSibling;
      else from.insertBefore(node, next);
      if (node.isEqualNode(wanted)) continue;
      if (node.nodeType === Node.ELEMENT_NODE) morph(node, wanted);
      else node.nodeValue = wanted.nodeValue;
    }
    while (next) {
      const rest = next.nextSibling;
      next.remove();
      next = rest;
    }
  }

  function keyOf(node) {
    return node.nodeType === Node.ELEMENT_NODE ? node.id || node.dataset.key || "" : "";
  }

  // show fetches an address and shows it. It resolves to true if the page has changed.
  async function show(address) {
    if (request) request.abort();
    const mine = request = new AbortController();
    let changed = false, stale = false;
    try {
      const {answer, page} = await fetchPage(address, mine.signal);
      if (answer.redirected) return location.assign(answer.url);
      // From 429, the server is busy, and the present content is better than none.
      stale = answer.status >= 429;
      if (!stale && request === mine) changed = put(page);
    } catch {
      stale = true;
    }
    if (request !== mine) return false;
    request = null;
    report(stale ? "Not up to date: the server does not answer." : "");
    if (again) update();
    return changed;
  }

  // update shows this page again. Changes that are reported meanwhile are shown after it.
  async function update() {
    again = request !== null;
    if (!again && await show(location.href)) live.textContent = "Updated";
  }

  // Search as the user types.
  let timer = 0;
  function search(form) {
    clearTimeout(timer);
    const address = new URL(form.action);
    address.search = new URLSearchParams([...new FormData(form)].filter(([, value]) => value !== ""));
    history.replaceState(null, "", address);
    show(address);
  }
  const searches = (form) => form && "search" in form.dataset;
  main.addEventListener("input", ({target: {form}}) => {
    if (!searches(form)) return;
    clearTimeout(timer);
    timer = setTimeout(search, 200, form);
  });
  main.addEventListener("submit", (event) => {
    if (!searches(event.target)) return;
    event.preventDefault();
    search(event.target);
  });
  document.addEventListener("keydown", (event) => {
    const field = main.querySelector("form[data-search] input[type=search]");
    if (!field || event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("input, select, textarea")) return;
    event.preventDefault();
    field.select();
  });

  main.addEventListener("click", async ({target}) => {
    if (!("copy" in target.dataset)) return;
    const command = target.previousElementSibling;
    const copied = await navigator.clipboard?.writeText(command.textContent).then(() => true, () => false);
    // Without the right to write to the clipboard, the user copies the selection.
    if (!copied) getSelection().selectAllChildren(command);
    live.textContent = copied ? "Copied" : "Selected";
    target.textContent = live.textContent;
  });

  // Live updates. data-live has the beginnings of the paths that this page shows. A changed path that
  // ends with a slash means all paths below it.
  const within = (path, parent) => path.startsWith(parent.endsWith("/") ? parent : parent + "/");
  function concerns(changed) {
    return main.dataset.live.split(" ").some((shown) => changed.some((path) =>
      path === shown || within(path, shown) || (path.endsWith("/") && within(shown, path))));
  }
  let stream = null;
  // Only a visible page listens: a browser has few connections to a host.
  function listen() {
    if (stream) stream.close();
    stream = null;
    if (document.hidden) return;
    // A script cannot set headers of a stream.
    stream = new EventSource(key ? "/events?key=" + key : "/events");
    stream.addEventListener("changed", ({data}) => {
      if (concerns(JSON.parse(data))) update();
    });
    stream.addEventListener("error", ({target}) => {
      // The browser connects again unless the server has refused.
      if (target.readyState === EventSource.CLOSED) setTimeout(resume, 30_000);
    });
  }
  function resume() {
    listen();
    if (!document.hidden) update();
  }
  if (main.dataset.live) {
    document.addEventListener("visibilitychange", resume);
    listen();
    setInterval(() => {
      if ("follow" in main.dataset && !document.hidden && !request) update();
    }, 5_000);
  }
})();
