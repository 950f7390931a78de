import { Alert, type AlertProps, Anchor, Button, Group, Text } from '@mantine/core';
import { isOfForm, toProblem } from '../api/errors.ts';
import { WarningIcon } from './icons.tsx';
import { Sentence } from './sentence.tsx';

type Props = Omit<AlertProps, 'children' | 'title'> & {
  error: unknown;
  onRetry?: () => void;
};

/** Uses the current origin for guides, which may differ from the configured one. */
function pathOf(docs: string): string {
  const { hash, pathname } = new URL(docs);
  return pathname + hash;
}

export function ProblemAlert({ error, onRetry, ...rest }: Props) {
  const problem = toProblem(error);
  return (
    <Alert color="red" variant="light" icon={<WarningIcon />} role="alert" {...rest}>
      <Text size="sm" c="var(--mantine-color-text)" style={{ overflowWrap: 'anywhere' }}>
        <Sentence>{problem.message}</Sentence>
      </Text>
      {problem.requestId !== null && !isOfForm(problem) && (
        <Text size="xs" mt={4} c="dimmed" style={{ overflowWrap: 'anywhere' }}>
          Request ID <code>{problem.requestId}</code>
        </Text>
      )}
      {problem.docs !== null && (
        <Text size="xs" mt={4}>
          <Anchor href={pathOf(problem.docs)} inherit c="var(--mantine-color-text)" underline="always">
            About this error
          </Anchor>
        </Text>
      )}
      {onRetry && (
        <Group mt="sm">
          <Button size="xs" variant="default" onClick={onRetry}>
            Try again
          </Button>
        </Group>
      )}
    </Alert>
  );
}
