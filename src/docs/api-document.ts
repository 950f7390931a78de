/** Reads the API's own OpenAPI document. */

type Json = Record<string, unknown>;

/** An operation as the document has it. */
export type Operation = {
  method: string;
  path: string;
  operationId: string;
  summary: string;
  description: string;
  /** The first of its tags. */
  tag: string;
  /** What it answers with, by status; references into the document are resolved, those inside of schemas are not. */
  responses: Record<string, Json>;
};

/** The methods that the API has, as the document writes them. */
export const methods = ['get', 'put', 'post', 'patch', 'delete'] as const;

/** What a reference of the document stands for; anything else as it is. */
export function resolved<T>(document: object, value: T): T {
  const { $ref } = value as { $ref?: unknown };
  if (typeof $ref !== 'string') return value;
  const names = $ref.replace(/^#\//, '').split('/');
  return resolved(document, names.reduce((inner: unknown, name) => (inner as Json)[name], document) as T);
}

/** The operations of a document, in its order. */
export function operationsOf(document: { paths?: object }): Operation[] {
  return Object.entries((document.paths ?? {}) as Record<string, Record<string, Json>>).flatMap(
    ([path, item]) =>
      methods.flatMap((method) => {
        const operation = item[method];
        if (operation === undefined) return [];
        const responses = Object.entries(operation.responses as Record<string, Json>);
        return {
          method: method.toUpperCase(),
          path,
          operationId: String(operation.operationId),
          summary: String(operation.summary),
          description: String(operation.description),
          tag: String((operation.tags as string[])[0]),
          responses: Object.fromEntries(
            responses.map(([status, response]) => [status, resolved(document, response)]),
          ),
        };
      }),
  );
}
