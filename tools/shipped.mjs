/** Lock files whose packages reach operators or users. The others are for tools and tests. */
export const shipped = [
  { folder: '.', name: 'parley' },
  { folder: 'src/dashboard', name: 'parley-dashboard' },
];
