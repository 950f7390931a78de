import { answersChats, useModelList, useService } from '../../api/queries.ts';

/**
 * The chat engine, for the samples. While it is unknown, `hasModel` is true: those samples do not ask about Parley,
 * which only the built-in engine can explain.
 */
export function useChatEngine(): { hasModel: boolean; model: string | undefined } {
  const { data: service } = useService();
  const { data: models } = useModelList();
  return {
    hasModel: service?.engine.chat !== 'builtin',
    model: models?.data.find(answersChats)?.id,
  };
}
