/**
 * The format of API keys, contract section 3:
 *
 *     parley_ + public id (8 base62) + _ + secret (43 base62, 32 random bytes) + CRC-32 of all before it (6 base62)
 *
 * With the checksum, the service rejects typos without a query, and secret scanners avoid false positives.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { crc32 } from 'node:zlib';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const PUBLIC_ID_LENGTH = 8;
const SECRET_LENGTH = 43;
const CHECKSUM_LENGTH = 6;

/** Also for secret scanners. `parseApiKey` verifies the checksum. */
export const API_KEY_PATTERN = /parley_[0-9A-Za-z]{8}_[0-9A-Za-z]{49}/;
const wholeKey = new RegExp(`^${API_KEY_PATTERN.source}$`);

/** Only `digest` is stored, never the raw key. */
export type ParsedApiKey = { publicId: string; digest: Buffer };

function base62(value: bigint, length: number): string {
  let digits = '';
  for (let rest = value; digits.length < length; rest /= 62n) digits = ALPHABET[Number(rest % 62n)] + digits;
  return digits;
}

const checksum = (text: string) => base62(BigInt(crc32(text)), CHECKSUM_LENGTH);
const digestOf = (rawKey: string) => createHash('sha256').update(rawKey).digest();

export const keyPrefix = (publicId: string): string => `parley_${publicId}`;

const everyKey = new RegExp(API_KEY_PATTERN, 'g');
const encodedRun = /[\w%]{65,}/g;

const MAX_DECODINGS = 10;

/** Decodes percent-encoding of ASCII, including repeated encoding. Leaves invalid sequences unchanged. */
function fullyDecoded(text: string): string {
  let decoded = text;
  for (let round = 0; round < MAX_DECODINGS && decoded.includes('%'); round += 1) {
    const shorter = decoded.replace(/%(?:25)*([0-7][0-9a-f])/gi, (_code, hex: string) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    );
    if (shorter === decoded) break;
    decoded = shorter;
  }
  return decoded;
}

/** Whether a text contains a string in the format of a key, percent-encoded or not. Ignores the checksum. */
export const holdsApiKey = (text: string): boolean =>
  API_KEY_PATTERN.test(text) || (text.includes('%') && API_KEY_PATTERN.test(fullyDecoded(text)));

/** Replaces strings in the format of a key, percent-encoded or not, so that the text is safe to show and log. */
export function withoutApiKeys(text: string): string {
  const plain = text.replace(everyKey, '[API key]');
  if (!plain.includes('%')) return plain;
  return plain.replace(encodedRun, (run) => (run.includes('%') && holdsApiKey(run) ? '[API key]' : run));
}

export function generateApiKey(): ParsedApiKey & { rawKey: string } {
  // 62^8 is less than 2^48, so rejection sampling draws the public ID uniformly.
  let draw: number;
  do draw = randomBytes(6).readUIntBE(0, 6);
  while (draw >= 62 ** PUBLIC_ID_LENGTH);
  const publicId = base62(BigInt(draw), PUBLIC_ID_LENGTH);
  const secret = base62(BigInt(`0x${randomBytes(32).toString('hex')}`), SECRET_LENGTH);
  const body = `${keyPrefix(publicId)}_${secret}`;
  const rawKey = body + checksum(body);
  return { rawKey, publicId, digest: digestOf(rawKey) };
}

/** Returns null if the format or the checksum is wrong. */
export function parseApiKey(rawKey: string): ParsedApiKey | null {
  if (!wholeKey.test(rawKey)) return null;
  const body = rawKey.slice(0, -CHECKSUM_LENGTH);
  if (checksum(body) !== rawKey.slice(-CHECKSUM_LENGTH)) return null;
  return {
    publicId: rawKey.slice('parley_'.length, 'parley_'.length + PUBLIC_ID_LENGTH),
    digest: digestOf(rawKey),
  };
}

export const sameDigest = (one: Buffer, other: Buffer): boolean =>
  one.length === other.length && timingSafeEqual(one, other);
