import t from 'tap';
import { normalizeOrigin, normalizeOrigins } from '../../src/domain/origins.ts';

t.test('an https origin is normalized to the value that a browser sends', async (t) => {
  const cases: Record<string, string> = {
    'https://app.example.com': 'https://app.example.com',
    'https://APP.Example.COM': 'https://app.example.com',
    'HTTPS://app.example.com': 'https://app.example.com',
    'https://app.example.com:443': 'https://app.example.com',
    'https://app.example.com:8443': 'https://app.example.com:8443',
    'https://bücher.example': 'https://xn--bcher-kva.example',
    'https://xn--bcher-kva.example': 'https://xn--bcher-kva.example',
    'https://localhost:3000': 'https://localhost:3000',
    'https://[::1]:8443': 'https://[::1]:8443',
    'https://[2001:DB8:0:0::1]': 'https://[2001:db8::1]',
    'https://192.0.2.7': 'https://192.0.2.7',
  };
  for (const [entry, origin] of Object.entries(cases)) t.equal(normalizeOrigin(entry), origin, entry);
});

t.test('an origin with non-ASCII letters is still accepted after many other origins', async (t) => {
  // Enough for V8 to optimize the check.
  for (let index = 0; index < 100_000; index++) normalizeOrigin('https://app.example.com');
  t.equal(normalizeOrigin('https://bücher.example'), 'https://xn--bcher-kva.example');
});

t.test('anything except an https origin is refused with a message that quotes it', async (t) => {
  const wrong = [
    'http://app.example.com',
    'null',
    '',
    '*',
    'https://*',
    'https://*.example.com',
    'https://user@app.example.com',
    'https://user:secret@app.example.com',
    'https://app.example.com/',
    'https://app.example.com/path',
    'https://app.example.com?x',
    'https://app.example.com#x',
    'https://app.example.com.',
    'https://app.example.com.:8443',
    'https://192.0.2.7.',
    'https://192.0.2.:8443',
    'https://app.example.com。',
    'https://.example.com',
    'https://app..example.com',
    'https://app.example.com:',
    'https://app.example.com:99999',
    'https://app.example.com\\',
    'https://app.example.com\n',
    ' https://app.example.com',
    'https://app%2eexample.com',
    'https:app.example.com',
    'https:/app.example.com',
    'https://',
    'wss://app.example.com',
    'chrome-extension://abc',
    'app.example.com',
  ];
  for (const entry of wrong) {
    t.throws(
      () => normalizeOrigin(entry),
      { name: 'OriginError', message: JSON.stringify(entry) },
      JSON.stringify(entry),
    );
  }
});

t.test('the error for http://localhost says how to set up a development server', async (t) => {
  for (const host of [
    'localhost',
    'localhost:5173',
    '127.0.0.1:8080',
    '[::1]:3000',
    'app.localhost',
    'LOCALHOST',
  ]) {
    t.throws(
      () => normalizeOrigin(`http://${host}`),
      { message: /Vite.*`server\.proxy`.*removes `Origin`/ },
      host,
    );
  }
  for (const host of ['localhost.example', '127.0.0.1.example', 'notlocalhost'])
    t.throws(() => normalizeOrigin(`http://${host}`), { message: /https origin\. Use https\.$/ }, host);
});

t.test('the error says what is wrong with the origin', async (t) => {
  const hints: Record<string, [string, RegExp]> = {
    'https://app.example.com/': ['origin_slash', /ends in a slash/],
    'https://app.example.com.': ['origin_dot', /ends in a dot/],
    'https://app.example.com/path': ['origin_path', /contains a path\. Leave out the path/],
    'https://ada:secret@app.example.com': ['origin_user', /contains a user/],
    'https://*.example.com': ['origin_wildcard', /contains a wildcard/],
    'http://app.example.com': ['origin_http', /Use https/],
    'http://localhost:5173': ['origin_localhost', /server\.proxy/],
    'app.example.com': ['origin_invalid', /An origin consists of https:\/\/, a host/],
  };
  for (const [entry, [reason, hint]] of Object.entries(hints))
    t.throws(() => normalizeOrigin(entry), { reason, message: hint }, entry);
});

t.test('entries that normalize to the same origin are merged', async (t) => {
  t.same(normalizeOrigins(['https://a.example', 'https://A.example:443', 'https://b.example']), [
    'https://a.example',
    'https://b.example',
  ]);
});
