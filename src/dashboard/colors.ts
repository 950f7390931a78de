/** The colors that the dashboard and the documentation share, for light and dark pages. */

type Pair = { light: string; dark: string };

export const sharedColors = {
  text: { light: '#1a1f27', dark: '#dde1e8' },
  dimmed: { light: '#566070', dark: '#9aa3b2' },
  page: { light: '#f6f7f9', dark: '#13171d' },
  panel: { light: '#ffffff', dark: '#1b2028' },
  code: { light: '#f1f3f6', dark: '#0c0f13' },
  line: { light: '#dfe3e8', dark: '#373e4b' },
  active: { light: '#eef2ff', dark: 'rgb(122 148 251 / 16%)' },
  activeText: { light: '#2c41a6', dark: '#bccbff' },
  link: { light: '#364fc7', dark: '#7a94fb' },
} as const satisfies Record<string, Pair>;
