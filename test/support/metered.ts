/** The table of metered operations, for tests that cover all of them. */
import { readFileSync } from 'node:fs';
import type { Meter } from '../../schemas/plans.ts';
import { chatSurface, surfaces } from './surfaces.ts';

export type Metered = {
  path: string;
  meter: Meter;
  /** The units that a request with `body` is charged. */
  units: number;
  /** Whether the operation supports `stream`. */
  streams: boolean;
  /** A request body with `text` as its prompt, query, or input. */
  body(text: string, fields?: { stream: boolean }): Record<string, unknown>;
};

/** Every metered operation. */
export const metered: readonly Metered[] = [
  ...[chatSurface, ...surfaces].map(
    ({ body, path }): Metered => ({ path, meter: 'chat', units: 1, streams: true, body }),
  ),
  {
    ...{ path: '/images/generations', meter: 'images', units: 2, streams: false },
    body: (prompt) => ({ prompt, n: 2 }),
  },
  { path: '/search', meter: 'search', units: 1, streams: false, body: (query) => ({ query }) },
  {
    ...{ path: '/embeddings', meter: 'embeddings', units: 2, streams: false },
    body: (text) => ({ input: [text, `${text} again`] }),
  },
];

/** A request to each operation, and a streamed one if the operation supports streams. */
export const meteredRequests = (text: string) =>
  metered.flatMap(({ body, streams, ...operation }) => [
    { ...operation, isStream: false, body: body(text) },
    ...(streams ? [{ ...operation, isStream: true, body: body(text, { stream: true }) }] : []),
  ]);

type Documented = {
  paths: Record<
    string,
    Record<string, { description?: string; responses?: Record<string, { content?: object }> }>
  >;
};

/** The metered operations in `openapi.json`, by endpoint, such as `POST /api/v1/chat`. */
export function documentedAsMetered(): Map<string, Pick<Metered, 'meter' | 'streams'>> {
  const file = new URL('../../openapi.json', import.meta.url);
  const { paths } = JSON.parse(readFileSync(file, 'utf8')) as Documented;
  const found = new Map<string, Pick<Metered, 'meter' | 'streams'>>();
  for (const [path, operations] of Object.entries(paths))
    for (const [method, { description, responses }] of Object.entries(operations)) {
      const [, meter] = /Counts toward the daily `(\w+)` quota\./.exec(description ?? '') ?? [];
      const streams = 'text/event-stream' in (responses?.['200']?.content ?? {});
      if (meter !== undefined)
        found.set(`${method.toUpperCase()} ${path}`, { meter: meter as Meter, streams });
    }
  return found;
}
