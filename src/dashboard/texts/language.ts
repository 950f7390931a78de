/**
 * The language of the page, and its texts. Components call `t` directly: when the language changes, `main.tsx` renders
 * all of them again (docs/decisions/0035-languages.md).
 */
import { type _Translator, createTranslator } from 'use-intl/core';
import type { ApiErrors } from './api-errors.ts';
import en, { apiErrors as englishErrors } from './en.ts';
import type { Texts } from './texts.ts';

type Translate = _Translator<typeof en>;
export type TextKey = Parameters<Translate['has']>[0];

/** Each language under its native name. */
export const languageNames = { en: 'English', de: 'Deutsch' } as const;

export type Language = keyof typeof languageNames;

export const languages = Object.keys(languageNames) as Language[];

type TextsFile = { default: Texts; apiErrors: ApiErrors };

/** English is part of the bundle, because it also replaces a language whose file cannot load. */
const files: Record<Exclude<Language, 'en'>, () => Promise<TextsFile>> = {
  de: () => import('./de.ts'),
};

const storageKey = 'parley.language';

const isLanguage = (text: string | null): text is Language =>
  text !== null && Object.hasOwn(languageNames, text);

const translatorFor = (language: Language, texts: Texts) =>
  createTranslator({ locale: language, messages: texts as typeof en });

export let language: Language = 'en';

/** Translates a key. `t.rich` inserts components into sentences. */
export let t: Translate = translatorFor('en', en);

/** The messages of API errors in this language. The API itself returns English. */
export let apiErrors: Readonly<Record<string, string | undefined>> = englishErrors;

/** The chosen language, or else the first supported language of the browser, or else English. */
export function preferredLanguage(): Language {
  let stored: string | null = null;
  try {
    stored = localStorage.getItem(storageKey);
  } catch {
    // Storage is unavailable.
  }
  if (isLanguage(stored)) return stored;
  return navigator.languages.map((tag) => tag.split('-')[0] ?? '').find(isLanguage) ?? 'en';
}

/** Changes the language of the page. Keeps the current language if the file cannot load. */
export async function loadLanguage(wanted: Language): Promise<void> {
  try {
    const { apiErrors: errors, default: texts } =
      wanted === 'en' ? { apiErrors: englishErrors, default: en } : await files[wanted]();
    t = translatorFor(wanted, texts);
    apiErrors = errors;
    language = wanted;
  } catch {
    // The network failed, or the service was updated. A reload tries again.
  }
  document.documentElement.lang = language;
}

const listeners = new Set<() => void>();

/** @param listener - called after the language has changed */
export const onLanguageChange = (listener: () => void): void => void listeners.add(listener);

async function change(wanted: Language): Promise<void> {
  await loadLanguage(wanted);
  for (const listener of listeners) listener();
}

/** Changes the language, and stores it for later visits. */
export function chooseLanguage(wanted: Language): Promise<void> {
  try {
    localStorage.setItem(storageKey, wanted);
  } catch {
    // Storage is unavailable, so the choice lasts until the page closes.
  }
  return change(wanted);
}

/** Applies a choice in another tab. */
export function followOtherTabs(): void {
  addEventListener('storage', ({ key }) => {
    if (key === storageKey) void change(preferredLanguage());
  });
}

/**
 * Caches one value per language. Use it for `Intl` formatters, which are slow to create.
 *
 * @returns a function that returns the value for the current language
 */
export function perLanguage<T>(make: (language: Language) => T): () => T {
  const made = new Map<Language, T>();
  return () => {
    const earlier = made.get(language);
    if (earlier !== undefined) return earlier;
    const created = make(language);
    made.set(language, created);
    return created;
  };
}
