"""Drives agent-cli over its RPC: client.py PROGRAM [OPTIONS], for example with --provider scripted:FILE."""
import json, subprocess, sys

class Client:
    def __init__(self, program, *options):
        pipe = subprocess.PIPE
        self.process = subprocess.Popen([program, "rpc", *options], stdin=pipe, stdout=pipe)
        self.unread, self.newest = [], 0

    def next(self, wanted):
        """Returns the next line that is wanted; others wait for whoever wants them."""
        while not any(map(wanted, self.unread)):
            line = self.process.stdout.readline() or sys.exit("the program has ended")
            self.unread.append(json.loads(line))
        return self.unread.pop([*map(wanted, self.unread)].index(True))

    def request(self, command, **members):
        """Sends a request, waits for its response and returns the data; other requests may be under way."""
        self.newest += 1
        line = json.dumps({"id": self.newest, "type": command, **members})
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()
        response = self.next(lambda line, id=self.newest: line["type"] == "response" and line["id"] == id)
        return response["data"] if response["success"] else sys.exit(response["error"]["message"])

    def event(self, kind):
        return self.next(lambda line: line["type"] == kind)

client = Client(*sys.argv[1:])
for text in ["How are durations written? " * 20, "Why does 1h30m fail?", "What should the tests hold?"]:
    message = client.request("prompt", text=text)["message_id"]
    print("answer:", client.event("answer")["text"][:40])
    client.event("idle")
print("compacted by", client.request("compact", focus="the parser")["result"]["summarizer"])
print("undone:", client.request("undo")["kind"])
print("entries:", [entry["type"] for entry in client.request("get_tree")["entries"] if entry["active"]][-3:])
print("back to:", client.request("navigate_tree", entry_id=message)["editor_text"])
client.request("close")
print("closed with exit code", client.process.wait())
