import t from 'tap';
import { addressKey } from '../../src/limits/address.ts';

t.test('IPv6 counts by its /64, however it is written', async (t) => {
  const network = addressKey('2001:db8:1:2::1');
  for (const same of ['2001:db8:1:2:ffff:ffff:ffff:ffff', '2001:0DB8:0001:0002::2', '2001:db8:1:2::1%eth0'])
    t.equal(addressKey(same), network, same);
  for (const other of ['2001:db8:1:3::1', '2001:db9:1:2::1', '::1']) t.not(addressKey(other), network, other);
});

t.test('IPv4 counts by the address, also where it is mapped into IPv6', async (t) => {
  t.equal(addressKey('192.0.2.7'), '192.0.2.7');
  t.equal(addressKey('::ffff:192.0.2.7'), '192.0.2.7');
  t.not(addressKey('192.0.2.8'), addressKey('192.0.2.7'));
});

t.test('what is no address is taken as it is: a trusted proxy may send names', async (t) => {
  t.equal(addressKey('unknown'), 'unknown');
  t.equal(addressKey(''), '');
});
