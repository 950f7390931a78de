/** A tab that is older than the service: the files of its pages are gone, and new ones are there. */
const key = 'parley.reloaded-at';
const AGAIN_MS = 60_000;

/** Loads the page anew when a part of it cannot be loaded, once a minute at most. */
export function reloadOnceWhenReplaced(): void {
  addEventListener('vite:preloadError', (event) => {
    if (!navigator.onLine) return;
    try {
      if (Date.now() - Number(sessionStorage.getItem(key) ?? 0) < AGAIN_MS) return;
      sessionStorage.setItem(key, String(Date.now()));
    } catch {
      return;
    }
    event.preventDefault();
    location.reload();
  });
}
