import { Paper, Stack, Text, Title } from '@mantine/core';
import type { ReactNode } from 'react';

type Props = { icon?: ReactNode; title: string; children: ReactNode; action?: ReactNode };

export function EmptyState({ action, children, icon, title }: Props) {
  return (
    <Paper withBorder p="xl" bg="var(--parley-panel)">
      <Stack align="center" gap="xs" maw={460} mx="auto" ta="center" py="md">
        {icon}
        <Title order={2}>{title}</Title>
        <Text c="dimmed" textWrap="balance">
          {children}
        </Text>
        {action && <Stack mt="sm">{action}</Stack>}
      </Stack>
    </Paper>
  );
}
