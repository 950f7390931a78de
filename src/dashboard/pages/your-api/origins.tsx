import { Button, Group, Stack, Text } from '@mantine/core';
import { useRef, useState } from 'react';
import { toProblem } from '../../api/errors.ts';
import { t } from '../../texts/language.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { FieldError } from '../../ui/field-error.tsx';
import { isOfField } from '../../ui/field-sentences.ts';
import { ProblemAlert } from '../../ui/problem.tsx';
import { type ApiKey, useChangeOrigins } from './keys.ts';
import { OriginsField } from './origins-field.tsx';
import { withoutSlash } from './suggested-origin.ts';

export function OriginsDialog({ apiKey, onClose }: { apiKey: ApiKey; onClose: () => void }) {
  const { allowed_origins: origins, name } = apiKey;
  const change = useChangeOrigins(apiKey.id);
  const [removed, setRemoved] = useState<string>();
  const [isListed, setListed] = useState(false);
  const [entry, setEntry] = useState('');
  const list = useRef<HTMLDivElement>(null);

  const add = async (origin: string) => {
    setRemoved(undefined);
    setListed(false);
    try {
      const { allowed_origins: now } = await change.mutateAsync([...origins, origin]);
      if (now.length > origins.length) return true;
      setListed(true);
    } catch {
      // The dialog shows the mutation's error.
    }
    return false;
  };
  const remove = (origin: string) => {
    setListed(false);
    change.mutate(
      origins.filter((one) => one !== origin),
      { onSuccess: () => setRemoved(origin) },
    );
  };
  // The pressed button disappears, so move the focus.
  const undo = (origin: string) => {
    list.current?.focus();
    void add(origin);
  };

  const finish = async () => {
    if (entry.trim() === '' || (await add(withoutSlash(entry.trim())))) onClose();
  };

  const problem = change.error && toProblem(change.error);
  const isOfOrigins = isOfField(problem, 'allowed_origins');
  return (
    <Dialog title={t('keys.origins.title', { name })} onClose={onClose}>
      <Stack>
        <OriginsField
          whole={list}
          origins={origins}
          entry={entry}
          onEntry={setEntry}
          onAdd={add}
          onRemove={remove}
          isPending={change.isPending}
          error={
            isListed
              ? t('keys.origins.inList')
              : problem && isOfOrigins && <FieldError problem={problem} field="allowed_origins" />
          }
        />
        {problem && !isOfOrigins && <ProblemAlert error={problem} />}
        <div role="status">
          {removed !== undefined && !origins.includes(removed) && (
            <Group gap="xs">
              <Text size="sm">{t('keys.origins.removed', { origin: removed })}</Text>
              <Button size="compact-sm" variant="default" onClick={() => undo(removed)}>
                {t('keys.origins.undo')}
              </Button>
            </Group>
          )}
        </div>
        <Group justify="flex-end">
          <Button onClick={finish}>{t('ui.done')}</Button>
        </Group>
      </Stack>
    </Dialog>
  );
}
