/**
 * Checks the sources that a client asks the engine to read: URLs, such as those of images and tool servers, and stored
 * files. URLs must not point into the operator's network. This is decided without DNS. Stored files on a model server
 * are the operator's. Contract section 7.
 */
import { SealedJson } from '../bodies/sealed.ts';
import { ApiError } from '../errors.ts';
import { parsedUrl } from './parsed-url.ts';
import { hostOf, isPublicHost } from './public-hosts.ts';

/** Names of members that hold a URL, in any case: `url`, `image_url`, `server_url`, `fileUri`. */
const URL_MEMBER = /ur[li]s?$/i;
const URL_ENDING = 4;
/** Other strings that an upstream may fetch. They begin with a known scheme, or with any scheme and a slash. */
const LOOKS_LIKE_URL = /^[\s\p{Cc}]*((https?|ftp|file|wss?|gopher|s3|gs):|[a-z][a-z0-9+.-]*:[\\/])/iu;
/** Parsers disagree about these characters, and may see another host. */
const AMBIGUOUS = /[\\\s\p{Cc}]/u;

/** Members that hold text or the model's output. Upstreams do not fetch it. */
const texts = new Set([
  'text',
  'thinking',
  'reasoning',
  'reasoning_content',
  'refusal',
  'annotations',
  'tool_calls',
  'function_call',
  'filename',
]);
const MAX_TEXT_MEMBER_LENGTH = 20;
/** Tool definitions, in which URLs only name schemas. */
const definitions = new Set(['function', 'custom']);
/** Text members of the Responses and Messages APIs. */
const originalTexts = new Set([
  ...texts,
  ...['signature', 'encrypted_content', 'summary', 'citations', 'logprobs', 'arguments', 'input'],
  ...['input_schema', 'input_examples', 'parameters', 'format'],
]);
/** Members that hold text if they are strings. `data` is base64, or the text of a document. */
const originalStrings = new Set([
  ...['content', 'output', 'title', 'context', 'description', 'data'],
  // The origin of a search result.
  'source',
]);
const none: ReadonlySet<string> = new Set();

// A name can be megabytes long, so it is not scanned as a whole.
const isOneOf = (names: ReadonlySet<string>, name: string) =>
  name.length <= MAX_TEXT_MEMBER_LENGTH && names.has(name.toLowerCase());
const isUrlMember = (name: string) => URL_MEMBER.test(name.slice(-URL_ENDING));
/** Names of members that refer to stored files: `file_id`, `file_ids`, `fileId`. */
const isFileMember = (name: string) => name.length <= MAX_TEXT_MEMBER_LENGTH && /^file_?ids?$/i.test(name);

const MAX_QUOTED = 100;
/** Longer URLs are rejected, because parsing megabytes would block the event loop. */
const MAX_URL = 8192;
const BEGINNING = 1000;

