/** The largest and most expensive bodies that routes must accept or reject. */

const MIB = 2 ** 20;
/** The test upstream reads in `user` that its reply has three words instead of repeating the whole prompt. */
const SHORT = '"user":"chunks=3"';
const ASKED = '"max_tokens":10,"metadata":{"user_id":"chunks=3"}';
const MESSAGE = `${SHORT},"messages":[{"role":"user","content":"Hello"}]`;
const list = (count: number, item: (index: number) => string) =>
  Array.from({ length: count }, (_, index) => item(index)).join(',');

/** A character that NFKC expands to 18. */
const EXPANDING = '\ufdfa';

/** A body with the expected status. `path` defaults to `/chat/completions`. */
export type WorstBody = { path?: string; make(): string; status: 200 | 400 };

/** The bodies by name. The names are part of idempotency keys. */
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
  'a name of 19 MiB': {
    status: 200,
    make: () => `{${MESSAGE},"${EXPANDING.repeat((19 * MIB) / 3)}":1}`,
  },
  'a name of 19 MiB in a message': {
    status: 200,
    make: () =>
      `{${SHORT},"messages":[{"role":"user","content":"Hello","${EXPANDING.repeat((19 * MIB) / 3)}":{"a":1}}]}`,
  },
  '24,000 names of 60 characters': {
    status: 400,
    make: () => `{${MESSAGE},${list(24_000, (n) => `"${EXPANDING.repeat(55)}${n}":1`)}}`,
  },
  '1,600 names of 60 characters, parsed in place': {
    status: 400,
    make: () => `{${MESSAGE},${list(1600, (n) => `"${EXPANDING.repeat(56)}${n}":1`)}}`,
  },
  '990 names of 128 characters': {
    status: 200,
    make: () => `{${MESSAGE},${list(990, (n) => `"${EXPANDING.repeat(124)}${n}":1`)}}`,
  },
  'a URL of 19 MiB': {
    status: 400,
    make: () =>
      `{${SHORT},"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://${'a.'.repeat((19 * MIB) / 2)}"}}]}]}`,
  },
  '/responses: one text of 19 MiB': {
    path: '/responses',
    status: 200,
    make: () => `{${SHORT},"store":false,"input":"${'x'.repeat(19 * MIB)}"}`,
  },
  '/responses: one text of 19 MiB beyond Latin-1': {
    path: '/responses',
    status: 200,
    make: () => `{${SHORT},"store":false,"input":"${'€'.repeat((19 * MIB) / 3)}"}`,
  },
  '/responses: a text of 19 MiB of escapes': {
    path: '/responses',
    status: 200,
    make: () => `{${SHORT},"store":false,"input":"${'\\u20ac'.repeat((19 * MIB) / 6)}"}`,
  },
  '/responses: a stored picture of 3.9 MiB': {
    path: '/responses',
    status: 200,
    make: () =>
      `{${SHORT},"input":[{"role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,${'A'.repeat(3.9 * MIB)}"}]}]}`,
  },
  '/responses: 19 MiB to be stored': {
    path: '/responses',
    status: 400,
    make: () => `{${SHORT},"input":"${'€'.repeat((19 * MIB) / 3)}"}`,
  },
  '/responses: 9,000 items': {
    path: '/responses',
    status: 200,
    make: () => `{${SHORT},"input":[${list(9000, () => '{"role":"user","content":"hi"}')}]}`,
  },
  '/responses: 30,000 objects with names of their own': {
    path: '/responses',
    status: 400,
    make: () => `{${SHORT},"store":false,"input":"Hello","tools":[${list(30_000, (n) => `{"k${n}":1}`)}]}`,
  },
  '/messages: one text of 19 MiB beyond Latin-1': {
    path: '/messages',
    status: 200,
    make: () => `{${ASKED},"messages":[{"role":"user","content":"${'€'.repeat((19 * MIB) / 3)}"}]}`,
  },
  '/messages: a picture of 19 MiB': {
    path: '/messages',
    status: 200,
    make: () =>
      `{${ASKED},"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"${'A'.repeat(19 * MIB)}"}}]}]}`,
  },
  '/messages: a tool call with 19 MiB of input': {
    path: '/messages',
    status: 200,
    make: () =>
      `{${ASKED},"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{"text":"${'\\n'.repeat((19 * MIB) / 2)}"}}]}]}`,
  },
  '/messages: a tool described in 19 MiB': {
    path: '/messages',
    status: 200,
    make: () =>
      `{${ASKED},"stream":true,"messages":[{"role":"user","content":"Hi"}],"tools":[{"name":"f","description":"${'\\n'.repeat((19 * MIB) / 2)}"}]}`,
  },
  '/messages: 9,000 blocks': {
    path: '/messages',
    status: 200,
    make: () =>
      `{${ASKED},"messages":[{"role":"user","content":[${list(9000, () => '{"type":"text","text":"hi"}')}]}]}`,
  },
  '/messages/count_tokens: 9,000 messages': {
    path: '/messages/count_tokens',
    status: 200,
    make: () => `{"messages":[${list(9000, () => '{"role":"user","content":"hi"}')}]}`,
  },
  '/chat: one text of 19 MiB': {
    path: '/chat',
    status: 400,
    make: () => `{"message":"${'€'.repeat((19 * MIB) / 3)}"}`,
  },
  '/chat: a name of 19 MiB': {
    path: '/chat',
    status: 400,
    make: () => `{"message":"Hello","${EXPANDING.repeat((19 * MIB) / 3)}":1}`,
  },
  '/chat: 20,000 fields that nobody knows': {
    path: '/chat',
    status: 400,
    make: () => `{"message":"Hello",${list(20_000, (n) => `"k${n}":1`)}}`,
  },
  '/images/generations: 1 MiB of a prompt': {
    path: '/images/generations',
    status: 400,
    make: () => `{"prompt":"${'€'.repeat((MIB - 100) / 3)}"}`,
  },
  '/search: 2,400 fields that nobody knows, with long names': {
    path: '/search',
    status: 400,
    make: () => `{"query":"Hello",${list(2400, (n) => `"${EXPANDING.repeat(130)}${n}":1`)}}`,
  },
  '/embeddings: one text of 8 MiB': {
    path: '/embeddings',
    status: 200,
    make: () => `{"input":"${'word '.repeat((8 * MIB - 100) / 5)}"}`,
  },
  '/embeddings: one text of 8 MiB that grows eighteenfold': {
    path: '/embeddings',
    status: 200,
    make: () => `{"input":"${EXPANDING.repeat((8 * MIB - 100) / 3)}"}`,
  },
  '/embeddings: one text of 8 MiB of accents in the wrong order': {
    path: '/embeddings',
    status: 200,
    make: () => `{"input":"${'\u0301\u0323'.repeat((8 * MIB - 100) / 4)}"}`,
  },
  '/embeddings: 300,000 tokens': {
    path: '/embeddings',
    status: 200,
    make: () => `{"input":[${list(2000, (n) => `[${list(150, (m) => String(100_000 + n * m))}]`)}]}`,
  },
  '/embeddings: 300,000 short texts': {
    path: '/embeddings',
    status: 400,
    make: () => `{"input":[${list(300_000, (n) => `"k${n.toString(36)}"`)}]}`,
  },
  '/embeddings: a million tokens': {
    path: '/embeddings',
    status: 400,
    make: () => `{"input":[${'1,'.repeat(990_000)}1]}`,
  },
  '/auth/login: 4 KiB of tiny values': {
    path: '/auth/login',
    status: 400,
    make: () => `{"email":[${'{},'.repeat(1350)}1]}`,
  },
  '/keys/report-leak: 64 KiB of keys': {
    path: '/keys/report-leak',
    status: 400,
    make: () => `{"keys":[${list(5000, (n) => `"sk_${n}"`)}]}`,
  },
};
