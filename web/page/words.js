// Texts of the page. They come from the exchange or from a user: they are set as text, never as markup.

export function say(element, text) {
  element.textContent = text;
}

// "-1234.5" as the legend writes it: thousands apart, a minus sign that is as wide as a plus. No digit changes.
export function grouped(text) {
  const [whole, part] = text.replace('-', '').split('.');
  const thousands = whole.replace(/\B(?=(\d{3})+$)/g, ',');
  const sign = text.startsWith('-') ? '\u2212' : '';
  return sign + thousands + (part === undefined ? '' : `.${part}`);
}

export function clockTime(ms) {
  return new Date(ms).toISOString().slice(11, 19);
}

export function dayAndTime(ms, { withSeconds = false } = {}) {
  return new Date(ms).toISOString().slice(0, withSeconds ? 19 : 16).replace('T', ' ');
}

// The legend in one breath, for a screen reader and for a question.
export function legendWords(legend, between) {
  return legend.map((row) => `${row.name}: ${row.values}`).join(between);
}
