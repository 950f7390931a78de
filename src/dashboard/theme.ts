/** Replaces Mantine's colors whose contrast is too low (WCAG AA). */

import {
  Alert,
  Checkbox,
  type CSSVariablesResolver,
  createTheme,
  type MantineColorsTuple,
  type MantineThemeOverride,
  Modal,
  mergeThemeOverrides,
  NativeSelect,
  PasswordInput,
  Radio,
  TextInput,
} from '@mantine/core';
import { sharedColors } from './colors.ts';
import { t } from './texts/language.ts';

const brand: MantineColorsTuple = [
  '#eef2ff',
  '#dfe6ff',
  '#bccbff',
  '#95abff',
  '#7a94fb',
  '#5f7cf7',
  '#4a68ee',
  '#4059e0',
  '#364fc7',
  '#2c41a6',
];

const dark: MantineColorsTuple = [
  '#dde1e8',
  '#bcc3cf',
  '#9aa3b2',
  '#6f7889',
  '#485060',
  '#373e4b',
  '#262c36',
  '#1b2028',
  '#13171d',
  '#0c0f13',
];

const theme = createTheme({
  primaryColor: 'brand',
  primaryShade: 8,
  black: sharedColors.text.light,
  colors: { brand, dark },
  fontFamily: "'Inter Variable', system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif",
  fontFamilyMonospace: "ui-monospace, SFMono-Regular, Menlo, Consolas, 'Liberation Mono', monospace",
  defaultRadius: 'md',
  cursorType: 'pointer',
  respectReducedMotion: true,
  headings: { fontWeight: '650', sizes: { h1: { fontSize: '1.625rem' }, h2: { fontSize: '1.125rem' } } },
  components: {
    // The alert's color has too little contrast on its light background.
    Alert: Alert.extend({ styles: { title: { color: 'var(--mantine-color-text)' } } }),
    // Phones zoom into fields with text below 16 px.
    TextInput: TextInput.extend({ defaultProps: { size: 'md' } }),
    PasswordInput: PasswordInput.extend({ defaultProps: { size: 'md' } }),
    Checkbox: Checkbox.extend({ defaultProps: { size: 'md' } }),
    CheckboxGroup: Checkbox.Group.extend({ defaultProps: { size: 'md' } }),
    Radio: Radio.extend({ defaultProps: { size: 'md' } }),
    RadioGroup: Radio.Group.extend({ defaultProps: { size: 'md' } }),
    NativeSelect: NativeSelect.extend({ defaultProps: { size: 'md' } }),
    Modal: Modal.extend({
      defaultProps: { padding: 'md' },
      styles: { title: { fontWeight: 650, fontSize: '1.125rem', lineHeight: 1.3, overflowWrap: 'anywhere' } },
    }),
  },
});

/** The theme, with the labels of its buttons in the current language. */
export const themeInWords = (): MantineThemeOverride =>
  mergeThemeOverrides(theme, {
    components: {
      PasswordInput: PasswordInput.extend({
        defaultProps: { visibilityToggleButtonProps: { 'aria-label': t('ui.showPassword'), tabIndex: 0 } },
      }),
      Modal: Modal.extend({ defaultProps: { closeButtonProps: { 'aria-label': t('ui.close') } } }),
    },
  });

export const resolveVariables: CSSVariablesResolver = ({ colors }) => ({
  variables: {},
  light: {
    '--mantine-color-dimmed': sharedColors.dimmed.light,
    '--mantine-color-placeholder': '#697385',
    '--mantine-color-error': colors.red[9],
    '--parley-page': sharedColors.page.light,
    '--parley-panel': sharedColors.panel.light,
    '--parley-code': sharedColors.code.light,
    '--parley-line': sharedColors.line.light,
    '--parley-active': sharedColors.active.light,
    '--parley-active-text': sharedColors.activeText.light,
    '--parley-danger': colors.red[9],
    '--parley-warning': '#7a4d00',
    '--mantine-color-brand-light': brand[0],
    '--mantine-color-red-light': '#ffefee',
    '--mantine-color-yellow-light': '#fff5da',
  },
  dark: {
    '--mantine-color-dimmed': sharedColors.dimmed.dark,
    '--mantine-color-placeholder': '#8b95a5',
    '--mantine-color-error': colors.red[4],
    '--mantine-color-brand-light': 'rgb(122 148 251 / 16%)',
    '--mantine-color-brand-light-color': brand[2],
    '--mantine-color-red-light': 'rgb(255 107 107 / 14%)',
    '--mantine-color-yellow-light': 'rgb(252 196 25 / 13%)',
    '--mantine-color-green-light': 'rgb(81 207 102 / 14%)',
    '--mantine-color-gray-light': 'rgb(154 163 178 / 14%)',
    '--parley-page': sharedColors.page.dark,
    '--parley-panel': sharedColors.panel.dark,
    '--parley-code': sharedColors.code.dark,
    '--parley-line': sharedColors.line.dark,
    '--parley-active': sharedColors.active.dark,
    '--parley-active-text': sharedColors.activeText.dark,
    '--parley-danger': colors.red[4],
    '--parley-warning': '#ffd166',
  },
});
