"""Commands with their output and exit codes."""
import pathlib
import shlex
import signal

from world import wait_for

SOURCE = pathlib.Path(__file__).resolve().parents[2]


def read_text(path):
    return (SOURCE / path).read_text(encoding="utf-8")


class Transcript:
    def __init__(self, world, masks, mask=lambda text: text, before=lambda: None):
        """`mask`: for verbs without their own mask. `before` is called before output is masked."""
        self.world, self.masks, self.mask, self.before = world, masks, mask, before
        self.parts = []

    def say(self, text):
        self.parts.append(self.masks.text(text).rstrip("\n") + "\n\n")

    def run(self, *arguments, stdin="", mask=None, **environment):
        """Marks lines of stderr, and a missing newline at the end. `mask`: additional mask for this verb."""
        done = self.world.run(*arguments, stdin=stdin, **environment)
        out, err = (text.decode("utf-8", "backslashreplace") for text in (done.stdout, done.stderr))
        self.write(arguments, environment, mask, out, err, done.returncode)
        return done

    def follow(self, until, *arguments, mask=None, **environment):
        """Runs a verb that does not end by itself, until `until` accepts its output; then interrupts it."""
        follower = self.world.start(*arguments, **environment)
        wait_for(" ".join(arguments), lambda: until(follower.out()) or follower.process.poll() is not None)
        code = follower.stop(signal.SIGINT)
        self.write(arguments, environment, mask, follower.out(), follower.err(), code)

    def write(self, arguments, environment, mask, out, err, code):
        self.before()
        mask = mask or self.mask
        words = [f"{name}={shlex.quote(value)}" for name, value in environment.items()]
        words += ["feedmill", *(shlex.quote(word) for word in arguments)]
        text = "$ " + self.masks.text(" ".join(words)) + "\n"
        out = mask(self.masks.text(out))
        text += out + ("\\ no end of line\n" if out and not out.endswith("\n") else "")
        text += "".join(f"! {line}\n" for line in mask(self.masks.text(err)).splitlines())
        self.parts.append(text + f"= {code}\n\n")

    def both(self, *arguments, **more):
        """Runs the verb with text output, then with --json."""
        self.run(*arguments, **more)
        return self.run(*arguments, "--json", **more)

    def __str__(self):
        return "".join(self.parts)
