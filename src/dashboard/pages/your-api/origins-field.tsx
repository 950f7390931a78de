import { ActionIcon, Button, Group, Stack, Text, TextInput } from '@mantine/core';
import { type KeyboardEvent, type ReactNode, type RefObject, useEffect, useRef, useState } from 'react';
import { MAX_ORIGINS } from '../../../../schemas/key-limits.ts';
import { t } from '../../texts/language.ts';
import { CloseIcon } from '../../ui/icons.tsx';
import { suggestedOrigin, withoutSlash } from './suggested-origin.ts';
import classes from './your-api.module.css';

type Props = {
  origins: readonly string[];
  /** The current input. Submitting the form adds it as an origin. */
  entry: string;
  onEntry: (entry: string) => void;
  /** Resolves to whether the entry was accepted. If so, the field is cleared. */
  onAdd: (origin: string) => Promise<boolean>;
  onRemove: (origin: string) => void;
  isPending?: boolean;
  error: ReactNode;
  /** Gets the focus when the focused element is removed or disabled. */
  whole: RefObject<HTMLDivElement | null>;
};

export function OriginsField(props: Props) {
  const { entry, error, isPending = false, onAdd, onEntry, onRemove, origins, whole } = props;
  const isFull = origins.length >= MAX_ORIGINS;
  const [attempts, setAttempts] = useState(0);
  const field = useFieldInView(origins.length, Boolean(error), attempts);

  const suggestion = error ? suggestedOrigin(entry.trim()) : undefined;

  const add = async (typed = entry) => {
    const origin = withoutSlash(typed.trim());
    if (origin === '' || isPending || isFull) return;
    const isTaken = await onAdd(origin);
    setAttempts((before) => before + 1);
    if (isTaken) onEntry('');
    // The button lost the focus while it was disabled.
    const isLast = isTaken && origins.length + 1 >= MAX_ORIGINS;
    (isLast ? whole : field).current?.focus();
  };
  const remove = (origin: string) => {
    whole.current?.focus();
    onRemove(origin);
  };
  // Enter adds the origin instead of submitting the form around the field.
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Enter') return;
    event.preventDefault();
    add();
  };

  return (
    <Stack gap="sm" ref={whole} tabIndex={-1} className={classes.whole ?? ''}>
      <Text size="sm" c="dimmed">
        {t('keys.origins.about')} {origins.length === 0 && <strong>{t('keys.origins.empty')}</strong>}
      </Text>
      {origins.length > 0 && (
        <ul className={classes.origins} aria-label={t('keys.list.origins')}>
          {origins.map((origin) => (
            <li key={origin}>
              <code>{origin}</code>
              <ActionIcon
                variant="subtle"
                color="gray"
                size="lg"
                aria-label={t('keys.origins.remove', { origin })}
                disabled={isPending}
                onClick={() => remove(origin)}
              >
                <CloseIcon size={18} />
              </ActionIcon>
            </li>
          ))}
        </ul>
      )}
      <Group align="flex-start" gap="xs">
        <TextInput
          ref={field}
          className={classes.entry ?? ''}
          label={t('keys.origins.add')}
          placeholder="https://app.example.com"
          description={t(isFull ? 'keys.origins.full' : 'keys.origins.used', {
            used: origins.length,
            limit: MAX_ORIGINS,
          })}
          inputMode="url"
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
          maxLength={300}
          value={entry}
          disabled={isFull}
          // A disabled field cannot have the focus.
          data-autofocus={!isFull || undefined}
          error={error}
          onChange={(event) => onEntry(event.currentTarget.value)}
          onKeyDown={onKeyDown}
          rightSectionWidth={108}
          rightSectionProps={{ className: classes.add }}
          rightSection={
            <Button size="xs" variant="default" loading={isPending} disabled={isFull} onClick={() => add()}>
              {t('keys.origins.addAction')}
            </Button>
          }
        />
      </Group>
      {suggestion !== undefined && (
        <div>
          <Button size="xs" variant="default" disabled={isPending || isFull} onClick={() => add(suggestion)}>
            {t('keys.origins.suggestion', { origin: suggestion })}
          </Button>
        </div>
      )}
    </Stack>
  );
}

/** @param attempts - the number of attempts, because the same error can occur again */
function useFieldInView(
  count: number,
  hasError: boolean,
  attempts: number,
): RefObject<HTMLInputElement | null> {
  const field = useRef<HTMLInputElement>(null);
  const before = useRef({ attempts, count });
  useEffect(() => {
    const { attempts: lastAttempts, count: lastCount } = before.current;
    before.current = { attempts, count };
    if (!hasError && count <= lastCount && attempts === lastAttempts) return;
    field.current?.closest('.mantine-InputWrapper-root')?.scrollIntoView({ block: 'nearest' });
  }, [attempts, count, hasError]);
  return field;
}
