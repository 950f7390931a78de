import type { FastifyRequest } from 'fastify';
import t from 'tap';
import { addressKey, isLoopback, sourceOf } from '../../src/limits/address.ts';

t.test('IPv6 addresses count per /64 network, in any notation', async (t) => {
  const network = addressKey('2001:db8:1:2::1');
  for (const same of ['2001:db8:1:2:ffff:ffff:ffff:ffff', '2001:0DB8:0001:0002::2', '2001:db8:1:2::1%eth0'])
    t.equal(addressKey(same), network, same);
  for (const other of ['2001:db8:1:3::1', '2001:db9:1:2::1', '::1']) t.not(addressKey(other), network, other);
});

t.test('IPv4 addresses count individually, even when mapped to IPv6', async (t) => {
  t.equal(addressKey('192.0.2.7'), '192.0.2.7');
  t.equal(addressKey('::ffff:192.0.2.7'), '192.0.2.7');
  t.not(addressKey('192.0.2.8'), addressKey('192.0.2.7'));
});

t.test(
  'a value that is not an address is used unchanged, because a trusted proxy may send names',
  async (t) => {
    t.equal(addressKey('unknown'), 'unknown');
    t.equal(addressKey(''), '');
  },
);

t.test('a port that a proxy adds is not part of the address', async (t) => {
  const seen: [sent: string, key: string, address: string][] = [
    ['1.2.3.4:5678', '1.2.3.4', '1.2.3.4'],
    ['[2001:db8::1]:5678', addressKey('2001:db8::1'), '2001:db8::1'],
    ['[2001:db8::1]', addressKey('2001:db8::1'), '2001:db8::1'],
    ['[::ffff:1.2.3.4]:5678', '1.2.3.4', '::ffff:1.2.3.4'],
    ['2001:db8::1', addressKey('2001:db8::1'), '2001:db8::1'],
    ['1.2.3.4:', '1.2.3.4:', '1.2.3.4:'],
    ['proxy:5678', 'proxy:5678', 'proxy:5678'],
    ['1.2.3.4', '1.2.3.4', '1.2.3.4'],
  ];
  for (const [sent, key, address] of seen) {
    t.equal(addressKey(sent), key, sent);
    t.equal(sourceOf({ ip: sent, headers: {} } as FastifyRequest).address, address, sent);
  }
  for (const sent of ['127.0.0.1:5678', '[::1]:5678', '[::ffff:127.0.0.1]:5678'])
    t.ok(isLoopback(sent), sent);
});
