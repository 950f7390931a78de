import { Group, Paper, Text, Title } from '@mantine/core';
import { type ReactNode, useId } from 'react';

type Props = { title: string; description?: ReactNode; action?: ReactNode; children?: ReactNode };

export function Panel({ action, children, description, title }: Props) {
  const id = useId();
  return (
    <Paper component="section" aria-labelledby={id} withBorder p="md" bg="var(--parley-panel)">
      <Group justify="space-between" align="flex-start" gap="sm" mb={children ? 'md' : 0}>
        <div style={{ flex: '1 1 16rem' }}>
          <Title order={2} id={id}>
            {title}
          </Title>
          {description && (
            <Text size="sm" c="dimmed" mt={4}>
              {description}
            </Text>
          )}
        </div>
        {action}
      </Group>
      {children}
    </Paper>
  );
}