/** Parses `IMAGE_HOSTS`. Throws an Error whose message completes a sentence that begins with the variable's name. */
export function parseImageHosts(value: string | undefined): ReadonlySet<string> {
  const entries = (value ?? '')
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
  return new Set(
    entries.map((entry) => {
      const url = `https://${entry}/`;
      const host = /^[^/\\@?#\s]+$/.test(entry) && URL.canParse(url) ? new URL(url) : undefined;
      if (host === undefined || host.port !== '')
        throw new Error(
          `must list hosts such as images.internal,10.0.0.5, without scheme or port, not "${entry}".`,
        );
      return hostOf(host);
    }),
  );
}

const STORED_FILE = 'refers to a stored file, which only the operator can use; send the file as data';

/** Describes why a URL must not be fetched; undefined if it may be fetched. */
function faultOf(text: string, allowed: ReadonlySet<string>): string | undefined {
  if (/^data:/i.test(text)) return undefined;
  if (text.length > MAX_URL) return `must be a \`data:\` URL, or a URL of at most ${MAX_URL} characters`;
  const url = parsedUrl(text);
  if (!/^https:\/\/[^/]/i.test(text) || AMBIGUOUS.test(text) || url === undefined)
    return 'must be a `data:` or an `https` URL';
  if (url.username !== '' || url.password !== '') return 'must be a URL without credentials';
  const host = hostOf(url);
  return allowed.has(host) || isPublicHost(host)
    ? undefined
    : 'points to a private address or a local name; use a public host, or send a file as a `data:` URL';
}

type Visit = {
  path: string;
  allowed: ReadonlySet<string>;
  isMember: boolean;
  skipped: ReadonlySet<string>;
  /** Members to skip if they are strings. */
  skippedStrings?: ReadonlySet<string>;
};

function refused(path: string, fault: string): ApiError {
  const param = path.slice(0, 5 * MAX_QUOTED);
  const message = `In the body, \`${param}\` ${fault}.`;
  return new ApiError('invalidRequest', { message, param, reason: 'unsupported_value' });
}

function visit(value: unknown, at: Visit): void {
  const { allowed, isMember, path, skipped, skippedStrings = none } = at;
  if (typeof value === 'string') {
    if (!isMember && !LOOKS_LIKE_URL.test(value.slice(0, BEGINNING))) return;
    const fault = faultOf(value, allowed);
    if (fault === undefined) return;
    throw refused(path, fault);
  }
  if (typeof value !== 'object' || value === null) return;
  // The value cannot be inspected, so it could hide a URL.
  if (value instanceof SealedJson)
    throw new ApiError('invalidRequest', {
      message: 'A field or message in the body has too many values. Send fewer.',
      param: path.slice(0, 5 * MAX_QUOTED),
    });
  if (Array.isArray(value)) {
    for (const [index, element] of value.entries()) visit(element, { ...at, path: `${path}.${index}` });
    return;
  }
  for (const [name, member] of Object.entries(value)) {
    if (isOneOf(skipped, name)) continue;
    if (typeof member === 'string' && isOneOf(skippedStrings, name)) continue;
    visitMember(name, member, at);
  }
}

function visitMember(name: string, member: unknown, at: Visit): void {
  const path = `${at.path}.${name.slice(0, MAX_QUOTED)}`;
  if (isFileMember(name) && member !== null) throw refused(path, STORED_FILE);
  visit(member, { ...at, path, isMember: isUrlMember(name) });
}

type Body = { messages: readonly object[] } & Record<string, unknown>;

/** Checks all URLs and file names outside texts and schemas. Throws `invalidRequest` for the first forbidden one. */
export function checkNamedSources(body: Body, allowed: ReadonlySet<string>): void {
  for (const [index, message] of body.messages.entries()) {
    for (const [name, value] of Object.entries(message)) {
      if (typeof value === 'string' && !isUrlMember(name) && !isFileMember(name)) continue;
      if (isOneOf(texts, name)) continue;
      visitMember(name, value, { path: `messages.${index}`, allowed, isMember: false, skipped: texts });
    }
  }
  const { content } = (body.prediction ?? {}) as { content?: unknown };
  if (Array.isArray(content))
    visit(content, { path: 'prediction.content', allowed, isMember: false, skipped: texts });
  visit(body.tools, { path: 'tools', allowed, isMember: false, skipped: definitions });
}

/** Members of requests in the Responses and Messages APIs that can refer to sources. */
const originalMembers = ['system', 'messages', 'input', 'tools'];

/** The same check for a request in one of these APIs, as its upstream receives it. Throws the same errors. */
export function checkOriginalSources(
  body: Readonly<Record<string, unknown>>,
  allowed: ReadonlySet<string>,
): void {
  const at = { allowed, isMember: false, skipped: originalTexts, skippedStrings: originalStrings };
  for (const name of originalMembers)
    if (typeof body[name] === 'object') visit(body[name], { ...at, path: name });
}
