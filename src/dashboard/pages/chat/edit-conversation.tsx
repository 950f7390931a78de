import { Button, Group, NumberInput, Stack, Switch, Textarea, TextInput } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { api, ok, type Schemas } from '../../api/client.ts';
import { queryClient } from '../../api/queries.ts';
import { t } from '../../texts/language.ts';
import { type ErrorAt, useCheckedForm } from '../../ui/checked-form.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { sentenceFor } from '../../ui/field-sentences.ts';
import { Loaded } from '../../ui/loaded.tsx';
import { decimalSeparator } from '../../ui/numbers.ts';
import { ProblemAlert } from '../../ui/problem.tsx';
import { type Settings, setNewSettings } from './new-settings.ts';
import { forgetUnsavedSettings } from './unsaved-settings.ts';

type Conversation = Schemas['Conversation'];

const pathOf = (id: string) => ({ params: { path: { id } } });

type Props = { id: string; onClose: () => void };

/** Renames and pins a conversation, and changes the settings for its replies. */
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
    <Dialog title={t('chat.edit.dialog')} onClose={onClose}>
      <Loaded query={query}>
        {(conversation) => <Fields conversation={conversation} onClose={onClose} />}
      </Loaded>
    </Dialog>
  );
}

const checked = ['title', 'instructions', 'temperature'] as const;

function Fields({ conversation, onClose }: { conversation: Conversation; onClose: () => void }) {
  const { id } = conversation;
  const [title, setTitle] = useState(conversation.title);
  const [pinned, setPinned] = useState(conversation.pinned);
  const settings = useSettings(conversation.instructions, conversation.temperature);
  const isEmpty = title.trim() === '';
  const change = useMutation({
    mutationFn: () =>
      ok(
        api.PATCH('/api/v1/conversations/{id}', {
          ...pathOf(id),
          body: {
            title: title.trim(),
            pinned,
            instructions: settings.instructions,
            temperature: settings.temperature,
          },
        }),
      ),
    onSuccess: async () => {
      forgetUnsavedSettings(id);
      await Promise.all([
        queryClient.invalidateQueries({ queryKey: ['conversations'] }),
        queryClient.invalidateQueries({ queryKey: ['conversation', id] }),
      ]);
      onClose();
    },
  });
  const { errorAt, form, onSubmit, other } = useCheckedForm(change.error, checked, () => {
    if (!isEmpty && settings.isValid && !change.isPending) change.mutate();
  });
  return (
    <form ref={form} onSubmit={onSubmit} noValidate>
      <Stack>
        <TextInput
          label={t('chat.edit.title')}
          data-autofocus
          maxLength={120}
          value={title}
          error={isEmpty ? sentenceFor('title') : errorAt('title')}
          onChange={(event) => setTitle(event.currentTarget.value)}
        />
        <Switch
          label={t('chat.edit.pin')}
          checked={pinned}
          onChange={(event) => setPinned(event.currentTarget.checked)}
        />
        {settings.fieldsWith(errorAt)}
        {other !== null && <ProblemAlert error={other} />}
        <Buttons isPending={change.isPending} onClose={onClose} />
      </Stack>
    </form>
  );
}

/** Changes the settings for the replies of a new conversation, before its first message. */
export function NewSettings({ settings, onClose }: { settings: Settings; onClose: () => void }) {
  const { fieldsWith, instructions, isValid, temperature } = useSettings(
    settings.instructions ?? null,
    settings.temperature ?? null,
  );
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!isValid) return;
    setNewSettings({
      ...(instructions !== null && { instructions }),
      ...(temperature !== null && { temperature }),
    });
    onClose();
  };
  return (
    <Dialog title={t('chat.edit.settings')} onClose={onClose}>
      <form onSubmit={submit} noValidate>
        <Stack>
          {fieldsWith(() => undefined)}
          <Buttons isPending={false} onClose={onClose} />
        </Stack>
      </form>
    </Dialog>
  );
}

/** The contract has the same limit. */
const MAX_TEMPERATURE = 2;

/** The fields and their values. A value is null if it is not set. */
function useSettings(initialInstructions: string | null, initialTemperature: number | null) {
  const [instructions, setInstructions] = useState(initialInstructions ?? '');
  const [temperature, setTemperature] = useState<number | string>(initialTemperature ?? '');
  const entered = temperature === '' ? null : Number(temperature);
  const isValid = entered === null || (entered >= 0 && entered <= MAX_TEMPERATURE);
  const fieldsWith = (errorAt: ErrorAt) => (
    <>
      <Textarea
        size="md"
        label={t('chat.edit.instructions')}
        description={t('chat.edit.instructionsAbout')}
        autosize
        minRows={3}
        maxRows={10}
        maxLength={100_000}
        value={instructions}
        error={errorAt('instructions')}
        onChange={(event) => setInstructions(event.currentTarget.value)}
      />
      <NumberInput
        size="md"
        label={t('chat.edit.temperature')}
        description={t('chat.edit.temperatureAbout')}
        min={0}
        max={MAX_TEMPERATURE}
        clampBehavior="none"
        step={0.1}
        decimalScale={2}
        decimalSeparator={decimalSeparator()}
        value={temperature}
        error={isValid ? errorAt('temperature') : sentenceFor('temperature')}
        onChange={setTemperature}
      />
    </>
  );
  return {
    fieldsWith,
    isValid,
    instructions: instructions.trim() === '' ? null : instructions,
    temperature: entered,
  };
}

const Buttons = ({ isPending, onClose }: { isPending: boolean; onClose: () => void }) => (
  <Group justify="flex-end">
    <Button variant="default" onClick={onClose}>
      {t('ui.cancel')}
    </Button>
    <Button type="submit" loading={isPending}>
      {t('chat.edit.save')}
    </Button>
  </Group>
);
