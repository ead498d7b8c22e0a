// OpenAI's Agents SDK for JavaScript.
import { Agent, MCPServerStdio, OpenAIResponsesModel, run, setTracingDisabled } from "@openai/agents";
import OpenAI from "openai";

setTracingDisabled(true);
const server = new MCPServerStdio({ command: process.env.SERVER, timeout: 120000, clientSessionTimeoutSeconds: 120 });
await server.connect();
try {
  const model = new OpenAIResponsesModel(new OpenAI({ baseURL: `${process.env.MODEL_URL}/v1`, apiKey: "none" }), "scripted");
  await run(new Agent({ name: "agent", instructions: "Use the tools.", mcpServers: [server], model }), "Use the tools.", { maxTurns: 20 });
} finally {
  await server.close();
}
process.exit(0);
