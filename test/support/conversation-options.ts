/** Random tools and options of a chat request, in the format of each API. */
import fc from 'fast-check';
import type { Body } from './http.ts';

type Tool = { name: string; description: string | undefined; parameters: object; strict: boolean };
export type Options = {
  tools: Tool[];
  /** Undefined lets the model decide, as `auto` does. */
  choice: 'none' | 'required' | { name: string } | undefined;
  isParallel: boolean;
  effort: 'low' | 'medium' | 'high' | 'xhigh' | 'max' | undefined;
  schema: object | undefined;
};

const names = ['weather', 'map', 'search_web'];
const schema = fc
  .dictionary(
    fc.constantFrom('city', 'days', 'deep'),
    fc.constantFrom({ type: 'string' }, { type: 'integer' }),
  )
  .map((properties) => ({ type: 'object', properties }));
const tools = fc.uniqueArray(
  fc.record({
    name: fc.constantFrom(...names),
    description: fc.option(fc.constantFrom('Tells.', 'See http://localhost/'), { nil: undefined }),
    parameters: schema,
    strict: fc.boolean(),
  }),
  { maxLength: 3, selector: ({ name }) => name },
);
const choice = fc.constantFrom(
  ...(['none', 'required', undefined] as const),
  ...names.map((name) => ({ name })),
);

/** Random options. If the choice names a tool, it is one of `tools`. */
export const options: fc.Arbitrary<Options> = fc
  .record({
    tools,
    choice,
    isParallel: fc.boolean(),
    effort: fc.constantFrom(
      'low' as const,
      'medium' as const,
      'high' as const,
      'xhigh' as const,
      'max' as const,
      undefined,
    ),
    schema: fc.option(schema, { nil: undefined }),
  })
  .map((any) => {
    const named = typeof any.choice === 'object' ? any.choice.name : undefined;
    const isOffered = named === undefined || any.tools.some(({ name }) => name === named);
    const chosen = any.tools.length > 0 && isOffered ? any.choice : undefined;
    // A model that calls no tools cannot call several at once.
    const isParallel = any.isParallel || any.tools.length === 0 || chosen === 'none';
    return { ...any, choice: chosen, isParallel };
  });

const present = (fields: object) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));

/** The options in the format of chat completions. */
export function optionsInCompletions(given: Options): Body {
  const { choice: chosen, effort, isParallel, schema: format, tools: offered } = given;
  return present({
    tools:
      offered.length === 0
        ? undefined
        : offered.map((tool) => ({ type: 'function', function: present(tool) })),
    tool_choice: typeof chosen === 'object' ? { type: 'function', function: chosen } : chosen,
    parallel_tool_calls: isParallel ? undefined : false,
    reasoning_effort: effort,
    response_format: format && { type: 'json_schema', json_schema: { name: 'answer', schema: format } },
  });
}

/** The options in the format of the Responses API. */
export function optionsInResponses(given: Options): Body {
  const { choice: chosen, effort, isParallel, schema: format, tools: offered } = given;
  return present({
    tools: offered.length === 0 ? undefined : offered.map((tool) => present({ type: 'function', ...tool })),
    tool_choice: typeof chosen === 'object' ? { type: 'function', ...chosen } : chosen,
    parallel_tool_calls: isParallel ? undefined : false,
    reasoning: effort && { effort },
    text: format && { format: { type: 'json_schema', name: 'answer', schema: format } },
  });
}

function choiceInMessages({ choice: chosen, isParallel }: Options): object | undefined {
  const single = isParallel ? {} : { disable_parallel_tool_use: true };
  if (chosen === 'none') return { type: 'none' };
  if (chosen === 'required') return { type: 'any', ...single };
  if (typeof chosen === 'object') return { type: 'tool', ...chosen, ...single };
  return isParallel ? undefined : { type: 'auto', ...single };
}

/** The options in the format of the Messages API. */
export function optionsInMessages(given: Options): Body {
  const { effort, schema: format, tools: offered } = given;
  const config = present({ effort, format: format && { type: 'json_schema', schema: format } });
  return present({
    tools:
      offered.length === 0
        ? undefined
        : offered.map(({ parameters, ...tool }) => present({ ...tool, input_schema: parameters })),
    tool_choice: choiceInMessages(given),
    output_config: Object.keys(config).length > 0 ? config : undefined,
  });
}

/** The options in a body of chat completions, with defaults left out. */
export const optionsIn = (body: Body): Body =>
  present({
    tools: body.tools,
    tool_choice: body.tool_choice === 'auto' ? undefined : body.tool_choice,
    parallel_tool_calls: body.parallel_tool_calls === false ? false : undefined,
    reasoning_effort: body.reasoning_effort,
    response_format: body.response_format,
  });
