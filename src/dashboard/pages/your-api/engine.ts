import { answersChats, useModelList, useService } from '../../api/queries.ts';

/**
 * What answers chats, for the samples. Until that is known, `hasModel` is true: its samples do not ask about Parley, which
 * only the built-in engine knows.
 */
export function useChatEngine(): { hasModel: boolean; model: string | undefined } {
  const { data: service } = useService();
  const { data: models } = useModelList();
  return {
    hasModel: service?.engine.chat !== 'builtin',
    model: models?.data.find(answersChats)?.id,
  };
}
