import { Button, Text, Title } from '@mantine/core';
import { useService } from '../../api/queries.ts';
import { BrandMark } from '../../ui/brand.tsx';
import classes from './chat.module.css';

const questions = [
  'How do I create an API key?',
  'What counts toward my daily quota?',
  'How do I call the API from a browser?',
];

export function Suggestions({ isClosed, onPick }: { onPick: (question: string) => void; isClosed: boolean }) {
  const { data: service } = useService();
  return (
    <div className={classes.empty}>
      <BrandMark size={40} />
      <Title order={2}>What would you like to know?</Title>
      <Text c="dimmed" size="sm" maw={420}>
        {service?.engine.chat === 'builtin'
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
