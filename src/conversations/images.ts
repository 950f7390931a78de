/** Images in messages of Parley's own chat API. Contract section 7. */
import type { Static } from '@sinclair/typebox';
import type { imageTypes } from '../../schemas/chat.ts';
import type { CompletionMessage } from '../../schemas/completions.ts';
import type { MessageImage } from '../database/tables.ts';
import type { Model } from '../engines/types.ts';
import { ApiError } from '../errors.ts';

/** The total length of a message's image URLs. Writing more at once would block the event loop. */
export const MAX_STORED_IMAGES = 4 * 1024 * 1024;
/** The total length of earlier images' URLs that one request sends to the model. */
export const MAX_EARLIER_IMAGES = 2 * MAX_STORED_IMAGES;
/** The share of an image in the history's budget. Models use about 1,000 tokens for an image. */
export const IMAGE_CHARACTERS = 3000;

type ImageType = (typeof imageTypes)[number];

const URL_HEAD = /^data:(image\/(?:png|jpeg|webp|gif));base64,/;
const MAX_HEAD_LENGTH = 30;

const startsOf: Record<ImageType, (start: string) => boolean> = {
  'image/png': (start) => start.startsWith('\x89PNG\r\n\x1a\n'),
  'image/jpeg': (start) => start.startsWith('\xff\xd8\xff'),
  'image/webp': (start) => start.startsWith('RIFF') && start.slice(8, 12) === 'WEBP',
  'image/gif': (start) => /^GIF8[79]a/.test(start),
};

const invalid = (param: string, message: string) =>
  new ApiError('invalidRequest', { message, param, reason: 'unsupported_value' });

function imageOf(url: string, param: string): MessageImage {
  const [head, type] = URL_HEAD.exec(url.slice(0, MAX_HEAD_LENGTH)) ?? [];
  if (head === undefined)
    throw invalid(
      param,
      `In the body, \`${param}\` must be a PNG, JPEG, WebP, or GIF as a \`data:\` URL in base64, such as \`data:image/png;base64,…\`.`,
    );
  const data = url.slice(head.length);
  const bytes = Buffer.from(data, 'base64');
  // Decoding skips characters that are not Base64.
  if (bytes.toString('base64') !== data)
    throw invalid(param, `In the body, \`${param}\` is not valid Base64 with padding.`);
  const known = type as ImageType;
  if (!startsOf[known](bytes.toString('latin1', 0, 12)))
    throw invalid(param, `In the body, \`${param}\` is not ${known}. Send the actual type of the file.`);
  return { type: known, size: bytes.length };
}

/**
 * Checks images and returns their types and sizes.
 *
 * @param isKept - whether they are stored with the message
 * @throws ApiError `invalidRequest` with `param`
 */
export function checkImages(urls: readonly string[], isKept: boolean): MessageImage[] {
  if (isKept && urls.reduce((sum, { length }) => sum + length, 0) > MAX_STORED_IMAGES)
    throw new ApiError('invalidRequest', {
      message:
        'The images are too large to store: the limit is 4 MiB of Base64 for all images in a message. Send smaller images, or `"store": false`.',
      param: 'images',
    });
  return urls.map((url, index) => imageOf(url, `images.${index}`));
}

/** False only if the operator lists the model's capabilities without images. */
export const takesImages = ({ capabilities }: Model): boolean => capabilities?.includes('images') ?? true;

/** @throws ApiError `invalidRequest` with `param: "images"` if the model does not support images */
export function assertTakesImages(model: Model): void {
  if (takesImages(model)) return;
  throw invalid(
    'images',
    'This model does not accept images. Leave out `images`, or choose a model whose `capabilities` in `GET /api/v1/models` include `images`.',
  );
}

type Content = NonNullable<Static<typeof CompletionMessage>['content']>;

/** A message's content in the engines' format, with images after the text. */
export function contentOf(text: string, urls: readonly string[] = []): Content {
  if (urls.length === 0) return text;
  return [{ type: 'text', text }, ...urls.map((url) => ({ type: 'image_url', image_url: { url } }))];
}
