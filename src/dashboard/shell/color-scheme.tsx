import { type MantineColorScheme, Tooltip, UnstyledButton, useMantineColorScheme } from '@mantine/core';
import { t } from '../texts/language.ts';
import { MoonIcon, SunIcon, SystemIcon } from '../ui/icons.tsx';
import classes from './layout.module.css';

const schemes = {
  auto: { next: 'light', Icon: SystemIcon },
  light: { next: 'dark', Icon: SunIcon },
  dark: { next: 'auto', Icon: MoonIcon },
} as const satisfies Record<MantineColorScheme, { next: MantineColorScheme; Icon: unknown }>;

export function ColorSchemeButton({ hasLabel = false }: { hasLabel?: boolean }) {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const { Icon, next } = schemes[colorScheme];
  const title = t(`shell.theme.${colorScheme}`);
  return (
    <Tooltip label={title} disabled={hasLabel}>
      <UnstyledButton
        className={classes.tool ?? ''}
        aria-label={t(`shell.theme.change.${colorScheme}`)}
        onClick={() => setColorScheme(next)}
      >
        <Icon />
        {hasLabel && <span>{title}</span>}
      </UnstyledButton>
    </Tooltip>
  );
}
