import { Button, Text, Title } from '@mantine/core';
import { useService } from '../../api/queries.ts';
import { BrandMark } from '../../ui/brand.tsx';
import classes from './chat.module.css';

/** The built-in engine answers from the guides. A model knows nothing about this service. */
const aboutGuides = [
  'How do I create an API key?',
  'What counts toward my daily quota?',
  'How do I call the API from a browser?',
];
const aboutAnything = [
  'Explain how HTTP caching works, with an example.',
  'Write a friendly reply that declines a meeting.',
  'Give me three ideas for a weekend project.',
];

export function Suggestions({ isClosed, onPick }: { onPick: (question: string) => void; isClosed: boolean }) {
  const { data: service } = useService();
  const isBuiltIn = service?.engine.chat === 'builtin';
  const questions = service === undefined ? [] : isBuiltIn ? aboutGuides : aboutAnything;
  return (
    <div className={classes.empty}>
      <BrandMark size={40} />
      <Title order={2}>What would you like to know?</Title>
      <Text c="dimmed" size="sm" maw={420}>
        {isBuiltIn
          ? "No language model is connected. Answers come from this service's guides."
          : 'Answers count toward the same daily quota as your API keys.'}
      </Text>
      <div className={classes.suggestions}>
        {questions.map((question) => (
          <Button
            key={question}
            variant="default"
            fullWidth
            disabled={isClosed}
            onClick={() => onPick(question)}
          >
            {question}
          </Button>
        ))}
      </div>
    </div>
  );
}
