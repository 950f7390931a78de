import { ActionIcon, Button, Title, Tooltip } from '@mantine/core';
import { type RefObject, useState } from 'react';
import { t } from '../../texts/language.ts';
import { DownloadIcon, PlusIcon, SectionIcon } from '../../ui/icons.tsx';
import classes from './chat.module.css';
import { DownloadDialog } from './download-dialog.tsx';
import { EditConversation, NewSettings } from './edit-conversation.tsx';
import { ListIcon } from './icons.tsx';
import type { Settings } from './new-settings.ts';

type Props = {
  heading: RefObject<HTMLHeadingElement | null>;
  title: string;
  id: string | undefined;
  isStored: boolean;
  /** Undefined if the first message was sent. */
  newSettings: Settings | undefined;
  onOpenList: () => void;
  onNew: () => void;
};

export function Header({ heading, id, isStored, newSettings, onNew, onOpenList, title }: Props) {
  const [open, setOpen] = useState<'download' | 'settings' | null>(null);
  const close = () => setOpen(null);
  const settingsLabel = t(newSettings ? 'chat.edit.settings' : 'chat.edit.dialog');
  return (
    <header className={classes.header}>
      <Title order={1} tabIndex={-1} title={title} ref={heading}>
        {title}
      </Title>
      <ActionIcon
        variant="default"
        size={36}
        className={classes.narrowOnly ?? ''}
        aria-label={t('chat.list.title')}
        onClick={onOpenList}
      >
        <ListIcon />
      </ActionIcon>
      {isStored && (
        <Tooltip label={t('chat.download.short')}>
          <ActionIcon
            variant="default"
            size={36}
            aria-label={t('chat.download.title')}
            onClick={() => setOpen('download')}
          >
            <DownloadIcon size={18} />
          </ActionIcon>
        </Tooltip>
      )}
      {(isStored || newSettings) && (
        <Tooltip label={settingsLabel}>
          <ActionIcon
            variant={newSettings && Object.keys(newSettings).length > 0 ? 'light' : 'default'}
            size={36}
            aria-label={settingsLabel}
            onClick={() => setOpen('settings')}
          >
            <SectionIcon name="settings" size={18} />
          </ActionIcon>
        </Tooltip>
      )}
      <Button
        variant="default"
        className={classes.new ?? ''}
        leftSection={<PlusIcon size={18} />}
        aria-label={t('chat.new')}
        onClick={onNew}
      >
        <span>{t('chat.new')}</span>
      </Button>
      {open === 'download' && id !== undefined && <DownloadDialog id={id} onClose={close} />}
      {open === 'settings' &&
        (newSettings ? (
          <NewSettings settings={newSettings} onClose={close} />
        ) : (
          id !== undefined && <EditConversation id={id} onClose={close} />
        ))}
    </header>
  );
}
