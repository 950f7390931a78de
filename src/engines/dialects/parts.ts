/** Parses messages of chat completions for other APIs. Contract section 15. */
import { SealedJson } from '../../bodies/sealed.ts';
import { ApiError } from '../../errors.ts';
import { isObject, type JsonObject } from '../upstream/json.ts';

/** The error for a field of a request that the upstream's API cannot express. */
export const cannotExpress = (param: string, what: string): ApiError =>
  new ApiError('invalidRequest', {
    message: `In the body, \`${param}\` ${what}`,
    param,
    reason: 'unsupported_value',
    cause: new Error("The upstream's API cannot express the request."),
  });

/** @throws ApiError `invalidRequest` if a value is too large to parse */
export function readable<T>(value: T, path: string): T {
  if (value instanceof SealedJson) throw cannotExpress(path, 'has too many values for this model.');
  return value;
}

export type Part =
  | { type: 'text'; text: string }
  | { type: 'image'; url: string; detail: string | undefined }
  | { type: 'file'; data: string; filename: string | undefined }
  | { type: 'audio'; audio: unknown };

const textIn = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

function partOf(part: unknown, path: string): Part {
  if (!isObject(readable(part, path))) throw cannotExpress(path, 'must be an object.');
  const { file, image_url: image, input_audio: audio, refusal, text, type } = part as JsonObject;
  if (type === 'text') return { type, text: textIn(text) ?? '' };
  if (type === 'refusal') return { type: 'text', text: textIn(refusal) ?? '' };
  const url = isObject(image) ? textIn(image.url) : textIn(image);
  if (type === 'image_url' && url !== undefined)
    return { type: 'image', url, detail: isObject(image) ? textIn(image.detail) : undefined };
  const data = isObject(file) ? textIn(file.file_data) : undefined;
  if (type === 'file' && isObject(file) && data !== undefined)
    return { type, data, filename: textIn(file.filename) };
  if (type === 'input_audio') return { type: 'audio', audio };
  throw cannotExpress(
    path,
    `has a type that this model does not accept: ${JSON.stringify(type)?.slice(0, 60)}.`,
  );
}

/** The parts of a message's content. An empty list if the content is null or empty. */
export function partsOf(content: unknown, path: string): Part[] {
  if (content === null || content === undefined || content === '') return [];
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  if (!Array.isArray(readable(content, path))) throw cannotExpress(path, 'must be text or a list of parts.');
  return (content as unknown[]).map((part, index) => partOf(part, `${path}.${index}`));
}

/** The text of a system or tool message. Throws ApiError `invalidRequest` for parts of other types. */
export function textsOf(content: unknown, path: string): string {
  const texts = partsOf(content, path).map((part, index) => {
    if (part.type !== 'text') throw cannotExpress(`${path}.${index}`, 'must be text.');
    return part.text;
  });
  return texts.join('\n\n');
}

/** The type and content of a Base64 data URL. Undefined for any other URL. */
export function dataUrlOf(url: string): { type: string; data: string } | undefined {
  const comma = url.indexOf(',');
  const [, type] =
    /^data:([\w.+-]+\/[\w.+-]+)(?:;[\w=.+-]+)*;base64$/i.exec(url.slice(0, Math.max(comma, 0))) ?? [];
  return type === undefined ? undefined : { type: type.toLowerCase(), data: url.slice(comma + 1) };
}

export type ToolCall = { id: string; name: string; arguments: string };

/** The tool calls of an assistant message. */
export function callsOf({ function_call: older, tool_calls: calls }: JsonObject, path: string): ToolCall[] {
  if (older !== undefined && older !== null)
    throw cannotExpress(`${path}.function_call`, 'is not supported by this model. Use `tool_calls`.');
  if (calls === undefined || calls === null) return [];
  const list = readable(calls, `${path}.tool_calls`);
  return (Array.isArray(list) ? (list as unknown[]) : []).map((call, index) => {
    const place = `${path}.tool_calls.${index}`;
    if (!isObject(call) || !isObject(call.function) || typeof call.function.name !== 'string')
      throw cannotExpress(place, 'must be a function call.');
    const { arguments: given, name } = call.function;
    return { id: textIn(call.id) ?? `call_${index}`, name, arguments: textIn(given) ?? '' };
  });
}

export type FunctionTool = {
  name: string;
  description: string | undefined;
  parameters: unknown;
  strict: boolean | undefined;
};

export function toolsOf({ functions, tools }: JsonObject): FunctionTool[] {
  if (functions !== undefined && functions !== null)
    throw cannotExpress('functions', 'is not supported by this model. Use `tools`.');
  const list = readable(tools, 'tools');
  return (Array.isArray(list) ? (list as unknown[]) : []).map((tool, index) => {
    const named = isObject(tool) && isObject(tool.function) ? tool.function : undefined;
    if (named === undefined || typeof named.name !== 'string')
      throw cannotExpress(
        `tools.${index}`,
        'must be a function: this model supports no other types of tools.',
      );
    return {
      name: named.name,
      description: textIn(named.description),
      parameters: named.parameters,
      strict: typeof named.strict === 'boolean' ? named.strict : undefined,
    };
  });
}
