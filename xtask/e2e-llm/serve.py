"""Serves a model over HTTP on 127.0.0.1, with llama.cpp's own server, until stdin closes.

usage: serve.py MODEL PORT CONTEXT THREADS ALIAS [GRAMMAR]

GRAMMAR is a file in llama.cpp's notation that every answer has to follow.

Whoever starts it holds its stdin: when that program ends, however it ends, so does the server.
"""

import os
import signal
import sys

import xllamacpp


def parameters(model, port, context, threads, alias, grammar):
    """Returns the settings: one slot, so that the whole context is one request's, and no sliding of it."""
    chosen = xllamacpp.CommonParams()
    chosen.model.path = model
    # Both were plain strings in earlier releases.
    chosen.model_alias = alias if isinstance(chosen.model_alias, str) else {alias}
    if isinstance(getattr(chosen, "hostnames", None), list):
        chosen.hostnames = ["127.0.0.1"]
    else:
        chosen.hostname = "127.0.0.1"
    chosen.port = port
    chosen.n_ctx = context
    chosen.n_parallel = 1
    chosen.cpuparams.n_threads = threads
    chosen.cpuparams_batch.n_threads = threads
    chosen.use_jinja = True
    chosen.ctx_shift = False
    # A model this small repeats itself until its answer is cut; with both of these it mostly comes to an end.
    chosen.sampling.penalty_repeat = 1.1
    chosen.sampling.dry_multiplier = 0.8
    chosen.ui = False
    chosen.warmup = True
    chosen.verbosity = 2
    if grammar:
        with open(grammar, encoding="utf-8") as file:
            own = xllamacpp.common_grammar_type.COMMON_GRAMMAR_TYPE_USER
            chosen.sampling.grammar = xllamacpp.CommonGrammar(own, file.read())
    return chosen


def main():
    model, port, context, threads, alias, *grammar = sys.argv[1:]
    # Ctrl-C reaches every program of the terminal; this one waits for stdin to close.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    grammar = grammar[0] if grammar else None
    server = xllamacpp.Server(
        parameters(model, int(port), int(context), int(threads), alias, grammar)
    )
    print("listening", server.listening_address, flush=True)
    while os.read(0, 4096):
        pass
    # The server's threads do not end by themselves.
    os._exit(0)


if __name__ == "__main__":
    main()
