import { Box, Group, Text, Title } from '@mantine/core';
import { type ReactNode, useEffect, useRef } from 'react';
import { wasNavigated } from '../shell/navigation.ts';

type Props = { title: string; children?: ReactNode; action?: ReactNode };

export function PageHeader({ action, children, title }: Props) {
  const heading = useRef<HTMLHeadingElement>(null);

  useEffect(() => {
    document.title = `${title} · Parley`;
    if (!wasNavigated()) return;
    // Behave like a page load: scroll to the top and focus the heading.
    window.scrollTo(0, 0);
    heading.current?.focus({ preventScroll: true });
  }, [title]);

  return (
    <Group justify="space-between" align="flex-start" gap="md" mb="xl">
      <Box flex="1 1 18rem">
        <Title order={1} ref={heading} tabIndex={-1}>
          {title}
        </Title>
        {children && (
          <Text c="dimmed" mt={6} maw={620} textWrap="pretty">
            {children}
          </Text>
        )}
      </Box>
      {action}
    </Group>
  );
}
