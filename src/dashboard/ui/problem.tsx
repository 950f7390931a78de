import { Alert, type AlertProps, Anchor, Button, Group, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { isOfForm, messageOf, toProblem } from '../api/errors.ts';
import { t } from '../texts/language.ts';
import { WarningIcon } from './icons.tsx';
import { Sentence } from './sentence.tsx';

type Props = Omit<AlertProps, 'children' | 'title'> & {
  error: unknown;
  onRetry?: () => void;
};

/** Drops the origin of a guide's URL: the current origin may differ from the configured one. */
function pathOf(docs: string): string {
  const { hash, pathname } = new URL(docs);
  return pathname + hash;
}

export const requestIdOf = (id: string): ReactNode =>
  t.rich('errors.requestId', { id, code: (chunks) => <code>{chunks}</code> });

export function ProblemAlert({ error, onRetry, ...rest }: Props) {
  const problem = toProblem(error);
  return (
    <Alert color="red" variant="light" icon={<WarningIcon />} role="alert" {...rest}>
      <Text size="sm" c="var(--mantine-color-text)" style={{ overflowWrap: 'anywhere' }}>
        <Sentence>{messageOf(problem)}</Sentence>
      </Text>
      {problem.requestId !== null && !isOfForm(problem) && (
        <Text size="xs" mt={4} c="dimmed" style={{ overflowWrap: 'anywhere' }}>
          {requestIdOf(problem.requestId)}
        </Text>
      )}
      {problem.docs !== null && !isOfForm(problem) && (
        <Text size="xs" mt={4}>
          <Anchor href={pathOf(problem.docs)} inherit c="var(--mantine-color-text)" underline="always">
            {t('errors.about')}
          </Anchor>
        </Text>
      )}
      {onRetry && (
        <Group mt="sm">
          <Button size="xs" variant="default" onClick={onRetry}>
            {t('ui.tryAgain')}
          </Button>
        </Group>
      )}
    </Alert>
  );
}
