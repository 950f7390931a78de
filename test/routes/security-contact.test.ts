// `/.well-known/security.txt`, RFC 9116.
import t from 'tap';
import { startTestService } from '../support/service.ts';

const path = '//.well-known/security.txt';
const DAY_MS = 86_400_000;

const fieldsOf = (text: string) =>
  Object.fromEntries(
    text
      .trimEnd()
      .split('\n')
      .map((line) => line.split(/: (.*)/s, 2) as [string, string]),
  );

t.test('security.txt 200: has the contact, the expiry date, and the canonical URL', async (t) => {
  const { client } = await startTestService(t, 'postgres', {
    PUBLIC_URL: 'https://chat.example.com',
    OPERATOR_CONTACT: 'ops@example.com',
    SECURITY_CONTACT: 'security@example.com',
  });
  const { headers, status, text } = await client.get(path);
  t.equal(status, 200);
  t.equal(headers.get('content-type'), 'text/plain; charset=utf-8');
  const { Expires, ...rest } = fieldsOf(text);
  t.strictSame(rest, {
    Contact: 'mailto:security@example.com',
    'Preferred-Languages': 'en',
    Canonical: 'https://chat.example.com/.well-known/security.txt',
  });
  t.match(Expires, /^\d{4}-\d\d-\d\dT00:00:00Z$/);
  const days = (Date.parse(String(Expires)) - Date.now()) / DAY_MS;
  t.ok(days > 90 && days < 365, `${days} days`);
});

t.test('security.txt 200: without https, it has no canonical URL', async (t) => {
  const { client } = await startTestService(t, 'postgres', { OPERATOR_CONTACT: 'ops@example.com' });
  const { text } = await client.get(path);
  t.match(fieldsOf(text), { Contact: 'mailto:ops@example.com', Canonical: undefined });
});

t.test('security.txt 404 notFound: there is no contact email address', async (t) => {
  const { client } = await startTestService(t, 'postgres', { OPERATOR_CONTACT: 'the second floor' });
  t.match(await client.get(path), { status: 404, body: { error: { code: 'notFound' } } });
});
