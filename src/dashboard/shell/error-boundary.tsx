/** The last resort: a page that broke says so, and offers to begin anew. */
import { Button, Stack, Text, Title } from '@mantine/core';
import { Component, type ReactNode } from 'react';

type Props = { children: ReactNode };
type State = { hasFailed: boolean };

export class ErrorBoundary extends Component<Props, State> {
  override state: State = { hasFailed: false };

  static getDerivedStateFromError(): State {
    return { hasFailed: true };
  }

  override render(): ReactNode {
    if (!this.state.hasFailed) return this.props.children;
    return (
      <Stack align="flex-start" p="xl" maw={560} mx="auto">
        <Title order={1}>This page broke</Title>
        <Text>
          Nothing that you saved is lost. Reload the page; if it stays, tell the operator what you did.
        </Text>
        <Button onClick={() => location.reload()}>Reload</Button>
      </Stack>
    );
  }
}
