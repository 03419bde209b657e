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

  const fillers = new Set('a an the how what when where why which do does i my is are can may to of in on at by for with and or it'
    .split(' '));
  const synonyms = {docker: 'container', podman: 'container', oom: 'memory', ram: 'memory', ctrl: 'sigint'};

  // The search terms of an input: without fillers, each with its other forms.
  const termsOf = input => {
    const words = input.toLowerCase().split(/[\s?!,;]+/).filter(Boolean);
    const wanted = words.filter(word => !fillers.has(word));
    return (wanted.length ? wanted : words).map(word => {
      const stem = word.length > 4 ? word.replace(/(?:ing|ed|es|s)$/, '') : word;
      return [...new Set([word, stem.length > 2 ? stem : word, synonyms[word] || word])];
    });
  };
  const matchAny = (text, forms) => Math.max(...forms.map((form, i) => match(text, form) * (i ? 0.8 : 1)));

  // Guides come before the pages of classes, and these before lists and history.
  const weight = address =>
    /^(changelog|decisions_|upgrading|performance|results)|_8hpp|^(annotated|files|classes|hierarchy|documentation)\./.test(address) ? 0.3
      : /^(class|struct|namespace|concept)/.test(address) ? 0.7 : 1;

  // 0 if a term is missing, unless `any` is set.
  const score = (entry, terms, any) => {
    let sum = 0;
    let inTitle = 0;
    for (const forms of terms) {
      const term = forms[0];
      const text = matchAny(entry.words, forms);
      const section = matchAny(entry.sectionWords, forms);
      const page = matchAny(entry.pageWords, forms);
      if (page > 0.5) inTitle += 1;
      if (!text && !section && !page && !any) return 0;
      const often = Math.min(entry.words.split(term).length, 6);
      if (text || section || page) sum += text * (3 + often) + section * 14 + page * 10;
      if (entry.sectionWords.replace(/\(\).*/, '') === term) sum += /^(class|struct|namespace)/.test(entry.address) ? 30 : 8;
      if (entry.pageWords === term && !entry.section) sum += 90;
    }
    if (inTitle === terms.length && !entry.section) sum += 35;
    return sum * weight(entry.address);
  };

  const excerpt = (entry, terms) => {
    const places = terms.flat().map(form => entry.words.indexOf(form)).filter(i => i >= 0);
    const first = places.length ? Math.max(0, Math.min(...places) - 50) : 0;
    const begin = first > 0 ? entry.text.indexOf(' ', first) + 1 : 0;
    const end = entry.text.length > begin + 160 ? entry.text.lastIndexOf(' ', begin + 160) : entry.text.length;
    return (begin > 0 ? '… ' : '') + entry.text.slice(begin, end) + (end < entry.text.length ? ' …' : '');
  };

  const show = () => {
    const terms = termsOf(input.value);
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
  const list = /^(class|struct|concept)/.test(here) ? 'annotated.html' : /_8hpp/.test(here) ? 'files.html' : here;
  const current = navigation.querySelector(`a[href="${list}"]`);
  if (current) {
    current.setAttribute('aria-current', 'page');
    const group = current.closest('details details, nav details');
    if (group) group.open = true;
    current.scrollIntoView({block: 'nearest'});
  }
})();
