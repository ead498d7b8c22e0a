// Vercel's AI SDK.
import { createMCPClient } from "@ai-sdk/mcp";
import * as stdio from "@ai-sdk/mcp/mcp-stdio";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, stepCountIs } from "ai";

const Transport = stdio.StdioMCPTransport ?? stdio.Experimental_StdioMCPTransport;
const client = await createMCPClient({ transport: new Transport({ command: process.env.SERVER }) });
const provider = createOpenAICompatible({ name: "scripted", baseURL: `${process.env.MODEL_URL}/v1`, apiKey: "none" });
await generateText({ model: provider("scripted"), tools: await client.tools(), prompt: "Use the tools.", stopWhen: stepCountIs(20) });
await client.close();
