/** Keys that are almost right. */
import { crc32 } from 'node:zlib';

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** The checksum as README publishes it, written down a second time. */
function checksum(text: string): string {
  let digits = '';
  for (let rest = crc32(text); digits.length < 6; rest = Math.floor(rest / 62))
    digits = DIGITS[rest % 62] + digits;
  return digits;
}

/** A key with the public id of another and a secret that is wrong, with the right checksum. */
export function forge(key: string): string {
  const body = key.slice(0, -7) + (key.at(-7) === 'a' ? 'b' : 'a');
  return body + checksum(body);
}
