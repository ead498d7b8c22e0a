// The loop of an agent on the Chat Completions API: offer the tools, call the one that the model asks for, show its result.
const shown = (part) => {
  if (part.type === "image") return { type: "image_url", image_url: { url: `data:${part.mimeType};base64,${part.data}` } };
  return { type: "text", text: part.text ?? JSON.stringify(part) };
};

export async function converse(tools, instructions, call) {
  const messages = [{ role: "system", content: instructions ?? "" }, { role: "user", content: "Use the tools." }];
  const offered = tools.map(({ name, description, inputSchema }) => ({ type: "function", function: { name, description, parameters: inputSchema } }));
  for (;;) {
    const response = await fetch(`${process.env.MODEL_URL}/v1/chat/completions`, { method: "POST", body: JSON.stringify({ messages, tools: offered }) });
    const { message } = (await response.json()).choices[0];
    if (!message.tool_calls) return;
    messages.push(message);
    for (const { id, function: { name, arguments: given } } of message.tool_calls) {
      const result = await call({ name, arguments: JSON.parse(given) });
      messages.push({ role: "tool", tool_call_id: id, content: result.content.map(shown) });
    }
  }
}

// The answer to a form: yes to each question.
export const agreed = ({ requestedSchema }) => ({
  action: "accept",
  content: Object.fromEntries(Object.entries(requestedSchema?.properties ?? {}).map(([name, { type, enum: choices }]) => [name, type === "boolean" ? true : choices.at(-1)])),
});
