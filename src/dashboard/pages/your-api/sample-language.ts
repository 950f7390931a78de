/** The language of samples, which the documentation shares (`src/docs/page.js`). */
import { useSyncExternalStore } from 'react';
import { type Language, languageNames } from './examples.ts';

const key = 'parley.samples';
const listeners = new Set<() => void>();

const languageOf = (value: string | null): Language => languageNames.find((name) => name === value) ?? 'curl';

function remembered(): Language {
  try {
    return languageOf(localStorage.getItem(key));
  } catch {
    return 'curl';
  }
}

let chosen = remembered();

function show(language: Language): void {
  chosen = language;
  for (const listener of listeners) listener();
}

/** Shows a language in all samples, in the dashboard and in the documentation. */
export function chooseSampleLanguage(value: string | null): void {
  const language = languageOf(value);
  try {
    localStorage.setItem(key, language);
  } catch {
    // Storage is unavailable, so the choice lasts until the page closes.
  }
  show(language);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export const useSampleLanguage = (): Language => useSyncExternalStore(subscribe, () => chosen);

addEventListener('storage', (event) => {
  if (event.key === key) show(languageOf(event.newValue));
});
