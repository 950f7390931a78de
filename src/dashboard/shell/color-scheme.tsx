import { type MantineColorScheme, Tooltip, UnstyledButton, useMantineColorScheme } from '@mantine/core';
import { MoonIcon, SunIcon, SystemIcon } from '../ui/icons.tsx';
import classes from './layout.module.css';

const schemes = {
  auto: { label: 'system', next: 'light', Icon: SystemIcon },
  light: { label: 'light', next: 'dark', Icon: SunIcon },
  dark: { label: 'dark', next: 'auto', Icon: MoonIcon },
} as const satisfies Record<MantineColorScheme, { label: string; next: MantineColorScheme; Icon: unknown }>;

export function ColorSchemeButton({ hasLabel = false }: { hasLabel?: boolean }) {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const { Icon, label, next } = schemes[colorScheme];
  const title = `Theme: ${label}`;
  return (
    <Tooltip label={title} disabled={hasLabel}>
      <UnstyledButton
        className={classes.tool ?? ''}
        aria-label={`${title}. Change to ${schemes[next].label}.`}
        onClick={() => setColorScheme(next)}
      >
        <Icon />
        {hasLabel && <span>{title}</span>}
      </UnstyledButton>
    </Tooltip>
  );
}
