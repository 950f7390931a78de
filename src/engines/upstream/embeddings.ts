/** Embeddings from any server that supports OpenAI's `POST /embeddings`. Contract section 14. */
import { estimatedInput, inputsOf, unknownModel, unsupportedDimensions } from '../embedding-input.ts';
import type { EmbeddingEngine, EmbeddingInput } from '../types.ts';
import { EmbeddingAnswer } from './embedding-answer.ts';
import { refusesField } from './errors.ts';
import { isObject, type JsonObject, textWithin, wholeNumber } from './json.ts';
import type { NamedModel } from './model-map.ts';
import { createTransport, MIB, type UpstreamOptions } from './transport.ts';

export type UpstreamEmbeddingsOptions = UpstreamOptions & {
  /** `EMBEDDINGS_MODEL`, default first. If empty, the client's model or the upstream's default applies. */
  models?: readonly NamedModel[];
};

const PATH = '/embeddings';
/** Enough for 2,048 vectors of 1,536 numbers with all their digits. */
const ANSWER_BYTES = 64 * MIB;
const MAX_MODEL_LENGTH = 200;
const UNNAMED = 'default';

/** The upstream's token count, or else an estimate. */
function promptTokens(answer: JsonObject, input: EmbeddingInput['input']) {
  const { prompt_tokens: prompt, total_tokens: total } = isObject(answer.usage) ? answer.usage : {};
  const counted = wholeNumber(prompt) || wholeNumber(total);
  return counted ? { promptTokens: counted } : { promptTokens: estimatedInput(input), isEstimated: true };
}

/** Creates the engine without contacting the upstream. */
export function createUpstreamEmbeddings(options: UpstreamEmbeddingsOptions): EmbeddingEngine {
  const { models = [] } = options;
  const transport = options.transport ?? createTransport(options);
  /** Models that rejected `encoding_format`. Parley converts vectors to the requested format in any case. */
  const refusesFormat = new Set<string>();

  /** The model to use. Undefined if neither the operator nor the client names one. */
  function modelOf(named: string | undefined): NamedModel | undefined {
    if (models.length === 0) return named === undefined ? undefined : { id: named, upstream: named };
    const model = named === undefined ? models[0] : models.find(({ id }) => id === named);
    if (model === undefined) throw unknownModel(models.map(({ id }) => id));
    return model;
  }

  async function ask(body: JsonObject, signal: AbortSignal) {
    const { encoding_format: format, ...plain } = body;
    const model = String(body.model);
    const send = async (sent: JsonObject) => {
      const read = new EmbeddingAnswer(transport.broken);
      const request = { method: 'POST', path: PATH, signal, maxBytes: ANSWER_BYTES } as const;
      return { answer: await transport.json({ ...request, body: sent, parse: read.parse }), read };
    };
    if (format === undefined || refusesFormat.has(model)) return send(plain);
    try {
      return await send(body);
    } catch (error) {
      // A rejected request did no work at the upstream, so a retry repeats nothing.
      if (!refusesField(error, 'encoding_format')) throw error;
      const answered = await send(plain);
      refusesFormat.add(model);
      return answered;
    }
  }

  return {
    kind: 'upstream',
    check: ({ model }) => modelOf(model)?.id,
    async embed(input, signal) {
      const { model: named, ...fields } = input;
      const model = modelOf(named);
      const body = { ...fields, ...(model && { model: model.upstream }) };
      const { answer, read } = await ask(body, signal);
      const format = input.encoding_format ?? 'float';
      const { length, vectors } = await read.vectors(answer, inputsOf(input.input).length, format);
      if (input.dimensions !== undefined && length !== input.dimensions)
        throw unsupportedDimensions('The model does not support this number of `dimensions`.', {
          isProvokable: true,
          cause: new Error(`The upstream returned ${length} of ${input.dimensions} dimensions.`),
        });
      return {
        vectors,
        model: model?.id ?? textWithin(answer.model, MAX_MODEL_LENGTH) ?? UNNAMED,
        ...promptTokens(answer, input.input),
      };
    },
  };
}
