/** Images by any server with OpenAI's `POST /images/generations`. Contract sections 7 and 8. */
import { refusesField } from './errors.ts';
import { isObject, type JsonObject, textWithin } from './json.ts';
import { KnownLimits, TooFew } from './known-limits.ts';
import { type Broken, createTransport, MIB, type UpstreamOptions } from './transport.ts';

export type UpstreamImagesOptions = UpstreamOptions & {
  /** `IMAGES_MODEL`; without it the client's, or else the upstream's own default. */
  model?: string | undefined;
};

/** OpenAI's fields (`size`, `quality`, `background`, …) pass through untouched. */
export type ImageInput = Readonly<{
  prompt: string;
  n?: number | null | undefined;
  model?: string | undefined;
  [field: string]: unknown;
}>;

export type GeneratedImage = { b64_json: string; revised_prompt?: string };

export type UpstreamImages = {
  kind: 'upstream';
  /** @throws ApiError `invalidRequest` where the model is known to draw fewer images */
  check(input: Pick<ImageInput, 'model' | 'n'>): void;
  /**
   * Draws `n` images, 1 where it is left out: all of them, or an error.
   *
   * @throws ApiError `upstreamError`, `upstreamTimeout`, `overloaded`, `invalidRequest` (`TooFew` where there are fewer images
   *   than were asked for), or `notFound` for the model
   */
  generate(input: ImageInput, signal: AbortSignal): Promise<GeneratedImage[]>;
};

const PATH = '/images/generations';
const MAX_PROMPT_LENGTH = 100_000;
/** Four pictures of 12 MiB, as base64. */
const ANSWER_BYTES = 64 * MIB;

/** These always answer with the image itself, and refuse to be asked for it. */
const alwaysBase64 = /\bgpt-image|\bchatgpt-image/i;

function imageOf(row: unknown, broken: Broken): GeneratedImage {
  if (!isObject(row)) throw broken('An image in the answer is not an object.');
  const base64 = row.b64_json;
  // A URL is not followed: it leads wherever the upstream likes, into our own network too.
  if (typeof base64 !== 'string' || base64 === '')
    throw broken(
      `The upstream returned ${row.url === undefined ? 'no image' : 'a URL instead of an image'}.`,
    );
  const revised = textWithin(row.revised_prompt, MAX_PROMPT_LENGTH);
  return { b64_json: base64, ...(revised !== undefined && { revised_prompt: revised }) };
}

/**
 * Makes the engine; nothing is asked of the upstream yet.
 *
 * @param options - `IMAGES_URL`, `IMAGES_API_KEY`, `IMAGES_MODEL` and the timeouts
 */
export function createUpstreamImages(options: UpstreamImagesOptions): UpstreamImages {
  const transport = createTransport(options);
  /** Models that were asked for base64 and refused the question, by the name they were asked under. */
  const refusesFormat = new Set<string>();
  const limits = new KnownLimits('images');
  const modelOf = ({ model }: Pick<ImageInput, 'model'>) => options.model ?? model;

  async function ask(body: JsonObject, signal: AbortSignal): Promise<JsonObject> {
    const model = typeof body.model === 'string' ? body.model : '';
    const request = { method: 'POST', path: PATH, signal, maxBytes: ANSWER_BYTES } as const;
    if (alwaysBase64.test(model) || refusesFormat.has(model)) return transport.json({ ...request, body });
    try {
      return await transport.json({ ...request, body: { ...body, response_format: 'b64_json' } });
    } catch (error) {
      // The upstream did nothing but look at the body, so that asking again is not doing it twice.
      if (!refusesField(error, 'response_format')) throw error;
      const answer = await transport.json({ ...request, body });
      refusesFormat.add(model);
      return answer;
    }
  }

  return {
    kind: 'upstream',
    check: (input) => limits.check(modelOf(input) ?? '', input.n ?? 1),
    async generate(input, signal) {
      // How the image is handed to our client is the route's business.
      const { model: _named, response_format: _format, ...fields } = input;
      const model = modelOf(input);
      const answer = await ask({ ...fields, ...(model !== undefined && { model }) }, signal);
      const rows = Array.isArray(answer.data) ? (answer.data as unknown[]) : [];
      const wanted = input.n ?? 1;
      const images = rows.slice(0, wanted).map((row) => imageOf(row, transport.broken));
      if (images.length === 0) throw transport.broken('The upstream returned no images.');
      if (images.length === wanted) return images;
      const short = new TooFew('images', images.length, wanted);
      limits.note(model ?? '', short);
      throw short;
    },
  };
}
