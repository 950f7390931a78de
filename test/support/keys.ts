/** Forged keys. */
import { crc32 } from 'node:zlib';

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** The checksum as the README describes it, implemented independently of the service. */
function checksum(text: string): string {
  let digits = '';
  for (let rest = crc32(text); digits.length < 6; rest = Math.floor(rest / 62))
    digits = DIGITS[rest % 62] + digits;
  return digits;
}

/** Returns a key with the same public ID, a wrong secret, and a valid checksum. */
export function forge(key: string): string {
  const body = key.slice(0, -7) + (key.at(-7) === 'a' ? 'b' : 'a');
  return body + checksum(body);
}
