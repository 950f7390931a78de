import { Anchor, Button, Group, Stack, Text } from '@mantine/core';
import { type ComponentType, useEffect, useRef, useState } from 'react';
import { Link } from 'wouter';
import { MAX_ACTIVE_KEYS } from '../../../../schemas/key-limits.ts';
import { t } from '../../texts/language.ts';
import { EmptyState } from '../../ui/empty-state.tsx';
import { PlusIcon, SectionIcon } from '../../ui/icons.tsx';
import { Loaded } from '../../ui/loaded.tsx';
import { PageHeader } from '../../ui/page-header.tsx';
import { StatusMessage } from '../../ui/status-message.tsx';
import { Connect } from './connect.tsx';
import { CreateDialog } from './create.tsx';
import { InactiveKeys } from './inactive.tsx';
import { type ApiKey, useKeys } from './keys.ts';
import { type KeyAction, KeyList } from './list.tsx';
import { OriginsDialog } from './origins.tsx';
import { EndPreviousSecretDialog } from './previous-secret.tsx';
// Loaded with the page, so that a failed download cannot hide a new key.
import './raw-key.tsx';
import { RevokeDialog } from './revoke.tsx';
import { RotateDialog } from './rotate.tsx';

type OpenKey = { action: KeyAction; id: string; name: string };
type Open = { action: 'create' } | OpenKey;

type DialogProps = { apiKey: ApiKey; onClose: () => void; onRevoked: () => void };

const dialogs: Record<KeyAction, ComponentType<DialogProps>> = {
  origins: OriginsDialog,
  rotate: RotateDialog,
  revoke: RevokeDialog,
  endPrevious: EndPreviousSecretDialog,
};

export default function YourApi() {
  const query = useKeys();
  const [open, setOpen] = useState<Open>();
  const close = () => setOpen(undefined);
  const create = () => setOpen({ action: 'create' });
  const [status, setStatus] = useState<string>();
  const keys = query.data ?? [];
  const { refetch } = query;

  // Other programs, such as a terminal, can use a key and change its last use.
  useEffect(() => {
    const onFocus = () => void refetch();
    addEventListener('focus', onFocus);
    return () => removeEventListener('focus', onFocus);
  }, [refetch]);

  return (
    <>
      <PageHeader title={t('shell.nav.yourApi')}>{t('keys.about')}</PageHeader>
      <StatusMessage message={status} onClose={() => setStatus(undefined)} />
      <Stack gap="lg">
        <Loaded query={query}>
          {(keys) =>
            keys.length === 0 ? (
              <NoKey isFirst={status === undefined} onCreate={create} />
            ) : (
              <Stack gap="sm">
                <Group justify="space-between" align="flex-end">
                  <Text size="sm" c="dimmed">
                    {t('keys.count', { count: keys.length, limit: MAX_ACTIVE_KEYS })}
                  </Text>
                  <CreateButton isFull={keys.length >= MAX_ACTIVE_KEYS} onClick={create} />
                </Group>
                <KeyList keys={keys} onAction={(action, { id, name }) => setOpen({ action, id, name })} />
              </Stack>
            )
          }
        </Loaded>
        {/* Render below the list only after it loads, because its height is unknown. */}
        {!query.isLoading && (
          <>
            <InactiveKeys />
            <Connect />
          </>
        )}
      </Stack>
      {open?.action === 'create' && <CreateDialog onClose={close} />}
      {open !== undefined && open.action !== 'create' && (
        <KeyDialog open={open} keys={keys} onClose={close} onRevoked={setStatus} />
      )}
    </>
  );
}

type KeyDialogProps = {
  open: OpenKey;
  keys: readonly ApiKey[];
  onClose: () => void;
  onRevoked: (status: string) => void;
};

/** Closes with a message if the key is revoked in the meantime. */
function KeyDialog({ keys, onClose, onRevoked, open: { action, id, name } }: KeyDialogProps) {
  const apiKey = keys.find((key) => key.id === id);
  const isGone = apiKey === undefined;
  const isRevokedHere = useRef(false);
  useEffect(() => {
    if (!isGone) return;
    if (!isRevokedHere.current) onRevoked(t('keys.revoke.elsewhere', { name }));
    onClose();
  }, [isGone, name, onClose, onRevoked]);

  const Dialog = dialogs[action];
  const revoked = () => {
    isRevokedHere.current = true;
    onRevoked(t('keys.revoke.done', { name }));
  };
  return apiKey && <Dialog apiKey={apiKey} onClose={onClose} onRevoked={revoked} />;
}

type CreateButtonProps = { isFull: boolean; onClick: () => void };

function CreateButton({ isFull, onClick }: CreateButtonProps) {
  return (
    <Stack gap={6} maw={240}>
      <Button
        leftSection={<PlusIcon size={18} />}
        // Remains focusable, so that screen readers announce the reason.
        aria-disabled={isFull}
        {...(isFull ? { 'data-disabled': true, 'aria-describedby': 'why-no-more-keys' } : { onClick })}
      >
        {t('keys.create.action')}
      </Button>
      {isFull && (
        <Text size="sm" c="dimmed" id="why-no-more-keys">
          {t('keys.full', { limit: MAX_ACTIVE_KEYS })}
        </Text>
      )}
    </Stack>
  );
}

function NoKey({ isFirst, onCreate }: { isFirst: boolean; onCreate: () => void }) {
  return (
    <EmptyState
      icon={<SectionIcon name="yourApi" size={32} />}
      title={isFirst ? t('keys.none.first') : t('keys.create.title')}
      action={
        <>
          <Button leftSection={<PlusIcon size={18} />} onClick={onCreate}>
            {t('keys.create.action')}
          </Button>
          <Text size="sm">
            {t.rich('keys.none.chat', {
              link: (chunks) => (
                <Anchor component={Link} href="/chat" underline="always">
                  {chunks}
                </Anchor>
              ),
            })}
          </Text>
        </>
      }
    >
      {t('keys.none.text')}
    </EmptyState>
  );
}
