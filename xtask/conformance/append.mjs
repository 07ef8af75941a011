// Appends with pi's own code to the only session below a folder: `node append.mjs PI_FOLDER SESSIONS`.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [, , pi, sessions] = process.argv;
const { SessionManager } = await import(pathToFileURL(join(pi, "dist", "core", "session-manager.js")).href);
const [file] = readdirSync(sessions, { recursive: true }).filter((name) => name.endsWith(".jsonl") && !name.endsWith(".pending.jsonl"));
const session = SessionManager.open(join(sessions, file));
session.appendMessage({ role: "user", content: "Written by pi.", timestamp: Date.parse("2026-01-01T00:00:00Z") });
console.log("pi has written");
