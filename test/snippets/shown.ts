/** Checks blocks that show a response: a real response must have the same names and types. */
import { isDeepStrictEqual } from 'node:util';
import { eventsOf } from '../support/event-reader.ts';
import type { Recorded } from './recorder.ts';

/** The names and types of a value, recursively. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.length === 0 ? [] : [shapeOf(value[0])];
  if (value === null || typeof value !== 'object') return typeof value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([name, inner]) => [name, shapeOf(inner)]),
  );
}

function fits(shown: unknown, real: unknown): boolean {
  if (shown === null || real === null) return true;
  if (Array.isArray(shown) && Array.isArray(real))
    return shown.length === 0 || real.length === 0 || fits(shown[0], real[0]);
  if (typeof shown !== 'object' || typeof real !== 'object') return typeof shown === typeof real;
  const names = Object.keys(shown).sort();
  if (!isDeepStrictEqual(names, Object.keys(real).sort())) return false;
  return names.every((name) =>
    fits((shown as Record<string, unknown>)[name], (real as Record<string, unknown>)[name]),
  );
}

const json = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/**
 * Compares a response on a page with the service's responses to the snippets before it.
 *
 * @returns the problem, or `undefined` if a response matches
 */
export function shownProblem(
  language: string,
  code: string,
  answers: readonly Recorded[],
): string | undefined {
  if (language === 'json') {
    const shown = json(code);
    if (shown === undefined) return 'this is not valid JSON';
    if (answers.some(({ body }) => fits(shown, json(body) ?? ''))) return undefined;
    return `no response matches it: ${JSON.stringify(shapeOf(shown))}`;
  }
  return /^event: /m.test(code) ? eventsProblem(code, answers) : headersProblem(code, answers);
}

function eventsProblem(code: string, answers: readonly Recorded[]): string | undefined {
  const shown = eventsOf(`${code.trim()}\n\n`);
  const streams = answers
    .filter(({ headers }) => headers['content-type']?.startsWith('text/event-stream'))
    .map(({ body }) => eventsOf(body));
  const strange = shown.find(
    ({ data, event }) =>
      !streams.some((events) => events.some((real) => real.event === event && fits(data, real.data))),
  );
  return strange && `no event matches it: ${strange.event} ${JSON.stringify(shapeOf(strange.data))}`;
}

/** Compares each header. A number matches any number. */
function headersProblem(code: string, answers: readonly Recorded[]): string | undefined {
  const lines = code.split('\n').map((line) => {
    const [name = '', ...value] = line.split(': ');
    const pattern = value
      .join(': ')
      .replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
      .replace(/\d+/g, '\\d+');
    return { line, name: name.toLowerCase(), value: new RegExp(`^${pattern}$`) };
  });
  const hasAll = ({ headers }: Recorded) => lines.every(({ name, value }) => value.test(headers[name] ?? ''));
  if (answers.some(hasAll)) return undefined;
  return 'no response has these headers';
}
