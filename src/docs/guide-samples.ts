/** Translates the guides' curl calls to other languages, like the samples of the reference. Decision 0028. */
import { parseArgs } from 'node:util';
import { type Operation, operationsOf } from './api-document.ts';
import { answerOf, type Call, samplesOf } from './code-samples.ts';
import { sampleBlock } from './operation-markdown.ts';

/** A part of a shell word. The only supported variable is the key in a header. */
const part = String.raw`'([^']*)'|"([^"$\`\\]*|(?:Authorization: Bearer|x-api-key:) \$PARLEY_KEY)"|\\(')|([\w./:@=,+%~-])`;
const parts = new RegExp(part, 'g');
const word = `(?:${part})+`;
const command = new RegExp(String.raw`^curl(?:(?: |\\\n)+${word})+$`);

const wordsOf = (text: string): string[] =>
  [...text.matchAll(new RegExp(word, 'g'))].map(([whole]) =>
    whole.replace(parts, (_, single, double, escaped, bare) => single ?? double ?? escaped ?? bare),
  );

/** Options of curl that have an equivalent in the other languages. */
const options = {
  silent: { type: 'boolean', short: 's' },
  'show-error': { type: 'boolean', short: 'S' },
  request: { type: 'string', short: 'X' },
  header: { type: 'string', short: 'H', multiple: true },
  data: { type: 'string', short: 'd' },
  cookie: { type: 'string', short: 'b' },
  'cookie-jar': { type: 'string', short: 'c' },
} as const;

const credentials: Record<string, Call['credential']> = {
  'Authorization: Bearer $PARLEY_KEY': 'key',
  'x-api-key: $PARLEY_KEY': 'x-api-key',
};

function argumentsOf(text: string) {
  if (!command.test(text)) return undefined;
  const [, ...args] = wordsOf(text);
  try {
    return parseArgs({ args, options, allowPositionals: true });
  } catch {
    return undefined;
  }
}

function callOf(text: string, document: object, operations: readonly Operation[]): Call | undefined {
  const { positionals: [url = '', ...more] = [], values } = argumentsOf(text) ?? {};
  if (values === undefined || more.length > 0 || !URL.canParse(url)) return undefined;
  const { cookie, data, header = [], request } = values;
  const method = request ?? (data === undefined ? 'GET' : 'POST');
  const { pathname } = new URL(url);
  const operation = operations.find(
    (one) => one.method === method && new RegExp(`^${one.path.replace(/\{\w+\}/g, '[^/]+')}$`).test(pathname),
  );
  if (operation === undefined) return undefined;
  const key = header.find((line) => line in credentials);
  const others = header.filter((line) => line !== key && !/^content-type:/i.test(line));
  return {
    method,
    url,
    credential: key ? (credentials[key] ?? 'none') : cookie === undefined ? 'none' : 'session',
    headers: Object.fromEntries(others.map((line) => line.split(': ', 2))),
    body: data === undefined ? undefined : JSON.parse(data),
    givesCookie: values['cookie-jar'] !== undefined,
    answer: answerOf(document, operation.responses),
  };
}

/** A block without a sample in another language after it. */
const lonely = /^```bash\n(curl .*(?:\n(?!```).*)*)\n```$(?!\n\n```(?:js|python|ts)$)/gm;

/**
 * Adds JavaScript and Python to each block of a guide that is a single curl call of an operation. Skips blocks that
 * these languages cannot express: variables, pipes, several commands, or options for curl's output.
 */
export function withAllLanguages(markdown: string, document: object): string {
  const operations = operationsOf(document);
  return markdown.replace(lonely, (block: string, text: string) => {
    const call = callOf(text, document, operations);
    if (call === undefined) return block;
    const others = samplesOf(call).filter(({ label }) => label !== 'curl');
    return [block, ...others.map(sampleBlock)].join('\n\n');
  });
}
