// Compares the patterns in openapi.json with the checks of the service, which send better messages. The patterns accept
// all values that the service accepts, and refuse most values that it refuses.
import { readFileSync } from 'node:fs';
import fc, { type Arbitrary } from 'fast-check';
import t from 'tap';
import { normalizeOrigin } from '../../src/domain/origins.ts';
import { checkerOf } from '../../src/validation/validators.ts';
import { startTestService } from '../support/service.ts';

const { components } = JSON.parse(readFileSync(new URL('../../openapi.json', import.meta.url), 'utf8'));
const { CreateApiKey, SignUp } = components.schemas;
const patterns = {
  email: new RegExp(SignUp.properties.email.pattern, 'u'),
  origin: new RegExp(CreateApiKey.properties.allowed_origins.items.pattern, 'u'),
};

const acceptsOrigin = (entry: string) => {
  try {
    normalizeOrigin(entry);
    return true;
  } catch {
    return false;
  }
};
const isEmail = checkerOf({ type: 'string', format: 'email', minLength: 3, maxLength: 254 });
const acceptsEmail = (text: string) => isEmail(text) === null;

const good = {
  origin: [
    'https://app.example.com',
    'HTTPS://APP.Example.COM',
    'https://app.example.com:443',
    'https://bücher.example',
    'https://日本語。example',
    'https://xn--bcher-kva.example:8443',
    'https://localhost:3000',
    'https://[::1]:8443',
    'https://[2001:DB8:0:0::1]',
    'https://192.0.2.7:1',
    'https://a_b.example',
  ],
  email: ['ada@example.com', 'ADA@EXAMPLE.COM', "a.b+c_d'e@x-y.example.co", 'a@1.2', '{a}|b@c.d'],
};
const bad = {
  origin: [
    '',
    '*',
    'null',
    'http://app.example.com',
    'https://',
    'https:app.example.com',
    'https://*.example.com',
    'https://user:secret@app.example.com',
    'https://app.example.com/',
    'https://app.example.com?x',
    'https://app.example.com#x',
    'https://app.example.com.',
    'https://app..example.com',
    'https://.example.com',
    'https://192.0.2.7.',
    'https://app.example.com:',
    'https://app.example.com:port',
    'https://app%2eexample.com',
    'https://app.example.com\n',
    ' https://app.example.com',
    'https://app example.com',
  ],
  email: [
    'ada',
    'ada@',
    '@example.com',
    'ada@example',
    'a@b@c.d',
    '.ada@b.c',
    'ada.@b.c',
    'ada@-b.c',
    'ä@b.c',
  ],
};

/** A good value with up to three pieces inserted or removed. */
const near = (values: string[], pieces: string[]): Arbitrary<string> =>
  fc
    .tuple(
      fc.constantFrom(...values),
      fc.array(
        fc.tuple(
          fc.nat(30),
          fc.nat(2),
          fc.oneof(fc.constantFrom(...pieces), fc.string({ unit: 'binary', maxLength: 2 })),
        ),
        { maxLength: 3 },
      ),
    )
    .map(([value, changes]) =>
      changes.reduce((text, [at, gone, piece]) => text.slice(0, at) + piece + text.slice(at + gone), value),
    );

/** Counts accepted and refused random values. Throws if the pattern refuses a value that the service accepts. */
function compare(values: Arbitrary<string>, pattern: RegExp, accepts: (value: string) => boolean) {
  const counts = { accepted: 0, refused: 0, bothRefuse: 0 };
  fc.assert(
    fc.property(values, (value) => {
      const isAccepted = accepts(value);
      const isMatch = pattern.test(value);
      counts[isAccepted ? 'accepted' : 'refused'] += 1;
      if (!isAccepted && !isMatch) counts.bothRefuse += 1;
      return isMatch || !isAccepted;
    }),
    { numRuns: 20_000 },
  );
  return counts;
}

t.test('the pattern for allowed origins accepts every random value that the service accepts', async (t) => {
  const pieces = [
    '.',
    '..',
    ':',
    ':1',
    '/',
    '@',
    '[',
    ']',
    '。',
    '\u00ad',
    'ſ',
    ' ',
    '\t',
    '%',
    '*',
    '-',
    'A',
  ];
  const { accepted, bothRefuse, refused } = compare(
    near(good.origin, pieces),
    patterns.origin,
    acceptsOrigin,
  );
  t.ok(accepted > 1000 && refused > 1000, `${accepted} accepted, ${refused} refused`);
  t.ok(bothRefuse / refused > 0.75, `${bothRefuse} of ${refused} refused by both`);
});

t.test('the pattern for email addresses accepts every random value that the service accepts', async (t) => {
  const pieces = ['.', '..', '@', '-', '-.', ' ', 'ſ', 'K', '"', '+', '_', '\n'];
  const { accepted, bothRefuse, refused } = compare(near(good.email, pieces), patterns.email, acceptsEmail);
  t.ok(accepted > 1000 && refused > 1000, `${accepted} accepted, ${refused} refused`);
  t.ok(bothRefuse / refused > 0.95, `${bothRefuse} of ${refused} refused by both`);
});

t.test(
  'the service and the patterns agree on known values, and the error message names the refused origin',
  async (t) => {
    const { client } = await startTestService(t, 'postgres', { AUTH_ATTEMPTS_PER_MINUTE: '1000' });
    const owner = await client.signUp();
    const { id } = await client.createKey(owner);
    for (const [accepted, entries] of [[true, good.origin] as const, [false, bad.origin] as const])
      for (const entry of entries) {
        const change = { allowed_origins: [entry] };
        const { body, status } = await client.patch(`/keys/${id}`, change, { cookie: owner.cookie });
        t.equal(status, accepted ? 200 : 400, `${JSON.stringify(entry)}: ${body.error?.message}`);
        t.equal(patterns.origin.test(entry), accepted, JSON.stringify(entry));
        if (!accepted) t.ok(body.error.message.includes(JSON.stringify(entry)), body.error.message);
      }
    for (const [accepted, texts] of [[true, good.email] as const, [false, bad.email] as const])
      for (const email of texts) {
        const { status } = await client.post('/auth/signup', { email, password: 'correct horse battery' });
        t.equal(status === 201 || status === 409, accepted, `${email}: ${status}`);
        t.equal(patterns.email.test(email), accepted, email);
      }
  },
);
