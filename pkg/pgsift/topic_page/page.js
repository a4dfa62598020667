// Text of documents is only ever written as text: textContent, never as markup.
(function () {
  'use strict';
  const data = JSON.parse(document.getElementById('data').textContent);
  const documents = data.documents;
  const map = document.getElementById('map');
  const points = document.getElementById('points');
  const tip = document.getElementById('tip');
  const figure = map.parentNode;
  const find = document.getElementById('find');
  const buttons = document.querySelectorAll('h2 button');
  const circles = [];
  points.querySelectorAll('circle').forEach((circle) => { circles[Number(circle.dataset.n)] = circle; });
  let topic = null;  // the only one shown in colour
  let at = -1;       // the document told of

  function line(kind, text) {
    const element = document.createElement(kind);
    element.textContent = text;
    return element;
  }

  function leave() {
    if (at >= 0) circles[at].classList.remove('at');
    at = -1;
    tip.hidden = true;
  }

  function show(n) {
    leave();
    at = n;
    const told = documents[n];
    circles[n].classList.add('at');
    const lines = [line('b', told.t || told.k), line('span', data.topics[told.c])];
    if (told.t) lines.splice(1, 0, line('span', told.k));
    tip.replaceChildren(...lines);
    tip.hidden = false;
    const point = circles[n].getBoundingClientRect();
    const frame = figure.getBoundingClientRect();
    let x = point.right - frame.left + 8;
    let y = point.bottom - frame.top + 8;
    if (x + tip.offsetWidth > frame.width) x = Math.max(0, point.left - frame.left - 8 - tip.offsetWidth);
    if (y + tip.offsetHeight > map.clientHeight) y = Math.max(0, point.top - frame.top - 8 - tip.offsetHeight);
    tip.style.left = x + 'px';
    tip.style.top = y + 'px';
  }

  function mark(test) {
    circles.forEach((circle, n) => circle.classList.toggle('on', test(documents[n])));
    points.classList.add('dim');
  }

  function narrow(text) {
    document.querySelectorAll('article').forEach((article) => {
      article.hidden = text !== '' && !article.textContent.toLowerCase().includes(text);
    });
  }

  function only(wanted) {
    topic = wanted;
    find.value = '';
    narrow('');
    leave();
    buttons.forEach((button) => {
      button.setAttribute('aria-pressed', String(topic !== null && Number(button.dataset.topic) === topic));
    });
    if (topic === null) points.classList.remove('dim');
    else mark((told) => told.c === topic);
  }

  function numberOf(event) {
    const n = event.target.dataset ? event.target.dataset.n : undefined;
    return n === undefined ? -1 : Number(n);
  }

  function step(by, toNextTopic) {
    let n = at;
    for (let tries = documents.length; tries > 0; tries -= 1) {
      n = (n + by + documents.length) % documents.length;
      const seen = !points.classList.contains('dim') || circles[n].classList.contains('on');
      if (seen && !(toNextTopic && at >= 0 && documents[n].c === documents[at].c)) {
        show(n);
        return;
      }
    }
  }

  map.addEventListener('pointermove', (event) => {
    const n = numberOf(event);
    if (n >= 0) show(n);
    else if (document.activeElement !== map) leave();
  });
  map.addEventListener('pointerleave', () => { if (document.activeElement !== map) leave(); });
  map.addEventListener('click', (event) => {
    const n = numberOf(event);
    if (n >= 0) only(documents[n].c === topic ? null : documents[n].c);
  });
  map.addEventListener('blur', leave);
  map.addEventListener('keydown', (event) => {
    const key = event.key;
    if (key === 'ArrowRight' || key === 'ArrowDown') step(1, false);
    else if (key === 'ArrowLeft' || key === 'ArrowUp') step(at < 0 ? 0 : -1, false);
    else if (key === 'PageDown') step(1, true);
    else if (key === 'PageUp') step(at < 0 ? 0 : -1, true);
    else if (key === 'Enter' && at >= 0) only(documents[at].c === topic ? null : documents[at].c);
    else if (key === 'Escape') leave();
    else return;
    event.preventDefault();
  });
  document.getElementById('topics').addEventListener('click', (event) => {
    const button = event.target.closest('h2 button');
    const link = event.target.closest('a');
    if (button) only(Number(button.dataset.topic) === topic ? null : Number(button.dataset.topic));
    if (link) {
      event.preventDefault();
      map.focus();
      show(Number(link.dataset.n));
    }
  });
  document.getElementById('all').addEventListener('click', () => only(null));
  find.addEventListener('input', () => {
    const text = find.value.trim().toLowerCase();
    narrow(text);
    if (text === '') only(null);
    else mark((told) => [told.t || '', told.k, data.topics[told.c]].join(' ').toLowerCase().includes(text));
  });
})();
