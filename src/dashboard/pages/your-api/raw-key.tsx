import { Alert, Button, Group, Stack, Switch, Text } from '@mantine/core';
import { type RefObject, useEffect, useRef, useState } from 'react';
import { queryClient } from '../../api/queries.ts';
import { t } from '../../texts/language.ts';
import { CopyButton } from '../../ui/copy-button.tsx';
import { CopyField } from '../../ui/copy-field.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { WarningIcon } from '../../ui/icons.tsx';
import { useChatEngine } from './engine.ts';
import { examples } from './examples.ts';
import { graceSentence } from './grace.ts';
import { Samples } from './samples.tsx';
import { type ShownKey, showKey } from './shown-key.ts';

export default function RawKeyDialog({ created, rotation }: ShownKey) {
  const { key, key_prefix: prefix, name, scopes } = created;
  const [isCopied, setCopied] = useState(false);
  const [isAsking, setAsking] = useState(false);
  const [isKeyVisible, setKeyVisible] = useState(false);
  const copied = () => setCopied(true);
  useLeaveWarning(!isCopied);
  const isWarning = isAsking && !isCopied;
  const foot = useFollowingFocus(isAsking, isWarning);

  const engine = useChatEngine();
  const shown = examples(isKeyVisible ? key : `${prefix}_••••••••`, scopes, engine);
  const whole = examples(key, scopes, engine);
  const close = () => {
    showKey(null);
    // The last use may have changed.
    queryClient.invalidateQueries({ queryKey: ['keys'] });
  };

  return (
    <Dialog
      size="lg"
      title={t(rotation === undefined ? 'keys.raw.title' : 'keys.raw.titleRotated', { name })}
      closeOnEscape={false}
      closeOnClickOutside={false}
      withCloseButton={false}
      onClose={() => {}}
      onCopy={() => {
        if (document.getSelection()?.toString().includes(key)) copied();
      }}
    >
      <Stack>
        <Alert color="yellow" variant="light" icon={<WarningIcon />} title={t('keys.raw.copyNow')}>
          {t('keys.raw.about')}
        </Alert>
        <CopyField value={key} label={t('keys.raw.name')} onCopied={copied} />
        {rotation && <Text size="sm">{graceSentence(rotation.graceSeconds, rotation.at)}</Text>}

        <Samples code={shown} copied={whole} onCopied={copied} />
        <Switch
          label={t('keys.raw.show')}
          description={t('keys.raw.showAbout')}
          checked={isKeyVisible}
          onChange={(event) => setKeyVisible(event.currentTarget.checked)}
        />

        <div ref={foot}>
          {isWarning ? (
            <Alert
              color="red"
              variant="light"
              icon={<WarningIcon />}
              role="alert"
              title={t('keys.raw.notCopied')}
            >
              <Text size="sm" c="var(--mantine-color-text)">
                {t('keys.raw.notCopiedAbout')}
              </Text>
              <Group mt="sm">
                <CopyButton text={key} label={t('keys.raw.copy')} onCopied={copied} size="xs" />
                <Button size="xs" variant="default" onClick={close}>
                  {t('keys.raw.close')}
                </Button>
              </Group>
            </Alert>
          ) : (
            <Group justify="flex-end">
              <Button
                variant={isCopied ? 'filled' : 'default'}
                onClick={() => (isCopied ? close() : setAsking(true))}
              >
                {t('ui.done')}
              </Button>
            </Group>
          )}
        </div>
      </Stack>
    </Dialog>
  );
}

/** "Done" and the confirmation replace each other. Moves the focus to the first button that appears. */
function useFollowingFocus(isAsking: boolean, isWarning: boolean): RefObject<HTMLDivElement | null> {
  const foot = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!isAsking) return;
    const first = foot.current?.querySelector('button');
    // If the user copied with another button, the focus remains there.
    if (isWarning || document.activeElement === document.body) first?.focus();
  }, [isAsking, isWarning]);
  return foot;
}

function useLeaveWarning(isOn: boolean): void {
  useEffect(() => {
    if (!isOn) return;
    const warn = (event: BeforeUnloadEvent) => event.preventDefault();
    addEventListener('beforeunload', warn);
    return () => removeEventListener('beforeunload', warn);
  }, [isOn]);
}
