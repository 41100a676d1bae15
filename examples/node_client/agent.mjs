// A loop of your own in Node, which knows nothing of toolreel: it asks, runs the calls, and asks again.

import { fileURLToPath } from "node:url";

const STOCK = { pin: 4, shim: 0 };

const TOOLS = [
  {
    type: "function",
    function: {
      name: "stock",
      description: "How many of a part are in stock.",
      parameters: { type: "object", properties: { part: { type: "string" } }, required: ["part"] },
    },
  },
];

/** The answer to a question, and the calls that were made for it. */
export async function ask(question, baseUrl = process.env.OPENAI_BASE_URL) {
  const messages = [{ role: "user", content: question }];
  const calls = [];
  for (;;) {
    const response = await fetch(`${baseUrl}/chat/completions`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        authorization: `Bearer ${process.env.OPENAI_API_KEY ?? "none"}`,
      },
      body: JSON.stringify({ model: "your-model", messages, tools: TOOLS }),
    });
    const body = await response.json();
    if (!response.ok) throw new Error(`${response.status}: ${JSON.stringify(body)}`);
    const { message } = body.choices[0];
    if (!message.tool_calls?.length) return { answer: message.content, calls };
    messages.push(message);
    for (const call of message.tool_calls) {
      const { part } = JSON.parse(call.function.arguments);
      calls.push(`${call.function.name}(${part})`);
      messages.push({ role: "tool", tool_call_id: call.id, content: String(STOCK[part]) });
    }
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) console.log(await ask(process.argv[2]));
