/** An error where it happened: what went wrong, what to do, and the id of the request for the operator. */
import { Alert, type AlertProps, Anchor, Button, Code, Group, Text } from '@mantine/core';
import { toProblem } from '../api/errors.ts';
import { WarningIcon } from './icons.tsx';

type Props = Omit<AlertProps, 'children' | 'title'> & {
  error: unknown;
  /** Offers to do it again. */
  onRetry?: () => void;
};

export function ProblemAlert({ error, onRetry, ...rest }: Props) {
  const problem = toProblem(error);
  return (
    <Alert color="red" variant="light" icon={<WarningIcon />} role="alert" {...rest}>
      <Text size="sm" c="var(--mantine-color-text)" style={{ overflowWrap: 'anywhere' }}>
        {problem.message}
      </Text>
      {(problem.requestId !== null || problem.docs !== null) && (
        <Text size="xs" mt={6} c="dimmed" style={{ overflowWrap: 'anywhere' }}>
          {problem.requestId !== null && (
            <>
              Request id <Code>{problem.requestId}</Code>{' '}
            </>
          )}
          {problem.docs !== null && (
            <Anchor
              href={new URL(problem.docs).pathname + new URL(problem.docs).hash}
              inherit
              c="var(--mantine-color-text)"
              underline="always"
            >
              What this means
            </Anchor>
          )}
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
