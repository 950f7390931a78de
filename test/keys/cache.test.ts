import t from 'tap';
import { KeyCache } from '../../src/keys/cache.ts';
import type { StoredSecret } from '../../src/store/keys.ts';

const secret = (accountId: string, keyId = 'key'): StoredSecret => ({
  digest: Buffer.alloc(32),
  accountId,
  keyId,
  plan: 'free',
  scopes: ['chat'],
  allowedOrigins: [],
  isRevoked: false,
  isSuspended: false,
  endsAt: null,
  expiresAt: null,
});

t.test('forgetting an account drops all its keys and no others', async (t) => {
  const cache = new KeyCache();
  for (const [id, account] of [
    ['a1', 'a'],
    ['a2', 'a'],
    ['a1', 'a'],
    ['b1', 'b'],
  ] as const)
    cache.keep(cache.generation, id, secret(account));
  cache.forget('a');
  t.same(
    ['a1', 'a2', 'b1'].map((id) => cache.get(id)?.accountId),
    [undefined, undefined, 'b'],
  );
  cache.clear();
  t.equal(cache.size, 0);
});

t.test('a lookup that started before a change is not cached', async (t) => {
  const cache = new KeyCache();
  for (const change of [() => cache.forget('a'), () => cache.forget('stranger'), () => cache.clear()]) {
    const { generation } = cache;
    change();
    cache.keep(generation, 'a1', secret('a'));
    t.equal(cache.get('a1'), undefined);
  }
});

t.test('the cache has a size limit and evicts the least recently used key', async (t) => {
  const cache = new KeyCache(3);
  for (const id of ['1', '2', '3']) cache.keep(cache.generation, id, secret(`account ${id}`));
  cache.get('1');
  cache.keep(cache.generation, '4', secret('account 4'));
  t.equal(cache.size, 3);
  t.same(
    ['1', '2', '3', '4'].map((id) => cache.get(id) !== undefined),
    [true, false, true, true],
  );
  for (let n = 0; n < 10_000; n += 1) cache.keep(cache.generation, `${n}`, secret(`account ${n}`));
  t.equal(cache.size, 3);
  cache.forget('account 9999');
  t.equal(cache.size, 2);
});
