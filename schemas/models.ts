/** Models, compatible with OpenAI's list: contract section 8. */
import { Type } from '@sinclair/typebox';
import { Count, ref, stringConst, stringEnum } from './common.ts';

export const modelCapabilities = ['tools', 'images', 'json_schema', 'reasoning'] as const;

/** The tasks that a model in `UPSTREAMS_FILE` can have. */
export const modelTasks = ['chat', 'embeddings', 'images'] as const;
export type ModelTask = (typeof modelTasks)[number];

export const Model = Type.Object(
  {
    id: Type.String({ maxLength: 200, description: 'Pass it as `model`.', examples: ['parley-builtin'] }),
    object: stringConst('model', { description: 'Always `model`.' }),
    created: Count('Unix time in seconds.', [1763596800]),
    owned_by: Type.String({
      maxLength: 200,
      description: 'The provider of the model.',
      examples: ['parley'],
    }),
    description: Type.Optional(
      Type.String({ maxLength: 500, description: 'What the model is for.', examples: ['Fast and cheap.'] }),
    ),
    task: Type.Optional(
      stringEnum(modelTasks, {
        description: 'What the model does: chat, create embeddings, or generate images. Absent means `chat`.',
        examples: ['embeddings'],
      }),
    ),
    context_window: Type.Optional(
      Count('The maximum number of input and output tokens combined.', [128_000]),
    ),
    max_output_tokens: Type.Optional(Count('The maximum number of output tokens.', [16_384])),
    capabilities: Type.Optional(
      Type.Array(stringEnum(modelCapabilities), {
        maxItems: modelCapabilities.length,
        description: 'What the model supports besides text.',
        examples: [['tools', 'images']],
      }),
    ),
    units: Type.Optional(
      Count('The quota units that each reply, input, or image costs. Absent means 1.', [5]),
    ),
  },
  { $id: 'Model', additionalProperties: false, description: 'A model.' },
);

export const ModelList = Type.Object(
  {
    object: stringConst('list', { description: 'Always `list`.' }),
    data: Type.Array(ref(Model), { maxItems: 10_000, description: 'The models, default first.' }),
  },
  { $id: 'ModelList', additionalProperties: false, description: 'The models of this service.' },
);

/** Model IDs can contain slashes (`org/name`), so the ID is the rest of the path. */
export const ModelParams = Type.Object(
  {
    id: Type.String({
      minLength: 1,
      maxLength: 200,
      description: "The model's ID.",
      examples: ['parley-builtin'],
    }),
  },
  { additionalProperties: false },
);

/** Query parameters for Anthropic's clients. Undocumented, because they apply only with Anthropic's header. */
export const AnthropicModelQuery = Type.Object(
  {
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000 })),
    after_id: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
    before_id: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
  },
  { additionalProperties: false },
);
