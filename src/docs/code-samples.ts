/**
 * Code samples for API calls, and for each operation from the examples in the document. Samples run unchanged: the key
 * comes from `PARLEY_KEY`, and the session from `cookies.txt` or `PARLEY_COOKIE`.
 */
import { methods, resolved } from './api-document.ts';

type Schema = { examples?: unknown; default?: unknown };
type Parameter = {
  in: string;
  name: string;
  required?: boolean;
  example?: unknown;
  examples?: Record<string, { value?: unknown }>;
  schema?: Schema;
};
type Media = { example?: unknown; examples?: Record<string, { value?: unknown }>; schema?: Schema };
type Operation = {
  parameters?: Parameter[];
  requestBody?: { content?: Record<string, Media> };
  responses?: Record<string, object>;
  security?: Record<string, unknown>[];
};
type Response = { headers?: object; content?: object };
type Document = { paths?: object; components?: object };

type Credential = 'key' | 'x-api-key' | 'session' | 'none';

export type Call = {
  method: string;
  url: string;
  /** The credential: an API key as a bearer token or in `x-api-key`, or a cookie. */
  credential: Credential;
  /** All headers except the credential. */
  headers: Readonly<Record<string, string>>;
  /** Undefined if the operation has no body. */
  body: unknown;
  /** Whether the response sets the session cookie, as for a sign-in. */
  givesCookie: boolean;
  answer: 'none' | 'json' | 'text';
};

export type CodeSample = { lang: string; label: string; source: string };

function exampleOf({ example, schema }: Media): unknown {
  const ofSchema = Array.isArray(schema?.examples) ? schema.examples[0] : undefined;
  return example ?? ofSchema ?? schema?.default;
}

/** Encodes a part of a URL so that it needs no escapes in any shell or language. */
export const inUrl = (text: string): string =>
  encodeURIComponent(text.toWellFormed()).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );

const isSuccess = (status: string) => status.startsWith('2');

/** The type of a successful response's body. */
export function answerOf(document: object, responses: Readonly<Record<string, object>> = {}): Call['answer'] {
  const success = Object.keys(responses).filter(isSuccess);
  if (success.every((status) => status === '204' || status === '202')) return 'none';
  const isJson = success.some(
    (status) =>
      'application/json' in ((resolved(document, responses[status] ?? {}) as Response).content ?? {}),
  );
  return isJson ? 'json' : 'text';
}

function callOf(
  document: Document,
  path: string,
  method: string,
  operation: Operation,
  origin: string,
): Call {
  const resolve = <T extends object>(value: T): T => resolved(document, value);
  const whole = <T extends Media>(media: T): T => {
    const [first] = Object.values(media.examples ?? {}).map(resolve);
    return { ...media, schema: resolve(media.schema ?? {}), ...(first && { example: first.value }) };
  };
  const parameters = (operation.parameters ?? []).map((parameter) => whole(resolve(parameter)));
  const text = (parameter: Parameter) => inUrl(String(exampleOf(parameter) ?? parameter.name));
  const filled = path.replace(/\{([^}]+)\}/g, (whole, name) => {
    const parameter = parameters.find((candidate) => candidate.in === 'path' && candidate.name === name);
    return parameter ? text(parameter) : whole;
  });
  const query = parameters
    .filter((parameter) => parameter.in === 'query' && parameter.required)
    .map((parameter) => `${parameter.name}=${text(parameter)}`);
  const media = operation.requestBody && resolve(operation.requestBody).content?.['application/json'];
  const schemes = (operation.security ?? []).flatMap((alternative) => Object.keys(alternative));
  const setsCookie = (response: object = {}) =>
    'Set-Cookie' in ((resolve(response) as Response).headers ?? {});
  const success = Object.keys(operation.responses ?? {}).filter(isSuccess);
  return {
    method: method.toUpperCase(),
    url: `${origin}${filled}${query.length > 0 ? `?${query.join('&')}` : ''}`,
    credential: schemes.includes('apiKey') ? 'key' : schemes.includes('session') ? 'session' : 'none',
    headers: {},
    body: media && exampleOf(whole(media)),
    givesCookie: schemes.length === 0 && success.some((status) => setsCookie(operation.responses?.[status])),
    answer: answerOf(document, operation.responses),
  };
}

export const shellQuoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
const indented = (text: string, spaces: number) => text.replaceAll('\n', `\n${' '.repeat(spaces)}`);

const shellCredentials: Record<Credential, readonly string[]> = {
  key: ['  -H "Authorization: Bearer $PARLEY_KEY"'],
  'x-api-key': ['  -H "x-api-key: $PARLEY_KEY"'],
  session: [],
  none: [],
};

function curl({ body, credential, givesCookie, headers, method, url }: Call): string {
  const isDefault = method === (body === undefined ? 'GET' : 'POST');
  const lines = [
    `curl -sS${isDefault ? '' : ` -X ${method}`}${givesCookie ? ' -c cookies.txt' : ''}${credential === 'session' ? ' -b cookies.txt' : ''} ${/[?&]/.test(url) ? shellQuoted(url) : url}`,
    ...shellCredentials[credential],
    ...Object.entries(headers).map(([name, value]) => `  -H ${shellQuoted(`${name}: ${value}`)}`),
    ...(body === undefined
      ? []
      : ["  -H 'Content-Type: application/json'", `  -d ${shellQuoted(JSON.stringify(body))}`]),
  ];
  return lines.join(' \\\n');
}

