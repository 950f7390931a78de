/** An API operation as Markdown, for its page and for coding agents. */
import { type ErrorCode, errorTable } from '../../schemas/errors.ts';
import { errorUrl } from '../errors.ts';
import { type Operation, resolved } from './api-document.ts';
import type { CodeSample } from './code-samples.ts';
import { type Field, fieldsOf, parameterField } from './schema-fields.ts';

type Media = { schema?: object; examples?: Record<string, { value?: unknown }> };
type Content = Record<string, Media>;
type Parameter = { in: string; name: string; required?: boolean; description?: string; schema: object };
type Documented = {
  parameters?: Parameter[];
  requestBody?: { description?: string; required?: boolean; content: Content };
  security?: Record<string, string[]>[];
  'x-codeSamples'?: CodeSample[];
};

const fences: Record<string, string> = { curl: 'bash', JavaScript: 'js', Python: 'python' };

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ');

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.map(cell).join(' | ')} |`).join('\n');

const requestTable = (what: string, fields: readonly Field[]): string =>
  table(
    [what, 'Type', 'Meaning'],
    fields.map(({ about, bounds, isRequired, path, type }) => [
      `\`${path}\`${isRequired ? ' **required**' : ''}`,
      type,
      [about, bounds].filter(Boolean).join(' '),
    ]),
  );

const responseTable = (fields: readonly Field[]): string =>
  table(
    ['Field', 'Type', 'Meaning'],
    fields.map(({ about, isRequired, path, type }) => [
      `\`${path}\`${isRequired ? '' : ' (optional)'}`,
      type,
      about,
    ]),
  );

const fenced = (language: string, text: string): string => `\`\`\`${language}\n${text.trimEnd()}\n\`\`\``;

/** Formats a code sample as a fenced block. */
export const sampleBlock = ({ label, source }: Pick<CodeSample, 'label' | 'source'>): string =>
  fenced(fences[label] ?? '', source);

function credentialText({ security = [] }: Documented): string {
  const names = security.flatMap((one) => Object.keys(one));
  if (names.includes('apiKey'))
    return 'accepts an [API key](/docs/guides/authentication), or the session of a signed-in owner';
  return names.includes('session')
    ? 'requires the session of a signed-in owner, and does not accept API keys'
    : 'requires no credential';
}

function bodySection(document: object, { requestBody }: Documented): string[] {
  if (requestBody === undefined) return [];
  const { content, description = '', required } = resolved(document, requestBody);
  const schema = content['application/json']?.schema;
  if (schema === undefined) return [];
  const about = [description, required === false ? 'The body is optional.' : ''].filter(Boolean);
  const fields = fieldsOf(document, schema);
  return [
    '## Body',
    ...(about.length > 0 ? [about.join(' ')] : []),
    ...(fields.length > 0 ? [requestTable('Field', fields)] : []),
  ];
}

function sampleSection({ 'x-codeSamples': samples = [] }: Documented): string[] {
  if (samples.length === 0) return [];
  return ['## Samples', ...samples.map(sampleBlock)];
}

const exampleOf = (document: object, { examples = {} }: Media): string | undefined => {
  const [first] = Object.values(examples);
  const value = first && resolved(document, first).value;
  return value === undefined ? undefined : typeof value === 'string' ? value : JSON.stringify(value, null, 2);
};

const titles: Record<string, string> = {
  'application/json': 'Response',
  'text/event-stream': 'Events of a stream',
};

function responseSections(document: object, { responses }: Operation): string[] {
  return Object.entries(responses)
    .filter(([status]) => status.startsWith('2'))
    .flatMap(([status, response]) => {
      const { content = {}, description = '' } = response as { content?: Content; description?: string };
      if (Object.keys(content).length === 0) return ['## Response', `Status ${status}. ${description}`];
      return Object.entries(content).flatMap(([type, media]) => {
        const fields = media.schema ? fieldsOf(document, media.schema) : [];
        const example = exampleOf(document, media);
        return [
          `## ${titles[type] ?? `Response as ${type}`}`,
          `Status ${status}.`,
          ...(fields.length > 0 ? [responseTable(fields)] : []),
          ...(example === undefined ? [] : [fenced(type === 'application/json' ? 'json' : 'text', example)]),
        ];
      });
    });
}

function errorSection({ responses }: Operation): string[] {
  const codes = Object.entries(responses)
    .filter(([status]) => Number(status) >= 400)
    .flatMap(([, response]) => {
      const { content = {} } = response as { content?: Content };
      return Object.keys(content['application/json']?.examples ?? {});
    })
    .filter((code): code is ErrorCode => code in errorTable);
  if (codes.length === 0) return [];
  const rows = codes.map((code) => [
    String(errorTable[code].status),
    `[${code}](${errorUrl('', code)})`,
    errorTable[code].message,
  ]);
  return ['## Errors', table(['Status', 'Code', 'Message'], rows)];
}

/**
 * Title, description, and sections for samples, parameters, body, responses, and errors.
 *
 * @param document - the OpenAPI document with code samples
 */
export function operationMarkdown(document: object, operation: Operation): string {
  const { description, method, path, summary } = operation;
  const { paths } = document as { paths: Record<string, Record<string, Documented>> };
  const documented = paths[path]?.[method.toLowerCase()] ?? {};
  const parameters = (documented.parameters ?? []).map((one) => resolved(document, one));
  return [
    `# ${summary}`,
    description,
    `\`${method} ${path}\` ${credentialText(documented)}.`,
    ...sampleSection(documented),
    ...(parameters.length > 0
      ? [
          '## Parameters',
          requestTable(
            'Parameter',
            parameters.map((one) => parameterField(document, one)),
          ),
        ]
      : []),
    ...bodySection(document, documented),
    ...responseSections(document, operation),
    ...errorSection(operation),
  ].join('\n\n');
}
