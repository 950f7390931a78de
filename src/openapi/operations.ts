/** Completes the operations of `openapi.json`. Shared parts become components, so generators create one type each. */
import type { FastifyContextConfig } from 'fastify';
import type { Example } from '../../schemas/examples/example.ts';
import { operationExamples } from '../../schemas/examples/index.ts';
import { capitalized, errorExamples, type QueryParameter } from './error-examples.ts';
import { errorResponses, errorsOf, type Shared } from './errors.ts';
import { headers, successHeaders } from './headers.ts';
import { documented } from './schemas.ts';

type Media = { schema: { $ref?: string }; examples?: unknown };
type Content = Record<string, Media>;
type Parameter = { in: string; name: string; required?: boolean; schema: { maximum?: number } };
export type Operation = {
  operationId: string;
  parameters?: (Parameter | { $ref: string })[];
  requestBody?: { description?: string; required?: boolean; content: Content };
  responses: Record<string, { headers?: object; content?: Content } | { $ref: string }>;
};
type Named = Record<string, unknown>;
type Components = { schemas?: Record<string, { description?: string; required?: readonly string[] }> };
/** A route's config, with its body limit in bytes. */
export type DocumentedConfig = FastifyContextConfig & { bodyLimit?: number | undefined };
type Document = { paths?: Record<string, Record<string, Operation>>; components?: Components };
type All = Shared & { parameters: Named };

/** Sorts members by name, so that the output does not depend on the order of registration. */
const sorted = <T extends object>(value: T): T =>
  Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1))) as T;

const singular: Record<string, string> = {
  accounts: 'Account',
  chat: 'Chat',
  conversations: 'Conversation',
  keys: 'Key',
  models: 'Model',
  responses: 'Response',
  sessions: 'Session',
};

/** The component name of a parameter; undefined if only one operation uses it. Throws if a name is missing here. */
function parameterName(path: string, { in: place, name, schema }: Parameter): string | undefined {
  if (place === 'path') {
    const plural = path.split('/{')[0]?.split('/').at(-1) ?? '';
    const resource = singular[plural];
    if (resource === undefined) throw new Error(`Add the singular of "${plural}" in ${path}.`);
    return `${resource}${capitalized(name)}`;
  }
  if (place === 'header') {
    if (name !== 'idempotency-key') throw new Error(`Name the header ${name} of ${path}.`);
    return 'IdempotencyKey';
  }
  if (name === 'limit') {
    if (schema.maximum === undefined) throw new Error(`Give the limit of ${path} a maximum.`);
    return `LimitTo${schema.maximum}`;
  }
  return name === 'cursor' ? 'Cursor' : undefined;
}

function shareParameters(path: string, operation: Operation, all: All): void {
  if (operation.parameters === undefined) return;
  operation.parameters = operation.parameters.map((parameter) => {
    if ('$ref' in parameter) return parameter;
    const name = parameterName(path, parameter);
    if (name === undefined) return parameter;
    // Fastify matches headers in lowercase. The document shows the usual spelling.
    if (parameter.in === 'header') parameter.name = 'Idempotency-Key';
    all.parameters[name] ??= parameter;
    return { $ref: `#/components/parameters/${name}` };
  });
}

function referencesTo(examples: Record<string, Example>, prefix: string, all: All): object {
  return Object.fromEntries(
    Object.entries(examples).map(([name, example]) => {
      const component = `${prefix}${capitalized(name)}`;
      all.examples[component] = example;
      return [name, { $ref: `#/components/examples/${component}` }];
    }),
  );
}

const queryOf = ({ parameters = [] }: Operation): QueryParameter[] =>
  parameters.flatMap((parameter) => ('name' in parameter && parameter.in === 'query' ? [parameter] : []));

/** The schema of an operation's body; undefined if it has no body. */
function bodyOf({ requestBody }: Operation, { schemas }: Components) {
  const component = requestBody?.content['application/json']?.schema.$ref?.split('/').at(-1);
  return component === undefined ? undefined : schemas?.[component];
}

/** @throws Error if an operation with a body has no example of it */
function giveExamples(operation: Operation, components: Components, all: All): void {
  const { operationId, requestBody, responses } = operation;
  const { csv, jsonl, requests, responses: answers, stream } = operationExamples[operationId] ?? {};
  const add = (media: Media | undefined, what: string, examples: Record<string, Example> | undefined) => {
    if (media === undefined) return;
    if (examples === undefined)
      throw new Error(`Give ${operationId} an example of its ${what.toLowerCase()} in schemas/examples.`);
    media.examples = referencesTo(examples, `${operationId}${what}`, all);
  };
  const body = requestBody?.content['application/json'];
  add(body, 'Request', requests);
  const { description } = bodyOf(operation, components) ?? {};
  if (requestBody && description) requestBody.description = description;
  for (const response of Object.values(responses)) {
    if ('$ref' in response) continue;
    add(response.content?.['application/json'], 'Response', answers);
    add(response.content?.['text/event-stream'], 'Event', stream);
    add(response.content?.['text/csv'], 'Csv', csv);
    add(response.content?.['application/jsonl'], 'Jsonl', jsonl);
  }
}

function usedHeaders(holders: object): object {
  const text = JSON.stringify(holders);
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => text.includes(`"#/components/headers/${name}"`)),
  );
}

/** Adds headers, examples, and errors to a document of `@fastify/swagger`. `configOf` is keyed by `operationId`. */
export function withOperations<T extends Document>(
  document: T,
  configOf: ReadonlyMap<string, DocumentedConfig>,
): T {
  const all: All = { examples: {}, parameters: {}, responses: {} };
  const components = document.components ?? {};
  for (const [path, item] of Object.entries(document.paths ?? {})) {
    for (const [method, operation] of Object.entries(item)) {
      const config = configOf.get(operation.operationId);
      if (config === undefined) throw new Error(`${operation.operationId} has no route.`);
      const query = queryOf(operation);
      shareParameters(path, operation, all);
      if (operation.requestBody && config.bodyIsOptional) operation.requestBody.required = false;
      for (const response of Object.values(operation.responses)) {
        if ('$ref' in response) continue;
        const isStreamed = response.content !== undefined && 'text/event-stream' in response.content;
        response.headers = successHeaders(config, isStreamed);
      }
      const examples = errorExamples(config, bodyOf(operation, components), query);
      const codes = errorsOf(config, method.toUpperCase());
      Object.assign(operation.responses, errorResponses(codes, config, examples, all));
      giveExamples(operation, components, all);
    }
  }
  return {
    ...document,
    paths: sorted(document.paths ?? {}),
    components: {
      ...components,
      schemas: sorted(documented(components.schemas ?? {})),
      responses: sorted(all.responses),
      parameters: sorted(all.parameters),
      examples: sorted(all.examples),
      headers: sorted(usedHeaders({ paths: document.paths, responses: all.responses })),
    },
  };
}
