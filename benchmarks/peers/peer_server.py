"""The test judge server, which also answers the peers' prompts; counts, delays and faults are the same for all.

`python benchmarks/peers/peer_server.py '{"latency_s": 0.3}'` with the repository on PYTHONPATH; prints its address.
The behaviour is that of `tests.parts.judge_server`; `GET /stats` tells what the server did.
"""

import asyncio
import json
import random
import sys
from contextlib import suppress
from hashlib import sha256
from typing import Any

from peer_rules import PLAIN, Reply, peer_reply

from tests.parts.judge_faults import KINDS
from tests.parts.judge_server import Behaviour, JudgeServer, Refused, text_of
from tests.parts.local_http import start


class PeerServer(JudgeServer):
    """Answers prompts of ragguard by the test judge's own rules, and those of the peers by `peer_rules`."""

    def _completion(self, request: dict[str, Any]) -> dict[str, Any]:
        prompt = text_of(request)
        try:
            reply = peer_reply(prompt)
        except ValueError as error:
            self.stats.tasks["unreadable"] += 1
            print(error, file=sys.stderr, flush=True)
            raise Refused(400, str(error)) from error
        if reply is None:
            return super()._completion(request)
        self._check_request(request, prompt)
        behaviour = self.behaviour
        count = self._seen[prompt]
        self._seen[prompt] += 1
        chance = random.Random(sha256(f"{behaviour.seed} {count} {prompt}".encode("utf-8", "replace")).hexdigest())
        fault = chance.random()
        if fault < behaviour.error_rate:
            raise Refused(chance.choice((500, 502, 503)), "The server had an error")
        content, finish = _content(reply), "stop"
        body = self._body(request, prompt, content, finish)
        if fault > 1 - behaviour.broken_rate:
            kind = chance.choice(behaviour.kinds.split(",") if behaviour.kinds else list(KINDS))
            broken, finish = KINDS[kind](reply)
            body["choices"][0] |= {"finish_reason": finish, "message": {"role": "assistant", "content": broken}}
        # Of several completions in one reply only the first is broken.
        good = {"role": "assistant", "content": content}
        for index in range(1, request.get("n") or 1):
            body["choices"].append({"index": index, "finish_reason": "stop", "message": good})
        return body


def _content(reply: Reply) -> str:
    return str(reply[PLAIN]) if PLAIN in reply else json.dumps(reply, ensure_ascii=False)


async def serve(behaviour: Behaviour) -> None:
    """Serves on a free port until it is ended."""
    judge = PeerServer(behaviour)
    server, judge.port = await start(judge.handle)
    print(judge.url, flush=True)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        asyncio.run(serve(Behaviour(**json.loads(sys.argv[1]))))