const scriptLiteral = (value: unknown) =>
  JSON.stringify(value, null, 2).replace(/^(\s*)"([A-Za-z_$][\w$]*)":/gm, '$1$2:');

const scriptCredentials: Record<Credential, readonly string[]> = {
  key: [`    Authorization: \`Bearer \${process.env.PARLEY_KEY}\`,`],
  'x-api-key': ["    'x-api-key': process.env.PARLEY_KEY,"],
  session: ['    Cookie: process.env.PARLEY_COOKIE,'],
  none: [],
};

function javascript({ answer, body, credential, givesCookie, headers, method, url }: Call): string {
  const lines = [
    ...scriptCredentials[credential],
    ...Object.entries(headers).map(([name, value]) => `    '${name}': ${JSON.stringify(value)},`),
    ...(body === undefined ? [] : ["    'Content-Type': 'application/json',"]),
  ];
  const options = [
    ...(method === 'GET' ? [] : [`  method: '${method}',`]),
    ...(lines.length > 0 ? ['  headers: {', ...lines, '  },'] : []),
    ...(body === undefined ? [] : [`  body: JSON.stringify(${indented(scriptLiteral(body), 2)}),`]),
  ];
  const printed = [
    'response.status',
    ...(givesCookie ? ['response.headers.getSetCookie()'] : []),
    ...(answer === 'none' ? [] : [`await response.${answer}()`]),
  ];
  return [
    ...(credential === 'session' ? ['// PARLEY_COOKIE holds the cookie that sign-in returns.'] : []),
    `const response = await fetch('${url}'${options.length > 0 ? `, {\n${options.join('\n')}\n}` : ''});`,
    `console.log(${printed.join(', ')});`,
  ].join('\n');
}

function pythonLiteral(value: unknown, depth = 0): string {
  const inner = '    '.repeat(depth + 1);
  const outer = '    '.repeat(depth);
  const block = (open: string, items: string[], close: string) =>
    items.length === 0
      ? `${open}${close}`
      : `${open}\n${items.map((item) => `${inner}${item},\n`).join('')}${outer}${close}`;
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (Array.isArray(value))
    return block(
      '[',
      value.map((item) => pythonLiteral(item, depth + 1)),
      ']',
    );
  if (typeof value === 'object')
    return block(
      '{',
      Object.entries(value).map(
        ([name, item]) => `${JSON.stringify(name)}: ${pythonLiteral(item, depth + 1)}`,
      ),
      '}',
    );
  return JSON.stringify(value);
}

const pythonCredentials: Record<Credential, readonly string[]> = {
  key: [`        "Authorization": f"Bearer {os.environ['PARLEY_KEY']}",`],
  'x-api-key': ['        "x-api-key": os.environ["PARLEY_KEY"],'],
  session: ['        "Cookie": os.environ["PARLEY_COOKIE"],'],
  none: [],
};

function python({ answer, body, credential, givesCookie, headers, method, url }: Call): string {
  const lines = [
    ...pythonCredentials[credential],
    ...Object.entries(headers).map(([name, value]) => `        "${name}": ${JSON.stringify(value)},`),
    ...(body === undefined ? [] : ['        "Content-Type": "application/json",']),
  ];
  const modules = [
    ...(answer === 'json' || body !== undefined ? ['json'] : []),
    ...(credential === 'none' ? [] : ['os']),
    'urllib.request',
  ];
  const printed = [
    'response.status',
    ...(givesCookie ? ['response.headers.get_all("Set-Cookie")'] : []),
    ...(answer === 'json' ? ['json.load(response)'] : []),
    ...(answer === 'text' ? ['response.read().decode()'] : []),
  ];
  return [
    `import ${modules.join(', ')}`,
    '',
    ...(credential === 'session' ? ['# PARLEY_COOKIE holds the cookie that sign-in returns.'] : []),
    'request = urllib.request.Request(',
    `    "${url}",`,
    ...(method === 'GET' ? [] : [`    method="${method}",`]),
    ...(lines.length > 0 ? ['    headers={', ...lines, '    },'] : []),
    ...(body === undefined ? [] : [`    data=json.dumps(${pythonLiteral(body, 1)}).encode(),`]),
    ')',
    'with urllib.request.urlopen(request) as response:',
    `    print(${printed.join(', ')})`,
  ].join('\n');
}

/** Creates a sample in each language. */
export const samplesOf = (call: Call): CodeSample[] => [
  { lang: 'Shell', label: 'curl', source: curl(call) },
  { lang: 'JavaScript', label: 'JavaScript', source: javascript(call) },
  { lang: 'Python', label: 'Python', source: python(call) },
];

/** Returns a copy of a document with `x-codeSamples`. The samples call `origin`, which has no trailing slash. */
export function withCodeSamples<T extends Document>(document: T, origin: string): T {
  const paths = structuredClone(document.paths ?? {}) as Record<string, Record<string, Operation>>;
  for (const [path, item] of Object.entries(paths)) {
    for (const method of methods) {
      const operation = item[method];
      if (operation === undefined) continue;
      const call = callOf(document, path, method, operation, origin);
      Object.assign(operation, { 'x-codeSamples': samplesOf(call) });
    }
  }
  return { ...document, paths };
}
