#!/usr/bin/env python3
"""Clients generated from docs/openapi.json compile, and read what a reader needs (OPERATIONS A5).

    openapi_types.py OPENAPI_JSON     exit 77: neither npm with its registry nor a Go generator is there

openapi-typescript and the compiler come from npm, into a directory of the test. oapi-codegen is used if it is installed.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

DESCRIPTION = pathlib.Path(sys.argv[1]).resolve()
PACKAGES = ["openapi-typescript@7", "typescript@5"]

TYPESCRIPT = """
import type { components, operations } from "./feedmill";

type Entry = components["schemas"]["Entry"];
type Event = components["schemas"]["Event"];
type Answer<Name extends keyof operations, Status extends keyof operations[Name]["responses"]> =
  operations[Name]["responses"][Status] extends { content: { "application/json": infer Body } } ? Body : never;

export function line(entry: Entry): string {
  const title: string | undefined = entry.title;
  const authors = (entry.authors ?? []).map((person) => person.name ?? "");
  const audio: string | undefined = entry.enclosures?.[0]?.url;
  const seen: string | undefined = entry.first_seen;
  const feed: string = entry.feed.custom_title ?? entry.feed.title ?? entry.feed.url;
  const text: string = entry.content_type === "text/html" ? entry.content ?? "" : entry.summary_text ?? "";
  return [feed, title ?? entry.link, entry.read ? "read" : "unread", entry.timestamp, seen, audio, text, ...authors].join(" ");
}

export function change(event: Event): string {
  const title: string | undefined = event.data.title;
  const whole: string | undefined = event.post?.content;
  for (const [field, values] of Object.entries(event.changed ?? {})) {
    if (!Array.isArray(values)) return `${field}: ${values.new_bytes} bytes`;
    return `${field}: ${values[0]} became ${values[1]}`;
  }
  return `${event.type} ${event.seq} ${title} ${event.data.state} ${event.data.first} ${whole}`;
}

export function unread(page: Answer<"countUnread", 200>): number {
  return page.channels.flatMap((channel) => channel.feeds).reduce((sum, feed) => sum + feed.unread, 0);
}

export function feeds(page: Answer<"listChannelFeeds", 200>): string[] {
  return page.feeds.map((feed) => `${feed.custom_title ?? feed.title} ${feed.state} ${feed.unread} ${feed.last_error}`);
}

export function description(feed: components["schemas"]["Feed"]): string | undefined {
  return feed.feed?.description;
}

export function notice(page: components["schemas"]["Notices"]): string[] {
  return page.notices.map((one) => `${one.title} ${one.why?.join()} ${one.read}`);
}

export function why(problem: components["schemas"]["Problem"]): string {
  return `${problem.status} ${problem.reason}: ${problem.detail}`;
}

// @ts-expect-error: the document has no such field, so a client that reads it does not compile.
export const wrong = (entry: Entry) => entry.headline;
"""

GO = """
package feedmill

func Line(entry Entry, event Event, problem Problem) string {
	line := problem.Reason
	for _, text := range []*string{entry.Title, entry.Content, event.Data.Title} {
		if text != nil {
			line += *text
		}
	}
	if event.Changed != nil {
		line += "changed"
	}
	return line
}
"""


def run(*command, **more):
    return subprocess.run(command, capture_output=True, text=True, **more)


def checked(what, done):
    if done.returncode != 0:
        sys.exit(f"{what}:\n{done.stdout}{done.stderr}")


def typescript(home):
    """Returns why it cannot be tried; None if the client compiles."""
    if shutil.which("npm") is None:
        return "npm is not installed"
    install = run("npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", *PACKAGES, cwd=home,
                  env={**os.environ, "npm_config_fetch_retries": "0", "npm_config_cache": str(home / "cache")})
    if install.returncode != 0:
        return "npm cannot install " + " ".join(PACKAGES) + ": " + install.stderr.strip().splitlines()[0]
    programs = home / "node_modules/.bin"
    checked("openapi-typescript", run(str(programs / "openapi-typescript"), str(DESCRIPTION), "-o", "feedmill.ts", cwd=home))
    (home / "reader.ts").write_text(TYPESCRIPT)
    checked("tsc", run(str(programs / "tsc"), "--noEmit", "--strict", "--target", "es2022", "--module", "es2022",
                       "--moduleResolution", "bundler", "reader.ts", cwd=home))
    return None


def go(home):
    """As typescript()."""
    for name in ("oapi-codegen", "go"):
        if shutil.which(name) is None:
            return name + " is not installed"
    done = run("oapi-codegen", "-generate", "types", "-package", "feedmill", str(DESCRIPTION))
    checked("oapi-codegen", done)
    (home / "types.go").write_text(done.stdout)
    (home / "reader.go").write_text(GO)
    (home / "go.mod").write_text("module feedmill\n")
    checked("go build", run("go", "build", "./...", cwd=home, env={**os.environ, "GOCACHE": str(home / "cache")}))
    return None


def main():
    reasons = []
    for client in (typescript, go):
        with tempfile.TemporaryDirectory() as home:
            reason = client(pathlib.Path(home))
        print(f"{client.__name__}: " + (f"skipped: {reason}" if reason else "compiles"))
        reasons.append(reason)
    if all(reasons):
        sys.exit(77)


main()
