import { Button, Group, Stack } from '@mantine/core';
import type { ReactNode } from 'react';
import { t } from '../texts/language.ts';
import { type ErrorAt, useCheckedForm } from './checked-form.tsx';
import { Dialog } from './dialog.tsx';
import type { FieldName } from './field-sentences.ts';
import { ProblemAlert } from './problem.tsx';

type Props = {
  title: string;
  /** The content. For a form with fields, a function that receives each field's error. */
  children: ReactNode | ((errorAt: ErrorAt) => ReactNode);
  action: string;
  isDangerous?: boolean;
  isPending: boolean;
  isReady?: boolean;
  error: unknown;
  /** The names of the fields that show their errors. */
  fields?: readonly FieldName[];
  onConfirm: () => void;
  onClose: () => void;
};

export function Confirm(props: Props) {
  const {
    action,
    children,
    error,
    fields = [],
    isDangerous = false,
    isPending,
    isReady = true,
    onClose,
    onConfirm,
    title,
  } = props;
  const { errorAt, form, onSubmit, other } = useCheckedForm(error, fields, () => {
    if (isReady && !isPending) onConfirm();
  });
  return (
    <Dialog title={title} onClose={onClose}>
      <form ref={form} onSubmit={onSubmit} noValidate>
        <Stack>
          {typeof children === 'function' ? children(errorAt) : children}
          {other !== null && <ProblemAlert error={other} />}
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
