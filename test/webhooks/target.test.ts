// Names of webhooks' hosts resolve only to public addresses. Contract section 17.
import type { LookupAddress } from 'node:dns';
import t from 'tap';
import { PrivateTargetError, publicLookup } from '../../src/webhooks/target.ts';

type Found = { error: Error | null; address: string | LookupAddress[] };

const lookUp = (host: string, all: boolean) =>
  new Promise<Found>((resolve) => {
    publicLookup(host, { all }, (error, address) => resolve({ error, address }));
  });

for (const all of [true, false]) {
  t.test(`a name that resolves to a private address is refused, all: ${all}`, async (t) => {
    for (const host of ['localhost', '10.0.0.1', '::ffff:127.0.0.1', 'fd00::1', '100.64.0.1']) {
      const { error } = await lookUp(host, all);
      t.type(error, PrivateTargetError, host);
    }
  });

  t.test(`a public address is found, all: ${all}`, async (t) => {
    const { address, error } = await lookUp('192.88.98.1', all);
    t.equal(error, null);
    t.same(address, all ? [{ address: '192.88.98.1', family: 4 }] : '192.88.98.1');
  });

  t.test(`a name that does not exist fails as usual, all: ${all}`, async (t) => {
    const { error } = await lookUp('nowhere.invalid', all);
    t.match(error, { code: /^(ENOTFOUND|EAI_AGAIN)$/ });
  });
}
