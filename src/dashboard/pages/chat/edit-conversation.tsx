import { Button, Group, NumberInput, Stack, Switch, Textarea, TextInput } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { api, ok, type Schemas } from '../../api/client.ts';
import { queryClient } from '../../api/queries.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { Loaded } from '../../ui/loaded.tsx';
import { ProblemAlert } from '../../ui/problem.tsx';

type Conversation = Schemas['Conversation'];

const pathOf = (id: string) => ({ params: { path: { id } } });

type Props = { id: string; onClose: () => void };

/** Renames and pins a conversation, and sets what its replies go by. */
export function EditConversation({ id, onClose }: Props) {
  const query = useQuery({
    queryKey: ['conversation settings', id],
    queryFn: ({ signal }) =>
      ok(
        api.GET('/api/v1/conversations/{id}', {
          params: { path: { id }, query: { limit: 1 } },
          signal,
        }),
      ),
    staleTime: 0,
    gcTime: 0,
  });
  return (
    <Dialog title="Edit conversation" onClose={onClose}>
      <Loaded query={query}>
        {(conversation) => <Fields conversation={conversation} onClose={onClose} />}
      </Loaded>
    </Dialog>
  );
}

function Fields({ conversation, onClose }: { conversation: Conversation; onClose: () => void }) {
  const { id } = conversation;
  const [title, setTitle] = useState(conversation.title);
  const [pinned, setPinned] = useState(conversation.pinned);
  const [instructions, setInstructions] = useState(conversation.instructions ?? '');
  const [temperature, setTemperature] = useState<number | string>(conversation.temperature ?? '');
  const isEmpty = title.trim() === '';
  const change = useMutation({
    mutationFn: () =>
      ok(
        api.PATCH('/api/v1/conversations/{id}', {
          ...pathOf(id),
          body: {
            title: title.trim(),
            pinned,
            instructions: instructions.trim() === '' ? null : instructions,
            temperature: typeof temperature === 'number' ? temperature : null,
          },
        }),
      ),
    onSuccess: async () => {
      await Promise.all([
        queryClient.invalidateQueries({ queryKey: ['conversations'] }),
        queryClient.invalidateQueries({ queryKey: ['conversation', id] }),
      ]);
      onClose();
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!isEmpty && !change.isPending) change.mutate();
  };
  return (
    <form onSubmit={submit} noValidate>
      <Stack>
        <TextInput
          label="Title"
          data-autofocus
          maxLength={120}
          value={title}
          error={isEmpty && 'Enter a title.'}
          onChange={(event) => setTitle(event.currentTarget.value)}
        />
        <Switch
          label="Pin to the top of the list"
          checked={pinned}
          onChange={(event) => setPinned(event.currentTarget.checked)}
        />
        <Textarea
          size="md"
          label="Instructions"
          description="Sent to the model with each message of this conversation."
          autosize
          minRows={3}
          maxRows={10}
          maxLength={100_000}
          value={instructions}
          onChange={(event) => setInstructions(event.currentTarget.value)}
        />
        <NumberInput
          size="md"
          label="Temperature"
          description="From 0 to 2: how much the replies vary. Empty: the model's default."
          min={0}
          max={2}
          step={0.1}
          decimalScale={2}
          value={temperature}
          onChange={setTemperature}
        />
        {change.isError && <ProblemAlert error={change.error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" loading={change.isPending}>
            Save
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
