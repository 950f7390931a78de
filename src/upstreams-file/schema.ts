/** The format of `UPSTREAMS_FILE`. Contract section 15. */
import { type Static, type TSchema, Type } from '@sinclair/typebox';
import { type ModelTask, modelCapabilities, modelTasks } from '../../schemas/models.ts';

const closed = { additionalProperties: false } as const;

/** APIs that Parley supports itself. */
export const dialectKinds = ['openai', 'openai-responses', 'anthropic'] as const;
export type DialectKind = (typeof dialectKinds)[number];
export const upstreamKinds = [...dialectKinds, 'ai-sdk'] as const;
export type UpstreamKind = (typeof upstreamKinds)[number];

export type Api = {
  /** The path of chat requests. */
  path: string;
  /** The header for the key. */
  keyHeader: string;
  tasks: readonly ModelTask[];
};

/** Facts that both the checks of the file and the dialects need. */
export const apis: Readonly<Record<DialectKind, Api>> = {
  openai: { path: '/chat/completions', keyHeader: 'authorization', tasks: modelTasks },
  'openai-responses': { path: '/responses', keyHeader: 'authorization', tasks: modelTasks },
  anthropic: { path: '/messages', keyHeader: 'x-api-key', tasks: ['chat'] },
};

const Milliseconds = (maximum: number) => Type.Optional(Type.Integer({ minimum: 1, maximum }));
const HOUR_MS = 3_600_000;
const MAX_TOKEN_COUNT = 1_000_000_000;

export const FileUpstream = Type.Object(
  {
    name: Type.String(),
    kind: Type.Unsafe<UpstreamKind>(Type.String({ enum: upstreamKinds })),
    url: Type.String(),
    package: Type.Optional(Type.String()),
    keyVariable: Type.Optional(Type.String()),
    concurrency: Type.Optional(Type.Integer({ minimum: 1, maximum: 100_000 })),
    timeouts: Type.Optional(
      Type.Object(
        {
          connectMs: Milliseconds(60_000),
          firstByteMs: Milliseconds(HOUR_MS),
          idleMs: Milliseconds(HOUR_MS),
        },
        closed,
      ),
    ),
    headers: Type.Optional(Type.Record(Type.String(), Type.String())),
    fields: Type.Optional(Type.Array(Type.String())),
  },
  closed,
);

const price = Type.Number({ minimum: 0, maximum: 1_000_000 });

const targetOf = <Prices extends TSchema>(prices: Prices) =>
  Type.Object(
    {
      upstream: Type.String(),
      model: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
      weight: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000 })),
      order: Type.Optional(Type.Integer({ minimum: 1, maximum: 100 })),
      prices: Type.Optional(prices),
    },
    closed,
  );

const modelFields = <Prices extends TSchema>(prices: Prices) => ({
  name: Type.String({ minLength: 1, maxLength: 200 }),
  task: Type.Optional(Type.Unsafe<ModelTask>(Type.String({ enum: modelTasks }))),
  description: Type.Optional(Type.String({ minLength: 1, maxLength: 500 })),
  targets: Type.Array(targetOf(prices), { minItems: 1, maxItems: 20 }),
  units: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000 })),
  plans: Type.Optional(Type.Array(Type.String(), { minItems: 1, maxItems: 100 })),
});

const Tokens = Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_TOKEN_COUNT }));

/** Prices are money per million tokens. */
const ChatModel = Type.Object(
  {
    ...modelFields(Type.Object({ input: price, cachedInput: Type.Optional(price), output: price }, closed)),
    contextTokens: Tokens,
    maxOutputTokens: Tokens,
    imageTokens: Tokens,
    capabilities: Type.Optional(
      Type.Array(Type.Unsafe<(typeof modelCapabilities)[number]>(Type.String({ enum: modelCapabilities })), {
        uniqueItems: true,
      }),
    ),
  },
  closed,
);

const EmbeddingModel = Type.Object(
  { ...modelFields(Type.Object({ input: price }, closed)), contextTokens: Tokens },
  closed,
);

/** Prices are money per image. */
const ImageModel = Type.Object(modelFields(Type.Object({ image: price }, closed)), closed);

export const fileModels = { chat: ChatModel, embeddings: EmbeddingModel, images: ImageModel } as const;

/** The outer structure. Each upstream and model is checked separately, so that all mistakes are found at once. */
export const FileOutline = Type.Object(
  {
    upstreams: Type.Array(Type.Unknown(), { minItems: 1, maxItems: 100 }),
    models: Type.Array(Type.Unknown(), { minItems: 1, maxItems: 1000 }),
    deadlineMs: Type.Optional(Type.Integer({ minimum: 1000, maximum: 1_800_000 })),
    currency: Type.Optional(Type.String({ pattern: '^[A-Z]{3}$' })),
  },
  closed,
);

export type FileUpstream = Static<typeof FileUpstream>;
export type FilePrices = { input?: number; cachedInput?: number; output?: number; image?: number };
type ChatTarget = Static<typeof ChatModel>['targets'][number];
export type FileTarget = Omit<ChatTarget, 'prices'> & { prices?: FilePrices };
/** A model of any task. */
export type FileModel = Omit<Static<typeof ChatModel>, 'targets'> & { targets: FileTarget[] };
