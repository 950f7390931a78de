import { answersChats, useModelList, useService } from '../../api/queries.ts';

/** What answers chats, for the samples. */
export function useChatEngine(): { hasModel: boolean; model: string | undefined } {
  const { data: service } = useService();
  const { data: models } = useModelList();
  return {
    hasModel: service !== undefined && service.engine.chat !== 'builtin',
    model: models?.data.find(answersChats)?.id,
  };
}
