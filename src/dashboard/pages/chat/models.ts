import type { Schemas } from '../../api/client.ts';
import { answersChats, useModelList, useService } from '../../api/queries.ts';
import { type TextKey, t } from '../../texts/language.ts';
import { chooseModel, useChoice, useStandard } from './model-choices.ts';

type Model = Schemas['Model'];

/** The service can add capabilities that this page does not know. */
const capabilities: Record<
  string,
  Exclude<Extract<TextKey, `chat.models.${string}`>, 'chat.models.context'>
> = {
  tools: 'chat.models.tools',
  images: 'chat.models.images',
  json_schema: 'chat.models.structuredOutput',
  reasoning: 'chat.models.reasoning',
};

function nameOf(capability: string): string {
  const key = capabilities[capability];
  return key === undefined ? capability : t(key);
}

const joined = (parts: readonly string[]): string => parts.filter((part) => part !== '').join(' · ');

/** "tools, images · counts as 5 replies". Operators can omit the capabilities of their models. */
const offerOf = ({ capabilities: supported = [], units = 1 }: Model, isPriced: boolean): string =>
  joined([supported.map(nameOf).join(', '), isPriced ? t('chat.units', { count: units }) : '']);

/** The operator's description of a model, and its context window. */
function purposeOf({ context_window: context, description }: Model): string {
  return [
    ...(description === undefined ? [] : [description]),
    ...(context === undefined ? [] : [t('chat.models.context', { count: context })]),
  ].join(' ');
}

/** If the operator does not describe the model, its server decides. The built-in engine ignores images. */
const canSee = ({ capabilities: supported }: Model, isUpstream: boolean): boolean =>
  supported?.includes('images') ?? isUpstream;

/**
 * @param conversationId - undefined for a new conversation
 * @param lastModel - the model of its last reply
 */
export function useModels(conversationId: string | undefined, lastModel: string | undefined) {
  const { data } = useModelList();
  const { data: service } = useService();
  const isUpstream = service?.engine.chat === 'upstream';
  const choice = useChoice(conversationId ?? '');
  const standard = useStandard();
  const wanted = conversationId === undefined ? [standard] : [choice, lastModel, standard];
  const models = data?.data.filter(answersChats) ?? [];
  // Skip models that are no longer served.
  const [chosen] = [...wanted.flatMap((name) => models.filter(({ id }) => id === name)), ...models];
  const isPriced = models.some(({ units = 1 }) => units > 1);
  return {
    ids: models.map(({ id }) => id),
    choices: models.map((model) => ({
      value: model.id,
      // If there is only one model, its details below already show its capabilities.
      label: models.length > 1 ? joined([model.id, offerOf(model, isPriced)]) : model.id,
    })),
    chosen: chosen?.id,
    /** The name that the message is addressed to. */
    addressee: isUpstream && chosen ? chosen.id : 'Parley',
    takesImages: chosen !== undefined && canSee(chosen, isUpstream),
    /** Whether any model accepts images. */
    anyTakesImages: models.some((model) => canSee(model, isUpstream)),
    /** Details of the chosen model. Capabilities come first, because a long description is truncated. */
    details: chosen ? joined([offerOf(chosen, isPriced), purposeOf(chosen)]) : '',
    choose(id: string): void {
      chooseModel(conversationId ?? '', id);
    },
  };
}
