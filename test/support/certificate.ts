/** A self-signed certificate for servers that a test's client is configured to trust. */
import { createHash, generateKeyPairSync, sign } from 'node:crypto';

export type Certificate = {
  /** Private key and certificate as PEM, for `https.createServer`. */
  key: string;
  cert: string;
  /** SHA-256 of the public key, in base64, as browsers and pins identify it. */
  fingerprint: string;
};

/** A value in DER: its tag, its length, and its contents. */
function der(tag: number, ...contents: Uint8Array[]): Buffer {
  const body = Buffer.concat(contents);
  const { length } = body;
  const size =
    length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), body]);
}
const sequence = (...parts: Uint8Array[]) => der(0x30, ...parts);
const identifier = (hex: string) => der(0x06, Buffer.from(hex, 'hex'));
const text = (tag: number, value: string) => der(tag, Buffer.from(value));

const commonName = identifier('550403');
const ecdsaWithSha256 = sequence(identifier('2a8648ce3d040302'));

/**
 * Creates a self-signed certificate (X.509, version 1) with a new key.
 *
 * @param end - when it expires, such as `261231235959Z`
 */
export function selfSigned(end = '491231235959Z'): Certificate {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const spki = publicKey.export({ type: 'spki', format: 'der' });
  const name = sequence(der(0x31, sequence(commonName, text(0x0c, 'A test of Parley'))));
  const validity = sequence(text(0x17, '200101000000Z'), text(0x17, end));
  const serial = der(0x02, Buffer.from([1]));
  const toBeSigned = sequence(serial, ecdsaWithSha256, name, validity, name, spki);
  const signature = sign('sha256', toBeSigned, privateKey);
  const certificate = sequence(toBeSigned, ecdsaWithSha256, der(0x03, Buffer.from([0]), signature));
  const lines = certificate.toString('base64').match(/.{1,64}/g) ?? [];
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    cert: ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n'),
    fingerprint: createHash('sha256').update(spki).digest('base64'),
  };
}
