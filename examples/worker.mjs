// A worker in Node. Over HTTP alone it needs nothing but Node itself:
//
//   PUNCTUAL_URL=http://127.0.0.1:8000 WORKER_KEY=pwk_… node worker.mjs
//
// With AMQP_URL it consumes RabbitMQ and reports over HTTP; that needs `npm install` (amqplib) once.
// ROUNDS=n ends after so many executions.
import { hostname } from "node:os";

// What this worker can do: a function for each task, given the payload and the run. What it returns is the result.
// `run.signal` is aborted when the lease is lost or somebody cancels; `run.id` is the same for every attempt.
const handlers = {
  async resize_video({ url, width = 640 }, run) {
    if (!url.startsWith("https://")) throw new Hopeless(`${url} is not served over HTTPS`);
    return { url, width, attempt: run.attempt };
  },
  async transcribe({ words = [] }) {
    return { text: words.join(" ") };
  },
};

class Hopeless extends Error {} // no further attempt can help

const { PUNCTUAL_URL, WORKER_KEY, AMQP_URL, NAME_PREFIX = "", ROUNDS = "0" } = process.env;
const WORKER = `node on ${hostname()}`;
let left = Number(ROUNDS) || Infinity;

async function say(route, body) {
  const answer = await fetch(`${PUNCTUAL_URL}/api/v1/worker/${route}`, {
    method: "POST",
    headers: { Authorization: `Worker-Key ${WORKER_KEY}`, "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  if (answer.status === 409) return null; // the execution is no longer ours
  if (!answer.ok) throw new Error(`${route}: ${answer.status} ${await answer.text()}`);
  return answer.json();
}

async function run(claim) {
  const held = { execution: claim.execution, attempt: claim.attempt };
  const stop = new AbortController();
  const heart = setInterval(async () => {
    const kept = await say("heartbeat", held).catch(() => undefined); // one lost beat is no lost lease
    if (kept === null || kept?.cancelled) stop.abort();
  }, (claim.lease_seconds * 1000) / 4);
  let outcome;
  try {
    const context = { id: claim.execution, attempt: claim.attempt, deadline: claim.deadline, signal: stop.signal };
    const result = await handlers[claim.task](claim.payload, context);
    outcome = ["complete", { ...held, result: result ?? null }];
  } catch (error) {
    const retry = !(error instanceof Hopeless);
    outcome = ["fail", { ...held, error: `${error}`.slice(0, 2000), traceback: error.stack ?? "", retry }];
  } finally {
    clearInterval(heart);
  }
  const recorded = await say(...outcome);
  console.log(recorded ? `${outcome[0]} ${claim.task} ${claim.execution}` : `lost ${claim.execution}`);
  left -= 1;
}

async function overHttp() {
  while (left > 0) {
    try {
      const { claims } = await say("claim", { tasks: ["resize_video"], wait: 20, worker: WORKER });
      await Promise.all(claims.map(run));
    } catch (error) {
      console.error(`${error}`);
      await new Promise((resolve) => setTimeout(resolve, 2000));
    }
  }
}

async function claimed(channel, message) {
  const { v, executions } = JSON.parse(message.content);
  if (v !== 1) {
    channel.nack(message, false, false); // nobody here can read it: a dead letter
    return [];
  }
  try {
    const claims = [];
    for (let wanted = executions; wanted.length > 0; ) {
      const answer = await say("claim", { executions: wanted, worker: WORKER });
      claims.push(...answer.claims);
      wanted = answer.left; // one answer holds 4 MiB of payloads
    }
    channel.ack(message); // claimed, or no longer waiting: from here on the lease says whose it is
    return claims;
  } catch (error) {
    console.error(`${error}`);
    setTimeout(() => channel.nack(message), 2000); // back into the queue
    return [];
  }
}

async function fromRabbitMQ() {
  const { default: amqp } = await import("amqplib");
  const connection = await amqp.connect(AMQP_URL);
  const channel = await connection.createChannel();
  const queue = `${NAME_PREFIX}jobs.queue.transcribe`;
  // Exactly as Punctual declares it: other arguments would be refused.
  await channel.assertQueue(queue, {
    durable: true,
    maxPriority: 10,
    deadLetterExchange: `${NAME_PREFIX}jobs.dead_letter.exchange`,
  });
  await channel.prefetch(1);
  await new Promise((resolve, reject) => {
    connection.on("error", reject);
    channel.consume(queue, async (message) => {
      for (const claim of await claimed(channel, message)) {
        await run(claim).catch((error) => console.error(`${error}`)); // the lease runs out, and it is tried again
      }
      if (left <= 0) resolve();
    });
  });
  await connection.close();
}

await (AMQP_URL ? fromRabbitMQ() : overHttp());
