import t from 'tap';
import { isKnownDevice, markDevice, parseDevice } from '../../src/domain/device-cookie.ts';

const secrets: [string, string] = ['x'.repeat(32), 'y'.repeat(32)];
const account = (devicesResetAt: Date | null = null) => ({ id: crypto.randomUUID(), devicesResetAt });
const marked = (...accounts: ReturnType<typeof account>[]) => {
  let value: string | undefined;
  for (const one of accounts) value = markDevice(parseDevice(value), one, secrets);
  const device = parseDevice(value);
  if (device === undefined) throw new Error(`${value} is no device.`);
  return device;
};

t.test('a device knows the accounts that signed in on it, and no other', async (t) => {
  const [one, other, stranger] = [account(), account(), account()];
  const device = marked(one, other);
  for (const known of [one, other]) t.ok(isKnownDevice(device, known, secrets));
  for (const unknown of [stranger, undefined]) t.notOk(isKnownDevice(device, unknown, secrets));
  t.notOk(isKnownDevice({ ...device, nonce: marked(one).nonce }, one, secrets), 'a mark is of one device');
});

t.test(
  'it forgets the account that signed in longest ago beyond five, and keeps one mark for each',
  async (t) => {
    const accounts = Array.from({ length: 6 }, () => account());
    const device = marked(...accounts, ...accounts);
    t.strictSame(
      accounts.map((one) => isKnownDevice(device, one, secrets)),
      [false, true, true, true, true, true],
    );
  },
);

t.test(
  'a changed password, another secret and nonsense make it unknown; an older secret does not',
  async (t) => {
    const one = account();
    const device = marked(one);
    t.notOk(isKnownDevice(device, { ...one, devicesResetAt: new Date() }, secrets));
    t.notOk(isKnownDevice(device, one, ['z'.repeat(32)]));
    t.ok(isKnownDevice(device, one, ['z'.repeat(32), secrets[0]]));
    const value = markDevice(undefined, one, secrets);
    for (const bad of [
      undefined,
      '',
      '.',
      value.split('.')[0],
      `${value}.`,
      `${value}x`,
      `${value.slice(0, -1)}%`,
      `${value}${value.slice(22).repeat(5)}`,
    ])
      t.equal(parseDevice(bad), undefined, String(bad));
  },
);
