import { Button, Text, Title } from '@mantine/core';
import { useService } from '../../api/queries.ts';
import { type TextKey, t } from '../../texts/language.ts';
import { BrandMark } from '../../ui/brand.tsx';
import classes from './chat.module.css';

/** The built-in engine replies from the guides. A language model knows nothing about this service. */
const aboutGuides = [
  'chat.suggestions.createKey',
  'chat.suggestions.quota',
  'chat.suggestions.browser',
] as const satisfies TextKey[];
const aboutAnything = [
  'chat.suggestions.caching',
  'chat.suggestions.meeting',
  'chat.suggestions.weekend',
] as const satisfies TextKey[];

export function Suggestions({ isClosed, onPick }: { onPick: (question: string) => void; isClosed: boolean }) {
  const { data: service } = useService();
  const isBuiltIn = service?.engine.chat === 'builtin';
  const questions = service === undefined ? [] : isBuiltIn ? aboutGuides : aboutAnything;
  return (
    <div className={classes.empty}>
      <BrandMark size={40} />
      <Title order={2}>{t('chat.suggestions.title')}</Title>
      <Text c="dimmed" size="sm" maw={420}>
        {isBuiltIn ? t('chat.suggestions.builtIn') : t('chat.suggestions.model')}
      </Text>
      <div className={classes.suggestions}>
        {questions.map((question) => (
          <Button
            key={question}
            variant="default"
            fullWidth
            classNames={{ root: classes.suggestion ?? '', label: classes.suggestionLabel ?? '' }}
            disabled={isClosed}
            onClick={() => onPick(t(question))}
          >
            {t(question)}
          </Button>
        ))}
      </div>
    </div>
  );
}
