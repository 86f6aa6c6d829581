// The choice of colours, before anything is drawn. It is no module, so that it runs at once.
(() => {
  const choices = ['system', 'light', 'dark'];
  const key = 'eideticker-theme';
  const chosen = () => {
    try {
      return localStorage.getItem(key) ?? 'system';
    } catch {
      return 'system'; // storage may be forbidden
    }
  };
  const apply = (/** @type {string} */ theme) => {
    document.documentElement.style.colorScheme = theme === 'system' ? '' : theme;
    document.documentElement.dataset.theme = theme;
    const button = document.getElementById('theme');
    if (button) {
      button.textContent = theme === 'system' ? 'auto' : theme;
      button.setAttribute('aria-label', `${button.textContent} colours`);
    }
    dispatchEvent(new Event('themechange'));
  };
  const next = () => {
    const theme = choices[(choices.indexOf(chosen()) + 1) % choices.length];
    try {
      localStorage.setItem(key, theme);
    } catch {
      // it holds until the page is left
    }
    apply(theme);
  };
  apply(chosen());
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => dispatchEvent(new Event('themechange')));
  addEventListener('DOMContentLoaded', () => {
    apply(chosen());
    document.getElementById('theme')?.addEventListener('click', next);
  });
  addEventListener('nexttheme', next);
})();
