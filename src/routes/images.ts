/** OpenAI-compatible image generation. Contract section 7. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { Static } from '@sinclair/typebox';
import { ref } from '../../schemas/common.ts';
import { ImageList, ImageRequest } from '../../schemas/images.ts';
import type { ImageInput } from '../engines/types.ts';
import { modelUnavailable } from '../engines/upstream/errors.ts';
import { ApiError } from '../errors.ts';
import type { Charging } from '../requests/charge.ts';
import { answerJson } from '../requests/json-answer.ts';
import { routedCall, routedModel } from '../requests/routed.ts';

/** OpenAI accepts null for most fields, but some servers do not. */
const withoutNulls = (body: Static<typeof ImageRequest>) =>
  Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null)) as ImageInput;

const routes: FastifyPluginAsyncTypebox<{ charging: Charging }> = async (app, { charging }) => {
  app.post(
    '/images/generations',
    {
      schema: {
        operationId: 'createImage',
        summary: 'Generate images (OpenAI-compatible)',
        description:
          'Generates images from a prompt and returns the files. Each of the `n` images is charged.',
        tags: ['Images'],
        body: ref(ImageRequest),
        response: { 200: ref(ImageList) },
      },
      config: {
        scope: 'images',
        meter: 'images',
        errors: ['notFound', 'modelNotInPlan'],
        errorExamples: { ForUnavailableModel: modelUnavailable() },
      },
    },
    async (request, reply) => {
      const { body } = request;
      if (body.response_format === 'url') {
        throw new ApiError('invalidRequest', {
          message:
            'The service does not store images, so it cannot return URLs. Set `response_format` to `b64_json` or leave it out; the response contains the file.',
          param: 'response_format',
          reason: 'unsupported_value',
        });
      }
      const input = withoutNulls(body);
      const { id, units = 1 } = (await routedModel(request, 'images', input.model)) ?? {};
      const engineInput = { ...input, ...(id !== undefined && { model: id }) };
      const { images } = app.engines;
      images.check?.(engineInput);
      const set = images.kind === 'builtin' ? 'parley-builtin' : app.config.images?.model;
      const model = id ?? set ?? input.model ?? null;
      const count = input.n ?? 1;
      const outcome = (generated: number) => ({
        ...{ model, inputTokens: 0, outputTokens: 0, images: generated },
      });
      const cost = { units: count * units, model, estimate: () => outcome(count) };
      return answerJson(charging, request, reply, cost, async (_admission, signal) => {
        const data = await images.generate(engineInput, signal, routedCall(request, reply));
        return {
          value: { created: Math.floor(Date.now() / 1000), data },
          outcome: outcome(data.length),
        };
      });
    },
  );
};

export default routes;
