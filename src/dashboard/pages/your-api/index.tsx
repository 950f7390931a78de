/** API keys: what there are, and everything that is done with them. */
import { Anchor, Button, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { Link } from 'wouter';
import { EmptyState } from '../../ui/empty-state.tsx';
import { KeyIcon, PlusIcon } from '../../ui/icons.tsx';
import { Loaded } from '../../ui/loaded.tsx';
import { PageHeader } from '../../ui/page-header.tsx';
import { CreateDialog } from './create.tsx';
import { type ApiKey, MAX_KEYS, useKeys } from './keys.ts';
import { type KeyAction, KeyList } from './list.tsx';
import { OriginsDialog } from './origins.tsx';
// Loaded with the page: once there is a key to show, nothing may come in between.
import './raw-key.tsx';
import { RevokeDialog } from './revoke.tsx';
import { RotateDialog } from './rotate.tsx';

type Open = { action: 'create' } | { action: KeyAction; id: string };

const dialogs = { origins: OriginsDialog, rotate: RotateDialog, revoke: RevokeDialog };

export default function YourApi() {
  const query = useKeys();
  const [open, setOpen] = useState<Open>();
  const close = () => setOpen(undefined);
  const create = () => setOpen({ action: 'create' });
  const keys = query.data ?? [];

  return (
    <>
      <PageHeader
        title="Your API"
        action={keys.length > 0 && <CreateButton isFull={keys.length >= MAX_KEYS} onClick={create} />}
      >
        Keys let your programs call this service. All of them, and the chat here, draw on one daily quota.
      </PageHeader>
      <Loaded query={query}>
        {(keys) =>
          keys.length === 0 ? (
            <FirstKey onCreate={create} />
          ) : (
            <Stack gap="sm">
              <Text size="sm" c="dimmed">
                {keys.length} of {MAX_KEYS} keys
              </Text>
              <KeyList keys={keys} onAction={(action, { id }) => setOpen({ action, id })} />
            </Stack>
          )
        }
      </Loaded>
      {open?.action === 'create' && <CreateDialog onClose={close} />}
      {open !== undefined && open.action !== 'create' && (
        <KeyDialog open={open} keys={keys} onClose={close} />
      )}
    </>
  );
}

type KeyDialogProps = {
  open: { action: KeyAction; id: string };
  keys: readonly ApiKey[];
  onClose: () => void;
};

/** Follows the key as it changes; gone with the key. */
function KeyDialog({ keys, onClose, open }: KeyDialogProps) {
  const apiKey = keys.find(({ id }) => id === open.id);
  const Dialog = dialogs[open.action];
  return apiKey && <Dialog apiKey={apiKey} onClose={onClose} />;
}

function CreateButton({ isFull, onClick }: { isFull: boolean; onClick: () => void }) {
  return (
    <Stack gap={6} maw={240}>
      <Button
        leftSection={<PlusIcon size={18} />}
        // Stays in reach of the keyboard, so that the reason is read out.
        aria-disabled={isFull}
        {...(isFull ? { 'data-disabled': true, 'aria-describedby': 'why-no-more-keys' } : { onClick })}
      >
        Create a key
      </Button>
      {isFull && (
        <Text size="sm" c="dimmed" id="why-no-more-keys">
          All {MAX_KEYS} keys are in use. Revoke one to create another.
        </Text>
      )}
    </Stack>
  );
}

function FirstKey({ onCreate }: { onCreate: () => void }) {
  return (
    <EmptyState
      icon={<KeyIcon size={32} />}
      title="Create your first key"
      action={
        <>
          <Button leftSection={<PlusIcon size={18} />} onClick={onCreate}>
            Create a key
          </Button>
          <Text size="sm">
            or{' '}
            <Anchor component={Link} href="/chat" underline="always">
              chat here, without a key
            </Anchor>
          </Text>
        </>
      }
    >
      With it comes a first chat to paste into a terminal, ready to run.
    </EmptyState>
  );
}
