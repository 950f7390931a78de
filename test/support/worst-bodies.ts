/** The largest and most awkward bodies that `/chat/completions` has to take or refuse, by name. */

const MIB = 2 ** 20;
/** What the test upstream reads in `user`: that it answers three words instead of all it was told. */
const SHORT = '"user":"chunks=3"';
const MESSAGE = `${SHORT},"messages":[{"role":"user","content":"Hello"}]`;
const list = (count: number, item: (index: number) => string) =>
  Array.from({ length: count }, (_, index) => item(index)).join(',');

export type WorstBody = { make(): string; status: 200 | 400 };

export const worstBodies: Record<string, WorstBody> = {
  '20 MiB of empty objects': {
    status: 400,
    make: () => `{${MESSAGE},"x":[${'{},'.repeat(6_900_000)}1]}`,
  },
  '20 MiB of nested lists': {
    status: 400,
    make: () => `{${MESSAGE},"x":[${'[[]],'.repeat(4_000_000)}1]}`,
  },
  '20 MiB of one-digit numbers': {
    status: 400,
    make: () => `{${MESSAGE},"x":[${'1,'.repeat(10_000_000)}1]}`,
  },
  'a million long numbers': {
    status: 200,
    make: () => `{${MESSAGE},"x":[${'0.12345678901234567,'.repeat(990_000)}1]}`,
  },
  'a million strings in a message, where a URL could hide': {
    status: 400,
    make: () =>
      `{${SHORT},"messages":[{"role":"user","content":"Hello","x":[${list(990_000, (n) => `"k${n.toString(36)}"`)}]}]}`,
  },
  '90,000 members of an object': {
    status: 200,
    make: () => `{${MESSAGE},"x":{${list(90_000, (n) => `"k${n}":1`)}}}`,
  },
  '90,000 members of the body': {
    status: 400,
    make: () => `{${MESSAGE},${list(90_000, (n) => `"k${n}":1`)}}`,
  },
  '30,000 objects with names of their own': {
    status: 200,
    make: () => `{${MESSAGE},"x":[${list(30_000, (n) => `{"k${n}":1}`)}]}`,
  },
  '9,500 parts of messages': {
    status: 200,
    make: () =>
      `{${SHORT},"messages":[${list(5, () => `{"role":"user","content":[${list(1900, () => '{"type":"text","text":"hi"}')}]}`)}]}`,
  },
  'one text of 19 MiB': {
    status: 200,
    make: () => `{${SHORT},"messages":[{"role":"user","content":"${'x'.repeat(19 * MIB)}"}]}`,
  },
  'one text of 19 MiB beyond Latin-1': {
    status: 200,
    make: () => `{${SHORT},"messages":[{"role":"user","content":"${'€'.repeat((19 * MIB) / 3)}"}]}`,
  },
  'a text of 19 MiB of escapes': {
    status: 200,
    make: () => `{${SHORT},"messages":[{"role":"user","content":"${'\\u20ac'.repeat((19 * MIB) / 6)}"}]}`,
  },
  'a field of 19 MiB that nobody knows': {
    status: 200,
    make: () => `{${MESSAGE},"x":"${'x'.repeat(19 * MIB)}"}`,
  },
};
