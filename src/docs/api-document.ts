type Json = Record<string, unknown>;

export type Operation = {
  method: string;
  path: string;
  operationId: string;
  summary: string;
  description: string;
  tag: string;
  /** Responses by status. References are resolved, except within schemas. */
  responses: Record<string, Json>;
};

/** A group of operations. */
export type Tag = { name: string; description: string };

/** The tags in reading order. */
export const tagsOf = (document: { tags?: Tag[] }): Tag[] => document.tags ?? [];

export const methods = ['get', 'put', 'post', 'patch', 'delete'] as const;

/** Resolves a reference of the document. Returns any other value unchanged. */
export function resolved<T>(document: object, value: T): T {
  const { $ref } = value as { $ref?: unknown };
  if (typeof $ref !== 'string') return value;
  const names = $ref.replace(/^#\//, '').split('/');
  return resolved(document, names.reduce((inner: unknown, name) => (inner as Json)[name], document) as T);
}

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
