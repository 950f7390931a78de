/** The secret that a rotation replaced, while it still works. */
import { Button, Text } from '@mantine/core';
import { Confirm } from '../../ui/confirm.tsx';
import { exactTime } from '../../ui/when.tsx';
import { type ApiKey, previousSecretEnd, useEndPreviousSecret } from './keys.ts';
import classes from './your-api.module.css';

type Props = { apiKey: ApiKey; onEnd: () => void };

export function PreviousSecret({ apiKey, onEnd }: Props) {
  const end = previousSecretEnd(apiKey);
  if (end === null) return null;
  return (
    <div className={classes.previous}>
      <Text size="sm" c="var(--parley-warning)">
        Old secret works until <time dateTime={end}>{exactTime(end)}</time>
      </Text>
      <Button
        size="compact-sm"
        variant="default"
        aria-label={`End now: the old secret of ${apiKey.name}`}
        onClick={onEnd}
      >
        End now
      </Button>
    </div>
  );
}

export function EndPreviousSecretDialog({ apiKey, onClose }: { apiKey: ApiKey; onClose: () => void }) {
  const end = useEndPreviousSecret(apiKey.id);
  return (
    <Confirm
      title={`End the old secret of “${apiKey.name}”?`}
      action="End old secret"
      isDangerous
      isPending={end.isPending}
      error={end.error}
      onClose={onClose}
      onConfirm={() => end.mutate(undefined, { onSuccess: onClose })}
    >
      <Text>
        The old secret stops working immediately. Requests from apps that still use it will fail. The current
        secret keeps working.
      </Text>
    </Confirm>
  );
}
