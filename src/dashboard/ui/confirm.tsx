import { Button, Group, Stack } from '@mantine/core';
import type { FormEvent, ReactNode } from 'react';
import { t } from '../texts/language.ts';
import { Dialog } from './dialog.tsx';
import { useFocusOnError } from './invalid-field.ts';
import { ProblemAlert } from './problem.tsx';

type Props = {
  title: string;
  children: ReactNode;
  action: string;
  isDangerous?: boolean;
  isPending: boolean;
  isReady?: boolean;
  error: unknown;
  isOfField?: boolean;
  onConfirm: () => void;
  onClose: () => void;
};

export function Confirm(props: Props) {
  const {
    action,
    children,
    error,
    isDangerous = false,
    isOfField = false,
    isPending,
    isReady = true,
    onClose,
    onConfirm,
    title,
  } = props;
  const form = useFocusOnError<HTMLFormElement>(error);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (isReady && !isPending) onConfirm();
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form ref={form} onSubmit={submit} noValidate>
        <Stack>
          {children}
          {error !== null && !isOfField && <ProblemAlert error={error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              {t('ui.cancel')}
            </Button>
            <Button
              type="submit"
              loading={isPending}
              disabled={!isReady}
              {...(isDangerous && { color: 'red.9' })}
            >
              {action}
            </Button>
          </Group>
        </Stack>
      </form>
    </Dialog>
  );
}
