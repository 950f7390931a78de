// Webhook host names resolve only to public addresses. Contract section 17.
import { createSocket } from 'node:dgram';
import type { LookupAddress } from 'node:dns';
import { lookup, Resolver } from 'node:dns/promises';
import { once } from 'node:events';
import t, { type Test } from 'tap';
import { PrivateTargetError, publicLookup } from '../../src/webhooks/target.ts';

type Found = { error: Error | null; address: string | LookupAddress[] };

const lookUp = (host: string, all: boolean, resolver = new Resolver({ timeout: 1000, tries: 1 })) =>
  new Promise<Found>((resolve) => {
    publicLookup(resolver)(host, { all }, (error, address) => resolve({ error, address }));
  });

/** Starts a name server that resolves every name to one IPv4 address, or never replies. Returns its resolver. */
async function startNameServer(t: Pick<Test, 'teardown'>, address?: string): Promise<Resolver> {
  const server = createSocket('udp4').bind(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  server.on('message', (query, { port }) => {
    if (address === undefined) return;
    // RFC 1035: the header, the question as received, and an answer if the question is of type A.
    const end = query.indexOf(0, 12) + 5;
    const isForIpv4 = query.readUInt16BE(end - 4) === 1;
    const header = Buffer.from([...query.subarray(0, 2), 0x81, 0x80, 0, 1, 0, isForIpv4 ? 1 : 0, 0, 0, 0, 0]);
    const answer = Buffer.from([
      0xc0,
      0x0c,
      0,
      1,
      0,
      1,
      0,
      0,
      0,
      60,
      0,
      4,
      ...address.split('.').map(Number),
    ]);
    server.send(Buffer.concat([header, query.subarray(12, end), ...(isForIpv4 ? [answer] : [])]), port);
  });
  const resolver = new Resolver({ timeout: 1000, tries: 1 });
  resolver.setServers([`127.0.0.1:${server.address().port}`]);
  return resolver;
}

for (const all of [true, false]) {
  t.test(`a private address, or a name that resolves to one, is rejected, all: ${all}`, async (t) => {
    const resolver = await startNameServer(t, '10.0.0.1');
    t.type((await lookUp('internal.example.com', all, resolver)).error, PrivateTargetError);
    for (const host of ['10.0.0.1', '::ffff:127.0.0.1', 'fd00::1', '100.64.0.1', '::7f00:1', '4000::1']) {
      const { error } = await lookUp(host, all);
      t.type(error, PrivateTargetError, host);
    }
  });

  t.test(`a public address, or a name that resolves to one, is accepted, all: ${all}`, async (t) => {
    const resolver = await startNameServer(t, '192.88.98.1');
    t.same(
      (await lookUp('hooks.example.com', all, resolver)).address,
      all ? [{ address: '192.88.98.1', family: 4 }] : '192.88.98.1',
    );
    const { address, error } = await lookUp('192.88.98.1', all);
    t.equal(error, null);
    t.same(address, all ? [{ address: '192.88.98.1', family: 4 }] : '192.88.98.1');
  });

  t.test(`an unknown name fails with the usual DNS error, all: ${all}`, async (t) => {
    const { error } = await lookUp('nowhere.invalid', all);
    t.match(error, { code: /^(ENOTFOUND|EAI_AGAIN)$/ });
  });
}

t.test('an unresponsive name server does not delay other lookups', async (t) => {
  const resolver = await startNameServer(t);
  let ended = 0;
  const hanging = Array.from({ length: 50 }, async (_, n) => {
    const { error } = await lookUp(`${n}.example.com`, true, resolver);
    ended += 1;
    return error;
  });
  await lookup('localhost');
  t.equal(ended, 0, 'the other lookup finishes first');
  for (const error of await Promise.all(hanging)) t.match(error, { code: 'EAI_AGAIN' });
});
