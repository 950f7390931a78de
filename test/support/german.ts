/** The dashboard in German: each state fits, and nothing that it says is English. */
import type { Locator, Page } from 'playwright-core';
import type { Test } from 'tap';
import { scopes } from '../../schemas/keys.ts';
import { startDashboard } from './dashboard-pages.ts';
import type { Walk } from './dashboard-walk.ts';
import type { Owner } from './http.ts';
import type { TestService } from './service.ts';
import { MODEL } from './upstream/client.ts';

type Texts = { [key: string]: string | Texts };

// Not a literal, because the dashboard is compiled with the types of the DOM, and tests are not.
async function textsIn(language: 'en' | 'de'): Promise<Map<string, string>> {
  const file = new URL(`../../src/dashboard/texts/${language}.ts`, import.meta.url).href;
  const { apiErrors, default: texts } = (await import(file)) as { apiErrors: Texts; default: Texts };
  return new Map([...textsOf(texts), ...textsOf(apiErrors, 'apiErrors.')]);
}

const textsOf = (texts: Texts, above = ''): [string, string][] =>
  Object.entries(texts).flatMap(([name, text]) =>
    typeof text === 'string' ? [[above + name, text]] : textsOf(text, `${above}${name}.`),
  );

/** Without addresses, paths, and file names. Names of values are the same in every language. */
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
/** What `Intl` says. */
const dates = (language: string): string[] => [
  ...[...relative(language, 1), ...relative(language, -1)],
  ...[...months(language, 'long'), ...months(language, 'short')],
];

const english = await textsIn('en');
/** Not those that somebody left in English. */
const translated = [...(await textsIn('de'))].filter(([key, text]) => text !== english.get(key));
const germanWords = new Set([...translated.map(([, text]) => text), ...dates('de')].flatMap(wordsOf));
const englishWords = new Set([
  ...[...english.values(), ...dates('en')].flatMap(wordsOf).filter((word) => !germanWords.has(word)),
  ...['and', 'are', 'for', 'from', 'is', 'it', 'not', 'of', 'or', 'the', 'this', 'to', 'with', 'your'],
]);

/** The guides that answer these are English. */
const questions = ['createKey', 'quota', 'browser'].map((name) => english.get(`chat.suggestions.${name}`));

/** The same in every language. */
const scopeNames = new Set<string>(scopes);
const names = new RegExp(`${MODEL}(-small)?|\\b(Free|Upstreams?)\\b|^English$|^Mozilla/.*`, 'gi');

/** Everything that people read or hear, but for code. */
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

/** Looks at a state: it is in order, no label is cut, and none of its texts has an English word. */
export function germanLook({ atBothSizes, labelsFit, look, page }: Walk) {
  return async (t: Test, name: string, at?: Locator): Promise<void> => {
    await look(t, `german-${name}`, at);
    await labelsFit(t, name);
    await atBothSizes(async (size) =>
      t.same(await englishOf(page), [], `${name}, ${size}: nothing is English`),
    );
  };
}

/** As `startDashboard` does, in German. */
export async function startGermanDashboard(
  t: Test,
  path: string,
  env: Record<string, string> = {},
  newOwner?: (service: TestService) => Promise<Owner>,
) {
  const dashboard = await startDashboard(t, path, env, newOwner, 'de');
  return { ...dashboard, see: germanLook(dashboard) };
}
