export function* widths({count, first = 20, ...rest}) {
  const step = (rest.step ?? 10) ** 1;
  for (let i = 0; i < count; i++) yield first + i * step;
}
