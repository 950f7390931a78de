/** Maps upstreams' error bodies, which differ by server, to Parley's reasons and messages. Contract section 6. */
import { isObject, parseJson } from './json.ts';

export type Problem = { code?: string; type?: string; param?: string; message?: string };

const TOO_LONG =
  'The input is too long for the model. Shorten it. In a chat, you can start a new conversation.';
const TOO_LONG_WITH_OUTPUT =
  'The input plus the maximum output exceeds the context window of the model. Shorten the input, or allow fewer output tokens.';
const TOO_MUCH_OUTPUT = 'The request allows more output tokens than the model can generate. Allow fewer.';
const BAD_IMAGE =
  'The model cannot use the image. Send a PNG, JPEG, WebP, or non-animated GIF of moderate size.';
const NOT_ALLOWED = 'The model rejected this content.';
const BAD_FIELD = 'The model does not support this parameter.';
const BAD_VALUE = 'The model does not support the value of a parameter.';

/** The reasons that clients receive, with Parley's messages. Any other reason appears only in the log. */
const reasons: Readonly<Record<string, string>> = {
  context_length_exceeded: TOO_LONG,
  request_too_large: 'The request is too large for the model. Make it smaller.',
  string_above_max_length: 'A string in the request is too long for the model. Shorten it.',
  string_below_min_length: 'A string in the request is too short for the model.',
  array_above_max_length: 'A list in the request is too long for the model. Shorten it.',
  integer_above_max_value: 'A number in the request is too large for the model.',
  integer_below_min_value: 'A number in the request is too small for the model.',
  invalid_image: BAD_IMAGE,
  invalid_image_format: BAD_IMAGE,
  invalid_image_url: BAD_IMAGE,
  invalid_base64_image: BAD_IMAGE,
  image_parse_error: BAD_IMAGE,
  image_too_large: BAD_IMAGE,
  image_too_small: BAD_IMAGE,
  unsupported_image_media_type: BAD_IMAGE,
  content_policy_violation: NOT_ALLOWED,
  image_content_policy_violation: NOT_ALLOWED,
  content_filter: NOT_ALLOWED,
  moderation_blocked: NOT_ALLOWED,
  invalid_prompt: NOT_ALLOWED,
  unsupported_parameter: BAD_FIELD,
  unknown_parameter: BAD_FIELD,
  unsupported_value: BAD_VALUE,
  invalid_value: BAD_VALUE,
  invalid_type: BAD_VALUE,
  missing_required_parameter: 'The request is missing a parameter that the model requires.',
  invalid_function_parameters: 'The model does not support the JSON schema of a tool.',
  invalid_json_schema: 'The model does not support the JSON schema.',
};

/** How servers without error codes, mainly vLLM and llama.cpp, report a conversation that is too long. */
const saysTooLong =
  /maximum context length|context (length|window|size|limit)|exceed_context_size|prompt is too long/i;
/** Whether the output limit is part of the excess length. */
const saysOutput = /\bmax_(completion_|output_)?tokens\b|\bin the completion\b/i;
/** How Anthropic reports a limit above the model's maximum output. */
const saysTooMuchOutput = /maximum allowed number of output tokens/i;
const saysNoModel = /\bmodel\b.{0,250}\b(does not exist|doesn't exist|not found|not exist)/is;

const text = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;

/** Parses `error` as an object (OpenAI) or string (Ollama), the body itself (older vLLM), or `detail` (FastAPI). */
export function readProblem(body: string): Problem {
  const parsed = parseJson(body);
  if (!isObject(parsed)) return {};
  const error = isObject(parsed.error) ? parsed.error : parsed;
  const fields = {
    code: text(error.code),
    type: text(error.type),
    param: text(error.param),
    message:
      text(error.message) ??
      text(parsed.error) ??
      (parsed.detail === undefined ? undefined : JSON.stringify(parsed.detail)),
  };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/** Returns one of the reasons that clients receive, or undefined. */
export function reasonOf({ code, message = '', type = '' }: Problem, status: number): string | undefined {
  if (code !== undefined && Object.hasOwn(reasons, code)) return code;
  if (saysTooLong.test(type) || saysTooLong.test(message)) return 'context_length_exceeded';
  if (saysTooMuchOutput.test(message)) return 'integer_above_max_value';
  return status === 413 ? 'request_too_large' : undefined;
}

function sentenceFor(reason: string | undefined, message: string): string {
  if (reason === 'context_length_exceeded' && saysOutput.test(message)) return TOO_LONG_WITH_OUTPUT;
  if (reason === 'integer_above_max_value' && saysTooMuchOutput.test(message)) return TOO_MUCH_OUTPUT;
  return (
    (reason === undefined ? undefined : reasons[reason]) ??
    'The request was rejected. Check its content and parameters.'
  );
}

/** The message for the client. `param` is the rejected request field, if known. */
export function sentences(
  { message = '' }: Problem,
  reason: string | undefined,
  param: string | undefined,
): string {
  const sentence = sentenceFor(reason, message);
  if (param === undefined || sentence === TOO_LONG_WITH_OUTPUT) return sentence;
  const endsInParameter = sentence === BAD_FIELD || sentence === BAD_VALUE;
  return endsInParameter
    ? `${sentence.slice(0, -1)}: \`${param}\`.`
    : `${sentence} The parameter is \`${param}\`.`;
}

const saysReasoning = /thinking|reasoning|effort|output_config/i;
export const saysUnsupported = /not (support|permit|match)|unsupported|unknown|unrecognized/i;

/** Whether the model cannot reason. Anthropic and Ollama report that without naming the field. */
export const saysNoReasoning = (message: string): boolean =>
  saysReasoning.test(message) && saysUnsupported.test(message);

const systemOrder = [
  /\bsystem (message|prompt|role)s?\b.{0,80}\b(beginning|first|start|only)\b/i,
  /\b(first|only) (message|one)\b.{0,80}\bsystem\b/i,
  /\broles must alternate\b/i,
  /\bunexpected role\b.{0,5}\bsystem\b/i,
  /\brole.{0,3}\bsystem\b.{0,20}\bnot supported\b/i,
];

/** Whether the model's template rejects a system message at its position. */
export const saysLaterSystem = (message: string): boolean =>
  systemOrder.some((pattern) => pattern.test(message));

/** Whether a 404 concerns the model rather than a wrong path. */
export const saysNoSuchModel = ({ code, message = '', type }: Problem): boolean =>
  code === 'model_not_found' ||
  saysNoModel.test(message) ||
  // Anthropic's message: `model: claude-0`.
  (type === 'not_found_error' && message.startsWith('model:'));
