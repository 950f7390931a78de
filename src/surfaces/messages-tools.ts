/** Translates tools of the Messages API to functions that any model can call. Contract section 14. */
import type { Static } from '@sinclair/typebox';
import type { MessagesTool, MessagesToolChoice } from '../../schemas/messages-requests.ts';
import type { JsonObject } from '../engines/upstream/json.ts';
import { required } from './messages-blocks.ts';

type Tool = Static<typeof MessagesTool>;
type Choice = Static<typeof MessagesToolChoice>;

/** Other types run at Anthropic, or have inputs that only its models know. */
const isCustom = ({ type }: Tool) => type === undefined || type === null || type === 'custom';

function functionOf({ description, input_schema: parameters, name, strict }: Tool, path: string): JsonObject {
  return {
    type: 'function',
    function: {
      name: required(name, `${path}.name`),
      ...(description !== undefined && { description }),
      parameters: parameters ?? { type: 'object', properties: {} },
      ...(strict !== undefined && { strict }),
    },
  };
}

function choiceOf({ name, type }: Choice, tools: readonly Tool[]): unknown {
  if (type === 'any') return 'required';
  if (type === 'auto' || type === 'none') return type;
  // For a choice of an omitted tool, the upstream would return an error.
  const isOffered = type === 'tool' && tools.some((tool) => tool.name === name);
  return isOffered ? { type: 'function', function: { name } } : undefined;
}

/**
 * The fields of a chat completion about tools. Empty if no tool remains.
 *
 * @throws ApiError `invalidRequest` for a tool without a name
 */
export function toolFields(tools: readonly Tool[] = [], choice?: Choice): JsonObject {
  const offered = tools.flatMap((tool, index) =>
    isCustom(tool) ? [{ tool, converted: functionOf(tool, `tools.${index}`) }] : [],
  );
  if (offered.length === 0) return {};
  const chosen =
    choice &&
    choiceOf(
      choice,
      offered.map(({ tool }) => tool),
    );
  return {
    tools: offered.map(({ converted }) => converted),
    ...(chosen !== undefined && { tool_choice: chosen }),
    ...(choice?.disable_parallel_tool_use && { parallel_tool_calls: false }),
  };
}
