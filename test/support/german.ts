/** The dashboard in German: every state fits, and no text is in English. */
import type { Locator, Page } from 'playwright-core';
import type { Test } from 'tap';
import { scopes } from '../../schemas/keys.ts';
import { startDashboard } from './dashboard-pages.ts';
import type { Walk } from './dashboard-walk.ts';
import type { Owner } from './http.ts';
import type { TestService } from './service.ts';
import { MODEL } from './upstream/client.ts';

type Texts = { [key: string]: string | Texts };

// The path is not a literal, because the dashboard is compiled with the DOM types, and tests are not.
async function textsIn(language: 'en' | 'de'): Promise<Map<string, string>> {
  const file = new URL(`../../src/dashboard/texts/${language}.ts`, import.meta.url).href;
  const { apiErrors, default: texts } = (await import(file)) as { apiErrors: Texts; default: Texts };
  return new Map([...textsOf(texts), ...textsOf(apiErrors, 'apiErrors.')]);
}

const textsOf = (texts: Texts, above = ''): [string, string][] =>
  Object.entries(texts).flatMap(([name, text]) =>
    typeof text === 'string' ? [[above + name, text]] : textsOf(text, `${above}${name}.`),
  );

/** The words of a text, in lower case. Skips addresses, paths, and file names, which are the same in every language. */
const wordsOf = (text: string): string[] =>
  text
    .replaceAll(/\S+/g, (word) => (/[/@]|\w\.\w/.test(word) ? ' ' : word))
    .toLowerCase()
    .match(/\p{L}{2,}/gu) ?? [];

const relative = (language: string, sign: 1 | -1) =>
  (['day', 'hour', 'minute', 'month', 'second', 'week', 'year'] as const).map((unit) =>
    new Intl.RelativeTimeFormat(language).format(2 * sign, unit),
  );
const months = (language: string, month: 'long' | 'short') =>
  Array.from({ length: 12 }, (_, index) =>
    new Intl.DateTimeFormat(language, { month }).format(new Date(2026, index, 1)),
  );
/** Dates and times as `Intl` formats them. */
const dates = (language: string): string[] => [
  ...[...relative(language, 1), ...relative(language, -1)],
  ...[...months(language, 'long'), ...months(language, 'short')],
];

const english = await textsIn('en');
/** German texts that differ from the English ones. */
const translated = [...(await textsIn('de'))].filter(([key, text]) => text !== english.get(key));
const germanWords = new Set([...translated.map(([, text]) => text), ...dates('de')].flatMap(wordsOf));
const englishWords = new Set([
  ...[...english.values(), ...dates('en')].flatMap(wordsOf).filter((word) => !germanWords.has(word)),
  ...['and', 'are', 'for', 'from', 'is', 'it', 'not', 'of', 'or', 'the', 'this', 'to', 'with', 'your'],
]);

/** Suggested questions stay in English, because the guides that answer them are in English. */
const questions = ['createKey', 'quota', 'browser'].map((name) => english.get(`chat.suggestions.${name}`));

/** Names that are the same in every language. */
const scopeNames = new Set<string>(scopes);
const names = new RegExp(`${MODEL}(-small)?|\\b(Free|Upstreams?)\\b|^English$|^Mozilla/.*`, 'gi');

/** All text that users read or hear, except code. */
const readTexts = `(() => {
  const others = 'script, noscript, style, pre, code';
  const found = [document.title];
  const nodes = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (nodes.nextNode())
    if (!nodes.currentNode.parentElement.closest(others)) found.push(nodes.currentNode.data);
  for (const one of document.querySelectorAll('body *'))
    for (const name of ['alt', 'aria-description', 'aria-label', 'aria-valuetext', 'placeholder', 'title'])
      if (one.hasAttribute(name)) found.push(one.getAttribute(name));
  return [...new Set(found.map((text) => text.trim()))];
})()`;

const englishOf = async (page: Page): Promise<string[]> =>
  (await page.evaluate<string[]>(readTexts)).filter(
    (text) =>
      !scopeNames.has(text) &&
      !questions.includes(text) &&
      wordsOf(text.replaceAll(names, '')).some((word) => englishWords.has(word)),
  );

/** Returns a function that checks a state as `look` does, and that no label is cut off and no text is in English. */
export function germanLook({ atBothSizes, labelsFit, look, page }: Walk) {
  return async (t: Test, name: string, at?: Locator): Promise<void> => {
    await look(t, `german-${name}`, at);
    await labelsFit(t, name);
    await atBothSizes(async (size) =>
      t.same(await englishOf(page), [], `${name}, ${size}: no text is in English`),
    );
  };
}

/** Starts the dashboard in German, as `startDashboard` does. `see` checks a state. */
export async function startGermanDashboard(
  t: Test,
  path: string,
  env: Record<string, string> = {},
  newOwner?: (service: TestService) => Promise<Owner>,
) {
  const dashboard = await startDashboard(t, path, env, newOwner, 'de');
  return { ...dashboard, see: germanLook(dashboard) };
}
