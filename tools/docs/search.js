// Searches the index of all pages, which search_index.js holds as [address, page, section, text].
// Runs from a file, without a server.
(() => {
  const input = document.getElementById('search');
  const results = document.getElementById('results');
  const entries = window.leatSearchIndex.map(([address, page, section, text]) => ({
    address, page, section, text,
    pageWords: page.toLowerCase(), sectionWords: section.toLowerCase(), words: text.toLowerCase(),
  }));

  // How well `text` contains a term: as a word, as the beginning of a word or within one.
  const match = (text, term) => {
    let best = 0;
    for (let at = text.indexOf(term); at >= 0 && best < 1; at = text.indexOf(term, at + 1)) {
      const begins = at === 0 || !/[a-z0-9]/.test(text[at - 1]);
      const ends = !/[a-z0-9]/.test(text[at + term.length] || ' ');
      best = Math.max(best, begins && ends ? 1 : begins ? 0.6 : 0.1);
    }
    return best;
  };

  // Guides come before the pages of classes, and these before lists and history.
  const weight = address =>
    /^(changelog|decisions_|upgrading|performance|results)|_8hpp|^(annotated|files|classes|hierarchy|documentation)\./.test(address) ? 0.3
      : /^(class|struct|namespace|concept)/.test(address) ? 0.7 : 1;

  // 0 if a term is missing, unless `any` is set.
  const score = (entry, terms, any) => {
    let sum = 0;
    for (const term of terms) {
      const text = match(entry.words, term);
      const section = match(entry.sectionWords, term);
      const page = match(entry.pageWords, term);
      if (!text && !section && !page && !any) return 0;
      const often = Math.min(entry.words.split(term).length, 6);
      if (text || section || page) sum += text * (3 + often) + section * 14 + page * 10;
      if (entry.sectionWords.replace(/\(\).*/, '') === term) sum += 30;
      if (entry.pageWords === term && !entry.section) sum += 90;
    }
    return sum * weight(entry.address);
  };

  const excerpt = (entry, terms) => {
    const at = Math.max(0, Math.min(...terms.map(t => entry.words.indexOf(t)).filter(i => i >= 0)) - 50);
    return (at > 0 ? '… ' : '') + entry.text.substr(Number.isFinite(at) ? at : 0, 160);
  };

  const show = () => {
    const terms = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    results.replaceChildren();
    results.hidden = terms.length === 0;
    if (results.hidden) return;
    const find = any => entries.map(entry => [score(entry, terms, any), entry]).filter(([s]) => s > 0)
      .sort((a, b) => b[0] - a[0]).slice(0, 25);
    let found = find(false);
    if (found.length === 0) found = find(true);
    for (const [, entry] of found) {
      const link = document.createElement('a');
      link.href = entry.address;
      const name = document.createElement('b');
      name.textContent = entry.section ? entry.page + ' › ' + entry.section : entry.page;
      const text = document.createElement('span');
      text.textContent = excerpt(entry, terms);
      link.append(name, text);
      results.append(link);
    }
    if (found.length === 0) results.textContent = 'No page contains one of these words.';
  };

  const move = step => {
    const links = [...results.querySelectorAll('a')];
    const at = links.indexOf(document.activeElement);
    (links[at + step] || (step < 0 ? input : links[links.length - 1]) || input).focus();
  };

  input.addEventListener('input', show);
  input.addEventListener('focus', show);
  document.addEventListener('click', event => {
    if (!results.contains(event.target) && event.target !== input) results.hidden = true;
    if (event.target.closest && event.target.closest('#results a')) results.hidden = true;
  });
  document.addEventListener('keydown', event => {
    if (event.key === '/' && document.activeElement !== input) {
      event.preventDefault();
      input.focus();
      input.select();
    } else if (event.key === 'Escape') {
      results.hidden = true;
      input.blur();
    } else if (!results.hidden && (event.key === 'ArrowDown' || event.key === 'ArrowUp')) {
      event.preventDefault();
      move(event.key === 'ArrowDown' ? 1 : -1);
    } else if (event.key === 'Enter' && document.activeElement === input) {
      const first = results.querySelector('a');
      if (first) first.click();
    }
  });

  // On a narrow window the contents are closed until they are asked for.
  const navigation = document.querySelector('.navigation');
  if (window.matchMedia('(max-width: 60rem)').matches) navigation.open = false;
  const here = location.pathname.split('/').pop() || 'index.html';
  const current = navigation.querySelector(`a[href="${here}"]`);
  if (current) {
    current.setAttribute('aria-current', 'page');
    const group = current.closest('details details, nav details');
    if (group) group.open = true;
  }
})();
