// The header of every page.

// Applies the stored theme and session of the dashboard before the first paint. The reader can change the theme.
(() => {
  const key = 'mantine-color-scheme-value';
  const themes = {
    auto: { next: 'light', label: 'Theme: System. Change to Light.' },
    light: { next: 'dark', label: 'Theme: Light. Change to Dark.' },
    dark: { next: 'auto', label: 'Theme: Dark. Change to System.' },
  };

  function stored(name) {
    try {
      return localStorage.getItem(name);
    } catch {
      return null;
    }
  }

  function show(theme) {
    document.documentElement.dataset.theme = theme !== null && Object.hasOwn(themes, theme) ? theme : 'auto';
    const button = document.querySelector('.frame .theme');
    if (button) button.ariaLabel = themes[document.documentElement.dataset.theme].label;
  }

  function showSections() {
    const { dataset } = document.documentElement;
    dataset.session = stored('parley.session') === 'in' ? 'in' : 'out';
    dataset.operator = String(stored('parley.operator') === 'true');
  }

  show(stored(key));
  showSections();
  addEventListener('storage', (event) => {
    if (event.key === key) show(event.newValue);
    showSections();
  });

  addEventListener('DOMContentLoaded', () => {
    show(stored(key));
    document.querySelector('.frame .theme').addEventListener('click', () => {
      const { next } = themes[document.documentElement.dataset.theme];
      try {
        localStorage.setItem(key, next);
      } catch {
        // Storage is unavailable, so the choice lasts until the page closes.
      }
      show(next);
    });
  });
})();

// Ctrl+K, ⌘K, and / focus the search field.
addEventListener('keydown', (event) => {
  const { altKey, ctrlKey, key, metaKey, shiftKey, target } = event;
  const isSlash =
    key === '/' && !ctrlKey && !metaKey && !altKey && !target.closest('input, textarea, [contenteditable]');
  const isCommand = key.toLowerCase() === 'k' && (ctrlKey || metaKey) && !altKey && !shiftKey;
  // Dialogs keep the focus.
  if ((!isSlash && !isCommand) || target.closest('[role=dialog]')) return;
  event.preventDefault();
  const field = document.querySelector('form.search input');
  field?.focus();
  field?.select();
});
