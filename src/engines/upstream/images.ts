/** Images from any server that supports OpenAI's `POST /images/generations`. Contract sections 7 and 8. */
import { refusesField } from './errors.ts';
import { isObject, type JsonObject, textWithin } from './json.ts';
import { KnownLimits, TooFew } from './known-limits.ts';
import { type BrokenError, createTransport, MIB, type UpstreamOptions } from './transport.ts';

export type UpstreamImagesOptions = UpstreamOptions & {
  /** `IMAGES_MODEL`. If undefined, the client's model or the upstream's default applies. */
  model?: string | undefined;
};

/** OpenAI's fields (`size`, `quality`, `background`, …) pass through unchanged. */
export type ImageInput = Readonly<{
  prompt: string;
  n?: number | null | undefined;
  model?: string | undefined;
  [field: string]: unknown;
}>;

export type GeneratedImage = { b64_json: string; revised_prompt?: string };

export type UpstreamImages = {
  kind: 'upstream';
  /** @throws ApiError `invalidRequest` if the model is known to generate fewer images */
  check(input: Pick<ImageInput, 'model' | 'n'>): void;
  /**
   * Generates all `n` images (default 1), or fails.
   *
   * @throws ApiError `upstreamError`, `upstreamTimeout`, `overloaded`, `invalidRequest`, or `notFound` for the model
   */
  generate(input: ImageInput, signal: AbortSignal): Promise<GeneratedImage[]>;
};

const PATH = '/images/generations';
const MAX_PROMPT_LENGTH = 100_000;
/** Enough for four images of 12 MiB in Base64. */
const ANSWER_BYTES = 64 * MIB;

/** Models that always return Base64 and reject the field that requests it. */
const alwaysBase64 = /\bgpt-image|\bchatgpt-image/i;

function imageOf(row: unknown, broken: BrokenError): GeneratedImage {
  if (!isObject(row)) throw broken('An image in the response is not an object.');
  const base64 = row.b64_json;
  // Never follow a URL: it could point into the internal network.
  if (typeof base64 !== 'string' || base64 === '')
    throw broken(
      `The upstream returned ${row.url === undefined ? 'no image' : 'a URL instead of an image'}.`,
    );
  const revised = textWithin(row.revised_prompt, MAX_PROMPT_LENGTH);
  return { b64_json: base64, ...(revised !== undefined && { revised_prompt: revised }) };
}

/** Creates the engine without contacting the upstream. */
export function createUpstreamImages(options: UpstreamImagesOptions): UpstreamImages {
  const transport = options.transport ?? createTransport(options);
  /** Models that rejected `response_format`, by requested name. */
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
      // A rejected request did no work at the upstream, so a retry repeats nothing.
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
      // The route decides how the client receives the image.
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
