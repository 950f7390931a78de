import fc from 'fast-check';
import t from 'tap';
import {
  API_KEY_PATTERN,
  generateApiKey,
  holdsApiKey,
  keyPrefix,
  parseApiKey,
  sameDigest,
} from '../../src/domain/api-key.ts';

t.test('a generated key has the published format and can be parsed', async (t) => {
  for (let round = 0; round < 500; round++) {
    const { digest, publicId, rawKey } = generateApiKey();
    t.match(rawKey, new RegExp(`^${API_KEY_PATTERN.source}$`));
    const parsed = parseApiKey(rawKey);
    if (parsed?.publicId !== publicId || !sameDigest(parsed.digest, digest))
      t.fail(`${rawKey} was not parsed correctly`);
    if (!rawKey.startsWith(`${keyPrefix(publicId)}_`)) t.fail(`${rawKey} does not start with its prefix`);
  }
});

t.test('keys have unique public ids and secrets', async (t) => {
  const keys = Array.from({ length: 1000 }, generateApiKey);
  t.equal(new Set(keys.map(({ publicId }) => publicId)).size, 1000);
  t.equal(new Set(keys.map(({ rawKey }) => rawKey.slice(16))).size, 1000);
});

t.test('a key with any single character changed fails its checksum', async (t) => {
  const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
  const { rawKey } = generateApiKey();
  const property = fc.property(
    fc.nat(rawKey.length - 1),
    fc.constantFrom(...alphabet),
    (position, character) => {
      fc.pre(rawKey[position] !== character);
      return parseApiKey(rawKey.slice(0, position) + character + rawKey.slice(position + 1)) === null;
    },
  );
  fc.assert(property, { numRuns: 5000 });
  t.pass('no changed key was accepted');
});

t.test('anything that is not a key is refused', async (t) => {
  const { rawKey } = generateApiKey();
  for (const wrong of [
    '',
    'parley_',
    rawKey.slice(0, -1),
    `${rawKey}0`,
    ` ${rawKey}`,
    rawKey.toUpperCase(),
    `${rawKey}\n`,
    "' or 1=1 --",
  ]) {
    t.equal(parseApiKey(wrong), null, JSON.stringify(wrong));
  }
  fc.assert(fc.property(fc.string(), (text) => parseApiKey(text) === null));
});

t.test('a key is found inside other text', async (t) => {
  const { rawKey } = generateApiKey();
  t.equal(holdsApiKey(`x=${rawKey}&y`), true);
  t.equal(holdsApiKey('parley_short'), false);
});
