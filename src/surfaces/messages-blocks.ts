/** Translates content blocks of the Messages API to parts of chat completions. Contract section 14. */
import type { Static } from '@sinclair/typebox';
import type {
  MessagesInputBlock as MessagesInputBlockSchema,
  MessagesSource,
} from '../../schemas/messages-requests.ts';
import { isObject, type JsonObject } from '../engines/upstream/json.ts';
import { ApiError } from '../errors.ts';

export type Part = JsonObject & { type: string; text?: string };
/** Any kind of block. Blocks of system prompts and tool results have fewer members. */
export type InputBlock = Static<typeof MessagesInputBlockSchema>;
export type Content = string | readonly JsonObject[] | undefined | null;
type Source = Static<typeof MessagesSource>;

const MEDIA_TYPE = /^image\/[a-z0-9.+-]{1,100}$/i;

export const refused = (path: string, problem: string): ApiError =>
  new ApiError('invalidRequest', { message: `In the body, \`${path}\` ${problem}`, param: path });

/** Throws `invalidRequest` if a required member is missing. The schema allows any members in nested blocks. */
export function required(value: unknown, path: string): string {
  if (value === undefined) throw refused(path, 'is required.');
  if (typeof value !== 'string') throw refused(path, 'must be a string.');
  return value;
}

/** Joins texts so that blocks stay separate paragraphs. */
export const joined = (texts: readonly string[]): string => texts.join('\n\n');

const sourceOf = ({ source }: InputBlock): Source | undefined =>
  isObject(source) ? (source as Source) : undefined;

function imagePart(source: Source | undefined, path: string): Part {
  if (source?.type === 'url') return imageOf(required(source.url, `${path}.source.url`));
  if (source?.type !== 'base64')
    throw refused(path, 'must have a `source` of type `base64` or `url`: this service stores no files.');
  const { data, media_type: mediaType = '' } = source;
  if (!MEDIA_TYPE.test(mediaType))
    throw refused(`${path}.source.media_type`, 'must be the type of an image, such as `image/png`.');
  return imageOf(`data:${mediaType};base64,${required(data, `${path}.source.data`)}`);
}

const imageOf = (url: string): Part => ({ type: 'image_url', image_url: { url } });
const textPart = (text: string): Part => ({ type: 'text', text });

const PDF = 'application/pdf';
/** Some servers require a file name. */
const UNTITLED = 'document.pdf';

const unreadable = (path: string): ApiError =>
  refused(
    path,
    'is a document that this model cannot read. Send its text: a `source` of type `text` with the text as `data`.',
  );

function isPdf(block: InputBlock): boolean {
  const source = sourceOf(block);
  return block.type === 'document' && source?.type === 'base64' && source.media_type === PDF;
}

function documentParts(block: InputBlock & JsonObject, path: string): Part[] {
  const { title } = block;
  const source = sourceOf(block);
  const name = typeof title === 'string' ? title : '';
  if (isPdf(block)) {
    const data = `data:${PDF};base64,${required(source?.data, `${path}.source.data`)}`;
    return [{ type: 'file', file: { file_data: data, filename: name || UNTITLED } }];
  }
  const heading = name === '' ? [] : [textPart(name)];
  if (source?.type === 'text') return [...heading, textPart(required(source.data, `${path}.source.data`))];
  const { content } = (source ?? {}) as { content?: unknown };
  if (source?.type === 'content' && (typeof content === 'string' || Array.isArray(content)))
    return [...heading, ...partsOf(content, `${path}.source.content`)];
  throw unreadable(path);
}

/** A tool's search result: its title, its source, and its text. */
function searchResultParts({ content, source, title }: InputBlock & JsonObject, path: string): Part[] {
  const labels = [title, source].flatMap((label) =>
    typeof label === 'string' && label !== '' ? [textPart(label)] : [],
  );
  return [...labels, ...partsOf(content as Content, `${path}.content`)];
}

/** Throws `invalidRequest` for the first PDF document, because the built-in engine only reads text. */
export function refusePdfs(content: Content, path: string): void {
  if (!Array.isArray(content)) return;
  for (const [index, block] of (content as unknown[]).entries()) {
    if (!isObject(block)) continue;
    const place = `${path}.${index}`;
    if (isPdf(block as InputBlock)) throw unreadable(place);
    refusePdfs(block.content as Content, `${place}.content`);
  }
}

/** Parts for text, images, documents, and names of tools. Omits other kinds of blocks. */
export function partsOf(content: Content, path: string): Part[] {
  if (content === undefined || content === null) return [];
  if (typeof content === 'string') return content === '' ? [] : [textPart(content)];
  if (!Array.isArray(content)) throw refused(path, 'must be a string or a list of blocks.');
  return (content as readonly JsonObject[]).flatMap((one, index) => {
    const block = one as InputBlock;
    const place = `${path}.${index}`;
    if (typeof one !== 'object' || one === null) throw refused(place, 'must be an object.');
    if (block.type === 'text') return [textPart(required(block.text, `${place}.text`))];
    // All tools that it names are offered as functions.
    if (block.type === 'tool_reference') return [textPart(required(one.tool_name, `${place}.tool_name`))];
    if (block.type === 'image') return [imagePart(sourceOf(block), place)];
    if (block.type === 'search_result') return searchResultParts(block as InputBlock & JsonObject, place);
    return block.type === 'document' ? documentParts(block, place) : [];
  });
}

export const textsOf = (parts: readonly Part[]): string[] =>
  parts.flatMap(({ text, type }) => (type === 'text' && text !== undefined ? [text] : []));

/** Returns a string if all parts are text, because every server accepts strings. */
export const contentOf = (parts: readonly Part[]): string | Part[] =>
  parts.every(({ type }) => type === 'text') ? joined(textsOf(parts)) : [...parts];
