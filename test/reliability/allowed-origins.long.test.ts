// Reliability test 17: which origins may read the responses to a key.
import fc from 'fast-check';
import t from 'tap';
import { corsHeaders, FOREIGN, from, pageCalls, variesByOrigin } from '../support/cors.ts';
import { onEachDatabase } from '../support/service.ts';

/** An origin as an owner may write it, and as a browser sends it. */
const entries: [entry: string, origin: string][] = [
  ['https://app.example.com', 'https://app.example.com'],
  ['https://APP.example.com:443', 'https://app.example.com'],
  ['https://app.example.com:8443', 'https://app.example.com:8443'],
  ['https://example.com', 'https://example.com'],
  ['https://bücher.example', 'https://xn--bcher-kva.example'],
  ['https://xn--bcher-kva.example:444', 'https://xn--bcher-kva.example:444'],
  ['https://[2001:DB8:0:0::1]', 'https://[2001:db8::1]'],
  ['https://[2001:db8::1]:8443', 'https://[2001:db8::1]:8443'],
  ['https://192.0.2.7', 'https://192.0.2.7'],
  ['https://localhost:3000', 'https://localhost:3000'],
];

const withHost = (origin: string, change: (host: string) => string) =>
  origin.replace(/^https:\/\/(\[.*\]|[^:]+)/, (_, host: string) => `https://${change(host)}`);

/** Similar origins that another page or an attacker may send. */
const changes: ((origin: string) => string)[] = [
  (origin) => `${origin}.evil.example`,
  (origin) => withHost(origin, (host) => `${host}.evil.example`),
  (origin) => withHost(origin, (host) => `${host}m`),
  (origin) => withHost(origin, (host) => `evil-${host}`),
  (origin) => withHost(origin, (host) => `www.${host}`),
  (origin) => withHost(origin, (host) => `evil.example@${host}`),
  (origin) => withHost(origin, (host) => `${host}.`),
  (origin) => withHost(origin, (host) => host.toUpperCase()),
  (origin) => withHost(origin, (host) => host.replace('xn--bcher-kva', 'bücher')),
  (origin) => withHost(origin, (host) => host.replace('2001:db8::1', '2001:db8:0:0:0:0:0:1')),
  (origin) => withHost(origin, (host) => host.replace('192.0.2.7', '3221225991')),
  (origin) => withHost(origin, (host) => host.replace('app.', '')),
  (origin) => `${origin}:443`,
  (origin) => origin.replace(/:\d+$/, ''),
  (origin) => origin.replace(/(:\d+)?$/, ':8443'),
  (origin) => origin.replace('https:', 'http:'),
  (origin) => origin.replace('https://', 'HTTPS://'),
  (origin) => origin.replace('https://', ''),
  (origin) => `${origin}/`,
  (origin) => `${origin}, ${origin}`,
  (origin) => `${origin} ${FOREIGN}`,
  () => 'null',
  () => '*',
  () => '',
  () => 'undefined',
  () => 'https://',
  () => FOREIGN,
];

onEachDatabase(t, {}, async (t, { client }) => {
  const owner = await client.signUp();
  const { id, key } = await client.createKey(owner);

  await t.test(
    "17: Access-Control-Allow-Origin is sent only if the key's list contains exactly this origin",
    async (t) => {
      const runs = { allowed: 0, refused: 0 };
      const sample = fc.record({
        list: fc.uniqueArray(fc.constantFrom(...entries), { maxLength: 4 }),
        origin: fc.constantFrom(...entries.map(([, origin]) => origin)),
        isOfList: fc.boolean(),
        steps: fc.array(fc.constantFrom(...changes), { maxLength: 2 }),
      });
      await fc.assert(
        fc.asyncProperty(sample, async ({ isOfList, list, origin, steps }) => {
          const [first] = list;
          const sent = steps.reduce((text, change) => change(text), isOfList && first ? first[1] : origin);
          // Whitespace around a header value is not part of it.
          const isListed = list.some(([, one]) => one === sent.trim());
          const allowed_origins = list.map(([entry]) => entry);
          const patched = await client.patch(`/keys/${id}`, { allowed_origins }, { cookie: owner.cookie });
          t.equal(patched.status, 200, patched.text);
          const answer = await client.get('/usage', { key, ...from(sent) });
          runs[isListed ? 'allowed' : 'refused'] += 1;
          const allowed = answer.headers.get('access-control-allow-origin');
          if (allowed !== (isListed ? sent.trim() : null))
            throw new Error(`${sent}: ${allowed} for ${allowed_origins}`);
          if (answer.status !== (isListed ? 200 : 403)) throw new Error(`${sent}: ${answer.status}`);
          if (!isListed && Object.keys(corsHeaders(answer)).length > 0)
            throw new Error(`${sent}: unexpected CORS headers`);
        }),
        { numRuns: 200 },
      );
      t.ok(runs.allowed > 20 && runs.refused > 100, JSON.stringify(runs));
    },
  );

  await t.test(
    "a request without Origin, or from the service's own origin, is served without CORS headers",
    async (t) => {
      for (const [method, path, body] of pageCalls) {
        for (const headers of [{}, { origin: client.origin }]) {
          const answer = await client.request(method, path, { body, key, headers });
          t.equal(answer.status, 200, `${method} ${path}`);
          t.same(corsHeaders(answer), {});
          t.ok(variesByOrigin(answer));
        }
      }
    },
  );
});
