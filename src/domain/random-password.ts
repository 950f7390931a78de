import { randomInt } from 'node:crypto';

/** Omits easily confused characters. 20 of these characters have 99 bits of entropy. */
const ALPHABET = '23456789abcdefghjkmnpqrstuvwxyz';

/** A random password that is easy to read aloud. */
export const newPassword = (): string => {
  const letter = () => ALPHABET[randomInt(ALPHABET.length)];
  const group = () => Array.from({ length: 5 }, letter).join('');
  return Array.from({ length: 4 }, group).join('-');
};
