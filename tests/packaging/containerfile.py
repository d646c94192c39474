"""Reads a container file and says what is wrong with it: its syntax first, then whether it makes sense
with the packages that there are."""

import fnmatch
import json
import re
import subprocess

KNOWN = {"FROM", "ARG", "COPY", "RUN", "USER", "VOLUME", "EXPOSE", "ENV", "LABEL", "WORKDIR",
         "STOPSIGNAL", "ENTRYPOINT", "CMD"}


def instructions(text):
    """(line, NAME, argument), with continued lines joined and comments left out."""
    found, pending, began = [], "", 0
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("#") or not line.strip() and not pending:
            continue
        began = began if pending else number
        pending += line.rstrip()
        if pending.endswith("\\"):
            pending = pending[:-1] + " "
            continue
        name, _, argument = pending.strip().partition(" ")
        found.append((began, name, argument.strip()))
        pending = ""
    if pending:
        found.append((began, "\\", pending))
    return found


def exec_form(argument):
    """The words, or None: what is not JSON would be given to a shell, which passes no signal on."""
    try:
        words = json.loads(argument)
    except ValueError:
        return None
    good = isinstance(words, list) and words and all(isinstance(word, str) for word in words)
    return words if good else None


class Stage:
    def __init__(self, name, image):
        self.name, self.image = name, image
        self.debs, self.installed, self.ports = [], [], set()
        self.user, self.volumes, self.entry, self.words = None, [], None, []


class Reader:
    def __init__(self, facts):
        self.facts, self.stages, self.problems = facts, [], []
        self.given = {}  # What an ARG before the first FROM gives to every FROM.

    def say(self, line, words):
        self.problems.append(f"line {line}: {words}")

    def read(self, text):
        for line, name, argument in instructions(text):
            if name not in KNOWN:
                self.say(line, f"{name} is no instruction")
            elif name == "FROM":
                self.begin(line, argument)
            elif name == "ARG" and not self.stages:
                self.give(line, argument)
            elif not self.stages:
                self.say(line, f"{name} stands before the first FROM")
            else:
                step = getattr(self, "on_" + name.lower(), None)
                if step:
                    step(line, argument, self.stages[-1])
        if not self.stages:
            self.say(1, "there is no FROM")
        if len({stage.image for stage in self.stages}) > 1:
            self.say(1, "packages of one release do not install on two images")
        for stage in self.stages:
            self.judge(stage)

    def give(self, line, argument):
        name, equals, value = argument.partition("=")
        if not equals:
            self.say(line, f"ARG {name} has no value unless someone gives one")
        self.given[name] = value

    def begin(self, line, argument):
        as_written = argument.split(" AS ")[0]
        for name in set(re.findall(r"\$\{(\w+)\}", argument)) - self.given.keys():
            self.say(line, f"no ARG gives {name} before the first FROM")
        argument = re.sub(r"\$\{(\w+)\}", lambda found: self.given.get(found[1], "x"), argument)
        found = re.fullmatch(r"([\w./-]+):([\w.-]+) AS ([a-z][a-z0-9-]*)", argument)
        if not found or found[2] == "latest":
            self.say(line, f"FROM {argument}: wanted is image:version AS name")
        name = found[3] if found else argument
        if name in (stage.name for stage in self.stages):
            self.say(line, f"two stages are named {name}")
        self.stages.append(Stage(name, as_written))

    def on_copy(self, line, argument, stage):
        *sources, target = argument.split()
        if not sources:
            self.say(line, "COPY needs a source and a target")
        if not target.endswith("/"):
            self.say(line, f"COPY of several files needs a directory, and {target} does not end with /")
        for source in sources:
            files = fnmatch.filter(self.facts.files, source)
            if not files:
                self.say(line, f"COPY {source}: ./dev package makes no such file")
            stage.debs += [target + file.rsplit("/", 1)[1] for file in files]

    def on_run(self, line, argument, stage):
        if subprocess.run(["sh", "-n", "-c", argument], capture_output=True, check=False).returncode:
            self.say(line, "RUN: the shell cannot read it")
        for command in re.split(r"&&|;", argument):
            words = command.split()
            if words[:2] != ["apt-get", "install"]:
                continue
            if "-y" not in words:
                self.say(line, "apt-get install would ask: it needs -y")
            for word in words:
                if word.endswith(".deb") and not fnmatch.filter(stage.debs, word):
                    self.say(line, f"{word} was not copied")
                stage.installed += fnmatch.filter(stage.debs, word)

    def on_user(self, _line, argument, stage):
        stage.user = argument

    def on_volume(self, _line, argument, stage):
        stage.volumes += argument.split()

    def on_expose(self, line, argument, stage):
        for port in argument.split():
            if not port.isdigit() or not 0 < int(port) < 65536:
                self.say(line, f"EXPOSE {port} is no port")
            else:
                stage.ports.add(int(port))

    def on_entrypoint(self, line, argument, stage):
        stage.entry = exec_form(argument)
        if not stage.entry:
            self.say(line, "ENTRYPOINT is not in exec form")

    def on_cmd(self, line, argument, stage):
        stage.words = exec_form(argument) or []
        if not stage.words:
            self.say(line, "CMD is not in exec form")

    def judge(self, stage):
        def say(words):
            self.problems.append(f"stage {stage.name}: {words}")

        for file in sorted(set(stage.debs) - set(stage.installed)):
            say(f"{file} is copied and not installed")
        packages = {file.rsplit("/", 1)[1].split("_")[0] for file in stage.installed}
        maker = self.facts.users.get(stage.user, "nobody knows")
        if stage.user in (None, "root", "0"):
            say("it runs as root")
        elif maker is not None and maker not in packages:
            say(f"no package in it makes the user {stage.user}")
        if not stage.entry:
            return say("it starts nothing")
        program, words = stage.entry[0], stage.entry[1:] + stage.words
        package = self.facts.package_of_program.get(program)
        if package not in packages:
            return say(f"no package in it has {program}")
        self.judge_words(say, program, words)
        if package == "musterd":
            if stage.ports != self.facts.ports:
                say(f"EXPOSE names {sorted(stage.ports)}, musterd uses {sorted(self.facts.ports)}")
            if stage.volumes != [self.facts.state_directory]:
                say(f"the volume is not {self.facts.state_directory}, where the state is")
        return None

    def judge_words(self, say, program, words):
        known = self.facts.options(program.rsplit("/", 1)[1])
        for word in words:
            if word.startswith("--") and word.split("=")[0] not in known:
                say(f"{program} has no option {word}")
            if word.startswith("/") and not self.facts.has(word):
                say(f"no package has {word}")


def problems(text, facts):
    reader = Reader(facts)
    reader.read(text)
    return reader.problems
