import { resolved } from './api-document.ts';
import { withCodeSamples } from './code-samples.ts';

type Parameter = {
  in: string;
  required?: boolean;
  example?: unknown;
  examples?: Record<string, { value?: unknown }>;
};
type Operation = { parameters?: object[] };
type Document = { info?: { description?: string }; paths?: object; components?: object };

/** Shows examples of optional parameters without filling them in, because few requests need all of them. */
function notFilledIn(parameter: Parameter, document: object): Parameter {
  const { example, examples, ...rest } = parameter;
  const all = examples ?? (example === undefined ? {} : { example: { value: example } });
  if (parameter.required || Object.keys(all).length === 0) return parameter;
  return {
    ...rest,
    examples: Object.fromEntries(
      Object.entries(all).map(([name, one]) => [name, { ...resolved(document, one), 'x-disabled': true }]),
    ),
  };
}

const tryIt = `## Try it here

If you are [signed in](/) in this browser, calls use your session. To call with a key instead, enter it under
Authentication. The page keeps the key in memory until you leave or reload, and sends it, without cookies, to operations
that accept a key. Dashboard operations always use your session. Calls are real: they use your quota, and deletions are
permanent.`;

/** Returns a copy of a document with code samples that call `publicUrl`. Its requests go to the page's origin. */
export function referenceDocument<T extends Document>(document: T, publicUrl: string): T {
  const { paths, ...rest } = withCodeSamples(document, publicUrl);
  for (const item of Object.values(paths ?? {}) as Record<string, Operation>[])
    for (const operation of Object.values(item))
      if (operation.parameters)
        operation.parameters = operation.parameters.map((parameter) =>
          notFilledIn(resolved(document, parameter) as Parameter, document),
        );
  // The relative URL is the origin from which the page was opened.
  const info = { ...rest.info, description: `${rest.info?.description ?? ''}\n\n${tryIt}` };
  return { ...rest, info, paths, servers: [{ url: '/' }] } as unknown as T;
}
