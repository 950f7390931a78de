/** Values that attackers put into paths and queries, and forged cursors. Reliability test 61. */

/** Values as in a URL. Decoded once, each can break a layer of the service. */
export const encodedValues = [
  '%00',
  'a%00b',
  '%2500',
  '%252500',
  '%25%30%30',
  '%5c',
  '..%5c',
  '..%5c..%5cx',
  '%255c',
  '%2e%2e',
  '%2e%2e%2f',
  '..%2f..%2f',
  '.',
  '..',
  '//',
  '%2f',
  // Overlong, truncated, and invalid UTF-8, and half of a surrogate pair.
  '%c0%80',
  '%c0%af',
  '%e2%82',
  '%ff',
  '%f5%80%80%80',
  '%ed%a0%80',
  // Invalid percent-encoding, and other special characters.
  '%',
  '%zz',
  '%u0000',
  '%0d%0a',
  '%01',
  '%7f',
  '%e2%80%ae',
  '%3f',
  '%23',
  ';',
  '\\',
  '__proto__',
  'constructor',
  'x'.repeat(8000),
] as const;

const id = '01932f5e-7c1a-7b3e-9d2f-3a5b7c9d1e0f';

const instants = [
  '2026-02-30T00:00:00.000Z',
  '2026-02-29T00:00:00.000Z',
  '2026-04-31T23:59:59.999Z',
  '2026-13-01T00:00:00.000Z',
  '2026-01-00T00:00:00.000Z',
  '2026-01-01T24:00:00.000Z',
  '2026-12-31T23:59:60.000Z',
  '0000-01-01T00:00:00.000Z',
  '0001-01-01T00:00:00.000Z',
  '9999-12-31T23:59:59.999Z',
  '+085008-04-04T17:03:32.680Z',
  '-000043-03-15T00:00:00.000Z',
];

const encoded = (text: string) => Buffer.from(text, 'latin1').toString('base64url');

/** Cursors in the format of each list, some with times that do not exist, and strings that are no cursors. */
export const forgedCursors: readonly string[] = [
  ...instants.flatMap((at) => [
    encoded(`${at}|${id}`),
    encoded(`${at.slice(0, 10)}|${at}|${id}`),
    encoded(`2026-01-01|${at}|${id}`),
  ]),
  encoded(id),
  encoded('00000000-0000-0000-0000-000000000000'),
  encoded('ffffffff-ffff-ffff-ffff-ffffffffffff'),
  encoded(`2026-01-01T00:00:00.000Z|${id}\0`),
  encoded(`2026-01-01T00:00:00.000Z|${id}|`),
  encoded('\xc0\x80|\xff'),
  encoded('||'),
  'A',
  '____',
];
