import { ActionIcon, Badge, Loader, Tooltip, VisuallyHidden } from '@mantine/core';
import { memo, type ReactNode } from 'react';
import { Link } from 'wouter';
import { t } from '../../texts/language.ts';
import { When } from '../../ui/when.tsx';
import classes from './conversations.module.css';
import { EditIcon, PinIcon, PinnedIcon, TrashIcon } from './icons.tsx';
import type { Conversation, Row } from './new-conversations.ts';
import { returnTo } from './turns.ts';

type Props = Pick<Row, 'conversation' | 'progress' | 'isListed' | 'leftTurnId'> & {
  isCurrent: boolean;
  /** The words that the user searches for. */
  words: string;
  onOpen: (() => void) | undefined;
  onPin: (conversation: Conversation) => void;
  onDelete: (conversation: Conversation) => void;
  onEdit: (conversation: Conversation) => void;
};

/** A conversation in the list. Its size is the same before it is stored. */
export const Item = memo(function Item(props: Props) {
  const { conversation, isCurrent, isListed, leftTurnId, onDelete, onEdit, onOpen, onPin, progress, words } =
    props;
  const { id, key_id: keyId, pinned, snippet, title } = conversation;
  return (
    <li className={classes.item} data-current={isCurrent || undefined}>
      <Link
        href={id === '' ? '/chat' : `/chat/${id}`}
        className={classes.link ?? ''}
        aria-current={isCurrent ? 'page' : undefined}
        title={title}
        onClick={() => {
          if (leftTurnId !== undefined) returnTo(leftTurnId);
          onOpen?.();
        }}
      >
        <span className={classes.title}>
          <Marked text={title} words={words} />
        </span>{' '}
        {snippet && (
          <span className={classes.snippet}>
            <Marked text={snippet} words={words} />
          </span>
        )}{' '}
        <span className={classes.facts}>
          {pinned && <VisuallyHidden>{t('chat.list.pinned')}</VisuallyHidden>}
          {keyId !== null && (
            <Badge size="xs" variant="default">
              {t('chat.list.api')}
            </Badge>
          )}{' '}
          <Progress conversation={conversation} progress={progress} />
        </span>
      </Link>
      {isListed && (
        <div className={classes.actions}>
          <Action
            label={t('chat.list.edit')}
            name={t('chat.list.editTitle', { title })}
            onClick={() => onEdit(conversation)}
          >
            <EditIcon size={16} />
          </Action>
          <Action
            label={t('chat.delete.action')}
            name={t('chat.list.deleteTitle', { title })}
            onClick={() => onDelete(conversation)}
          >
            <TrashIcon size={16} />
          </Action>
          <Action
            label={t(pinned ? 'chat.list.unpin' : 'chat.list.pin')}
            name={t(pinned ? 'chat.list.unpinTitle' : 'chat.list.pinTitle', { title })}
            isPinned={pinned}
            onClick={() => onPin(conversation)}
          >
            {pinned ? <PinnedIcon size={16} /> : <PinIcon size={16} />}
          </Action>
        </div>
      )}
    </li>
  );
});

function Progress({ conversation, progress }: Pick<Row, 'conversation' | 'progress'>) {
  if (progress === undefined) return <When at={conversation.updated_at} />;
  if (progress === 'unsaved') return <span className={classes.stage}>{t('chat.list.unsaved')}</span>;
  return (
    <>
      <Loader type="dots" size={20} color="gray" aria-hidden />
      <span className={classes.stage}>{t('chat.list.underWay')}</span>
    </>
  );
}

type ActionProps = {
  label: string;
  /** Includes the title, so that the buttons of different rows have different names. */
  name: string;
  isPinned?: boolean;
  onClick: () => void;
  children: ReactNode;
};

const Action = ({ children, isPinned = false, label, name, onClick }: ActionProps) => (
  <Tooltip label={label}>
    <ActionIcon
      variant="subtle"
      color="gray"
      size={28}
      aria-label={name}
      data-pinned={isPinned || undefined}
      onClick={onClick}
    >
      {children}
    </ActionIcon>
  </Tooltip>
);

const escaped = (word: string) => word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

/** Highlights the words in a text. */
function Marked({ text, words }: { text: string; words: string }) {
  if (words === '') return text;
  const parts = text.split(new RegExp(`(${words.split(/\s+/).map(escaped).join('|')})`, 'gi'));
  return parts.map((part, index) => (index % 2 === 1 ? <mark key={index}>{part}</mark> : part));
}
