"""Real shells with a completion script loaded, and what they offer for the beginning of a line."""
import os
import pty
import subprocess
import threading

# Nothing of the person who runs the test: no start-up files, no functions of theirs.
ENVIRONMENT = {"PATH": os.environ["PATH"], "TERM": "dumb", "LC_ALL": "C.UTF-8"}


def run(words, **more):
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, **more)
    if done.returncode != 0 or done.stderr:
        raise AssertionError(f"{words}: {done.returncode} {done.stderr}")
    return done.stdout


class Bash:
    """Bash is asked as it asks itself: COMP_WORDS, COMP_CWORD, then the function it registered."""

    ASK = r"""
        source "$1" || exit
        shift
        read -r _ _ function _ < <(complete -p -- "$1")
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
        $function "$1" "${COMP_WORDS[-1]}" "${COMP_WORDS[-2]}"
        ((${#COMPREPLY[@]} == 0)) || printf '%s\n' "${COMPREPLY[@]}"
    """

    def __init__(self, script, home):
        self.script, self.home = script, home

    def offers(self, words):
        # Bash breaks words at an equals sign before anybody is asked.
        broken = [part for word in words for part in self.broken(word)]
        return run(["bash", "--norc", "-c", self.ASK, "bash", self.script, *broken], cwd=self.home,
                   env=ENVIRONMENT | {"HOME": self.home}).splitlines()

    @staticmethod
    def broken(word):
        name, equals, value = word.partition("=")
        return [name, *([equals] if equals else []), *([value] if value else [])]

    def close(self):
        pass


class Fish:
    def __init__(self, script, home):
        self.script, self.home = script, home

    def offers(self, words):
        ask = "source $argv[1]; complete -C $argv[2]"
        lines = run(["fish", "--no-config", "-c", ask, self.script, " ".join(words)],
                    cwd=self.home, env=ENVIRONMENT | {"HOME": self.home}).splitlines()
        # A value after an equals sign comes with its option.
        offered = [line.split("\t")[0].rpartition("=")[2] for line in lines]
        # Fish 4 also tells of those that hold the letters somewhere; who types sees them only when none begins so.
        begun = words[-1].rpartition("=")[2]
        return [each for each in offered if each.startswith(begun)] or offered

    def close(self):
        pass


class Zsh:
    """Zsh completes only for its line editor, so there is a terminal, and a key that asks."""

    START = r"""
        autoload -Uz compinit && compinit -u -D
        source $SCRIPT
        # Everything that is really offered goes through compadd; -O, -A and -D only look.
        compadd() {
          if ((${argv[(I)-[OAD]]} == 0)); then
            local -a __offered
            builtin compadd -O __offered "$@"
            (($#__offered == 0)) || print -rlu $ANSWER -- $__offered
          fi
          builtin compadd "$@"
        }
        offer() { _main_complete; compstate[insert]= compstate[list]= }
        zle -C offer complete-word offer
        ask() {
          IFS= read -ru $QUESTION BUFFER
          CURSOR=$#BUFFER
          zle offer
          BUFFER=
          print -ru $ANSWER -- "that is all"
        }
        zle -N ask
        bindkey -e '^X' ask
    """

    def __init__(self, script, home):
        (question, self.question), (self.answer, answer) = os.pipe(), os.pipe()
        self.terminal, screen = pty.openpty()
        with open(os.path.join(home, ".zshrc"), "w", encoding="utf-8") as start:
            start.write(self.START)
        environment = {"HOME": home, "ZDOTDIR": home, "SCRIPT": script, "QUESTION": str(question),
                       "ANSWER": str(answer)}
        self.process = subprocess.Popen(
            ["zsh", "-d", "-i"], stdin=screen, stdout=screen, stderr=screen, cwd=home,
            env=ENVIRONMENT | environment, pass_fds=(question, answer), start_new_session=True)
        for unused in (question, answer, screen):
            os.close(unused)
        self.lines = os.fdopen(self.answer, encoding="utf-8")
        self.shown = b""
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        # Someone must read the screen, or the shell waits for it.
        try:
            while data := os.read(self.terminal, 4096):
                self.shown += data
        except OSError:  # The other side has gone.
            pass

    def offers(self, words):
        os.write(self.question, (" ".join(words) + "\n").encode())
        os.write(self.terminal, b"\x18")
        watchdog = threading.Timer(60, self.process.kill)
        watchdog.start()
        offered = []
        while (line := self.lines.readline().rstrip("\n")) != "that is all":
            if not line:
                raise AssertionError(f"zsh gave no answer: {self.shown!r}")
            offered.append(line.removesuffix("="))
        watchdog.cancel()
        return offered

    def close(self):
        self.process.kill()
        self.process.wait()
        self.reader.join()
        self.lines.close()
        os.close(self.question)
        os.close(self.terminal)


SHELLS = {"bash": Bash, "zsh": Zsh, "fish": Fish}
