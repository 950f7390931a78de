/** The text of a sample without the comment about the reader's key. */
function sampleText(block) {
  const copy = block.cloneNode(true);
  copy.querySelector('.own-key')?.remove();
  return copy.textContent;
}

// Adds a copy button to each code block. Pages also work without it.
for (const block of navigator.clipboard ? document.querySelectorAll('pre') : []) {
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'copy';
  button.textContent = 'Copy';
  let back;
  button.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(sampleText(block));
      button.textContent = 'Copied';
    } catch {
      button.textContent = 'Not allowed';
    }
    clearTimeout(back);
    back = setTimeout(() => {
      button.textContent = 'Copy';
    }, 2000);
  });
  const frame = document.createElement('div');
  frame.className = 'code';
  block.before(frame);
  frame.append(block, button);
}

// Turns samples in several languages into tabs. The reader's choice applies to all samples and to the dashboard.
const choice = 'parley.samples';
/** The replacement for a language in which a group has no sample. */
const nearest = { sdk: 'javascript', javascript: 'sdk', openaiPython: 'python', openaiNode: 'javascript' };
const groups = [...document.querySelectorAll('.samples')].map(tabbed);

function chosen() {
  try {
    return localStorage.getItem(choice);
  } catch {
    return null;
  }
}

function show({ samples, tabs }, language) {
  const has = (name) => samples.some(({ dataset }) => dataset.language === name);
  const shown = [language, nearest[language], samples[0].dataset.language].find(has);
  for (const [place, sample] of samples.entries()) {
    const isShown = sample.dataset.language === shown;
    sample.hidden = !isShown;
    tabs[place].ariaSelected = String(isShown);
    tabs[place].tabIndex = isShown ? 0 : -1;
  }
}

/** Shows a language in all groups, without moving the clicked tab on the screen. */
function choose(tab, language) {
  try {
    localStorage.setItem(choice, language);
  } catch {
    // Storage is unavailable, so the choice applies only to this page.
  }
  const { top } = tab.getBoundingClientRect();
  for (const group of groups) show(group, language);
  scrollBy({ top: tab.getBoundingClientRect().top - top, behavior: 'instant' });
}

function tabbed(frame, number) {
  const samples = [...frame.children];
  const list = document.createElement('div');
  list.role = 'tablist';
  list.ariaLabel = 'Language';
  const tabs = samples.map((sample, place) => {
    const tab = document.createElement('button');
    tab.type = 'button';
    tab.role = 'tab';
    tab.id = `sample-tab-${number}-${place}`;
    tab.textContent = sample.querySelector('.language').textContent;
    sample.role = 'tabpanel';
    sample.id = `sample-${number}-${place}`;
    sample.setAttribute('aria-labelledby', tab.id);
    tab.setAttribute('aria-controls', sample.id);
    tab.addEventListener('click', () => choose(tab, sample.dataset.language));
    return tab;
  });
  list.addEventListener('keydown', (event) => {
    const { length } = tabs;
    const place = tabs.indexOf(event.target);
    const next = {
      ArrowRight: (place + 1) % length,
      ArrowLeft: (place + length - 1) % length,
      Home: 0,
      End: length - 1,
    }[event.key];
    if (next === undefined || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    tabs[next].focus({ preventScroll: true });
    tabs[next].click();
  });
  list.append(...tabs);
  frame.prepend(list);
  frame.classList.add('tabbed');
  const group = { samples, tabs };
  show(group, chosen());
  return group;
}

addEventListener('storage', ({ key, newValue }) => {
  if (key === choice) for (const group of groups) show(group, newValue);
});

// Scrolls the list beside the page to the current page.
const current = document.querySelector('.side [aria-current]');
if (current) {
  const side = current.closest('.side');
  side.scrollTop = current.offsetTop - side.clientHeight / 2;
}

// Copies the page as Markdown. If that is not possible, only the link beside the button remains.
for (const button of document.querySelectorAll('.copy-page')) {
  button.hidden = !navigator.clipboard;
  const notice = document.createElement('span');
  notice.role = 'status';
  button.closest('p').append(notice);
  const read = async () => {
    const response = await fetch(button.dataset.markdown);
    if (!response.ok) throw new Error(`The page could not be read: ${response.status}`);
    return new Blob([await response.text()], { type: 'text/plain' });
  };
  button.addEventListener('click', async () => {
    notice.textContent = '';
    try {
      // With a promise, Safari still treats this as part of the click.
      await navigator.clipboard.write([new ClipboardItem({ 'text/plain': read() })]);
      notice.textContent = 'Copied the page as Markdown.';
    } catch {
      notice.textContent = 'The page could not be copied. Open it as Markdown instead.';
    }
  });
}
