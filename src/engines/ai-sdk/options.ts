/** Converts requests for chat completions to call options of the AI SDK. Contract section 15. */
import type { LanguageModelV3CallOptions, LanguageModelV3FunctionTool } from '@ai-sdk/provider';
import { readable, toolsOf } from '../dialects/parts.ts';
import type { CompletionInput } from '../types.ts';
import { isObject, type JsonObject, present } from '../upstream/json.ts';
import { promptOf } from './prompt.ts';

type Options = LanguageModelV3CallOptions;
type Schema = LanguageModelV3FunctionTool['inputSchema'];

const anyObject = { type: 'object', properties: {} };

const numberIn = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined);

function toolFields(input: JsonObject): Pick<Options, 'tools' | 'toolChoice'> {
  const tools = toolsOf(input).map(({ description, name, parameters, strict }, index) => ({
    ...{ type: 'function' as const, name },
    inputSchema: (readable(parameters, `tools.${index}.function.parameters`) ?? anyObject) as Schema,
    ...(description !== undefined && { description }),
    ...(strict !== undefined && { strict }),
  }));
  if (tools.length === 0) return {};
  const { tool_choice: choice } = input;
  if (isObject(choice) && isObject(choice.function))
    return { tools, toolChoice: { type: 'tool', toolName: String(choice.function.name) } };
  const type = choice === 'none' || choice === 'required' ? choice : 'auto';
  return { tools, toolChoice: { type } };
}

function formatOf(format: unknown): Options['responseFormat'] {
  if (!isObject(format)) return undefined;
  if (format.type === 'json_object') return { type: 'json' };
  if (format.type !== 'json_schema' || !isObject(format.json_schema)) return undefined;
  const { description, name, schema } = format.json_schema;
  return {
    type: 'json',
    ...(isObject(schema) && { schema: readable(schema, 'response_format') as Schema }),
    ...(typeof name === 'string' && { name }),
    ...(typeof description === 'string' && { description }),
  };
}

/** The AI SDK has no common setting for reasoning, so each provider needs a different one. */
function reasoningOptions(effort: unknown): Options['providerOptions'] {
  if (typeof effort !== 'string') return undefined;
  return {
    google: effort === 'none' ? {} : { thinkingConfig: { includeThoughts: true } },
    openai: { reasoningEffort: effort },
    ...(effort === 'none' || effort === 'high' ? { mistral: { reasoningEffort: effort } } : {}),
    ...(effort === 'none' ? { cohere: { thinking: { type: 'disabled' } } } : {}),
  };
}

/** @throws ApiError `invalidRequest` that names the part that the AI SDK cannot express */
export function callOptions(input: CompletionInput, abortSignal: AbortSignal): Options {
  const request = input as JsonObject;
  const { max_completion_tokens: most, max_tokens: older, stop } = request;
  const stops = typeof stop === 'string' ? [stop] : stop;
  return present({
    prompt: promptOf(input.messages),
    ...toolFields(request),
    maxOutputTokens: numberIn(most) ?? numberIn(older),
    temperature: numberIn(request.temperature),
    topP: numberIn(request.top_p),
    topK: numberIn(request.top_k),
    presencePenalty: numberIn(request.presence_penalty),
    frequencyPenalty: numberIn(request.frequency_penalty),
    seed: numberIn(request.seed),
    stopSequences: Array.isArray(stops) ? (stops as unknown[]).map(String) : undefined,
    responseFormat: formatOf(request.response_format),
    providerOptions: reasoningOptions(request.reasoning_effort),
    abortSignal,
  }) as Options;
}
