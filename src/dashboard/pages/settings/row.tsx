import { Button, Group, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { t } from '../../texts/language.ts';
import classes from './settings.module.css';

type Props = {
  label: string;
  /** The full label of the button, for screen readers. */
  change: string;
  /** The visible text of the button. */
  action?: string;
  onChange: () => void;
  children: ReactNode;
};

export const SettingRow = ({ action = t('settings.change'), change, children, label, onChange }: Props) => (
  <Group justify="space-between" wrap="nowrap" className={classes.row ?? ''}>
    <div>
      <Text size="sm" c="dimmed">
        {label}
      </Text>
      <Text style={{ overflowWrap: 'anywhere' }}>{children}</Text>
    </div>
    <Button variant="default" flex="none" aria-label={change} onClick={onChange}>
      {action}
    </Button>
  </Group>
);
