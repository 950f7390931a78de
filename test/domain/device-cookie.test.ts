import t from 'tap';
import { isKnownDevice, markDevice, parseDevice } from '../../src/domain/device-cookie.ts';

const secrets: [string, string] = ['x'.repeat(32), 'y'.repeat(32)];
const account = (devicesResetAt: Date | null = null) => ({ id: crypto.randomUUID(), devicesResetAt });
const marked = (...accounts: ReturnType<typeof account>[]) => {
  let value: string | undefined;
  for (const one of accounts) value = markDevice(parseDevice(value), one, secrets);
  const device = parseDevice(value);
  if (device === undefined) throw new Error(`${value} is not a device cookie.`);
  return device;
};

t.test('a device is known only for the accounts that signed in on it', async (t) => {
  const [one, other, stranger] = [account(), account(), account()];
  const device = marked(one, other);
  for (const known of [one, other]) t.ok(isKnownDevice(device, known, secrets));
  for (const unknown of [stranger, undefined]) t.notOk(isKnownDevice(device, unknown, secrets));
  t.notOk(
    isKnownDevice({ ...device, nonce: marked(one).nonce }, one, secrets),
    'a mark is valid for one device only',
  );
});

t.test('a device keeps one mark for each of the last five accounts that signed in', async (t) => {
  const accounts = Array.from({ length: 6 }, () => account());
  const device = marked(...accounts, ...accounts);
  t.strictSame(
    accounts.map((one) => isKnownDevice(device, one, secrets)),
    [false, true, true, true, true, true],
  );
});

t.test(
  'a device is unknown after a password change, with another secret, or if malformed, but not with an older secret',
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
