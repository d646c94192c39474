"""Reads a Kubernetes manifest and says what is wrong with it: the shape of its objects, whether they find
each other, and whether the programs in them understand what they are told."""

import re

import shapes
import yaml

TLS_FLAGS = ("--cert", "--key", "--cacert", "--crl-file")
FIELD_PATHS = {"metadata.name", "metadata.namespace", "spec.nodeName", "status.podIP"}


class StrictLoader(yaml.SafeLoader):
    """Refuses a key that stands twice, of which YAML would keep the last in silence."""


def _map(loader, node):
    keys = [loader.construct_object(key) for key, _ in node.value]
    twice = {str(key) for key in keys if keys.count(key) > 1}
    if twice:
        raise yaml.YAMLError(f"{', '.join(twice)} stands twice{node.start_mark}")
    return loader.construct_mapping(node, deep=True)


StrictLoader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _map)


def within(selector, labels):
    return bool(selector) and selector.items() <= labels.items()


def flags(words):
    """--name → value of the words that are the program's own."""
    own = words[:words.index("--")] if "--" in words else words
    found = {}
    for word, after in zip(own, own[1:] + [""]):
        if word.startswith("--"):
            name, equals, value = word.partition("=")
            found[name] = value if equals else "" if after.startswith("--") else after
    return found


class Pods:
    """One StatefulSet or Deployment, and what it says about its pods."""

    def __init__(self, thing, facts, servers):
        """`servers` are the names of all StatefulSets, each of which is one."""
        self.thing, self.facts, self.servers, self.problems = thing, facts, servers, []
        self.name, self.spec = thing["metadata"]["name"], thing["spec"]
        self.labels = self.spec["template"]["metadata"]["labels"]
        self.pod = self.spec["template"]["spec"]
        self.claims = {claim["metadata"]["name"] for claim in self.spec.get("volumeClaimTemplates", [])}

    def say(self, words):
        self.problems.append(f"{self.thing['kind']} {self.name}: {words}")

    def judge(self):
        if not within(self.spec["selector"]["matchLabels"], self.labels):
            self.say("its selector does not match the labels of its pods")
        security = self.pod.get("securityContext", {})
        if security.get("runAsUser") == 0:
            self.say("its pods run as root")
        if security.get("seccompProfile", {}).get("type") != "RuntimeDefault":
            self.say("seccompProfile: its pods may make every system call")
        if self.pod.get("automountServiceAccountToken") is not False:
            self.say("automountServiceAccountToken: its pods get a token that they do not need")
        if security.get("fsGroupChangePolicy") != "OnRootMismatch" and self.claims:
            self.say("fsGroupChangePolicy: each start opens its state to the group")
        affinity = self.pod.get("affinity", {}).get("podAntiAffinity", {})
        for rule in affinity.get("preferredDuringSchedulingIgnoredDuringExecution", []):
            if not within(rule["podAffinityTerm"]["labelSelector"]["matchLabels"], self.labels):
                self.say("its anti-affinity is to other pods than its own")
        volumes = {volume["name"] for volume in self.pod.get("volumes", [])} | self.claims
        for container in self.pod["containers"]:
            self.judge_mounts(container, volumes)
            self.judge_program(container)

    def judge_mounts(self, container, volumes):
        mounted = [mount["name"] for mount in container.get("volumeMounts", [])]
        for name in sorted(set(mounted) - volumes):
            self.say(f"volumeMounts names {name}, which is no volume")
        for name in sorted(volumes - set(mounted)):
            self.say(f"the volume {name} is not mounted")
        paths = [mount["mountPath"] for mount in container.get("volumeMounts", [])]
        if len(set(paths)) < len(paths) or not all(path.startswith("/") for path in paths):
            self.say("each mountPath must be absolute, and another one")

    def judge_program(self, container):
        words = container.get("command", []) + container.get("args", [])
        # An image without `command` starts its ENTRYPOINT, whose name the image has.
        program = container.get("command", [container["image"].split("/")[-1].split(":")[0]])[0]
        command = (program,) + tuple(words[1:2] if program == "muster" else ())
        if f"/usr/bin/{program}" not in self.facts.package_of_program:
            return self.say(f"no package has {program}")
        for name in flags(words):
            if name not in self.facts.options(*command):
                self.say(f"{' '.join(command)} has no option {name}")
        self.judge_environment(container, words, command)
        if program == "musterd":
            self.judge_musterd(container, flags(words))
        return None

    def judge_environment(self, container, words, command):
        names = [variable["name"] for variable in container.get("env", [])]
        for variable in container.get("env", []):
            name = variable["name"]
            if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) or names.count(name) > 1:
                self.say(f"{name} is no name of a variable, or stands twice")
            if name.startswith("MUSTER_") and name not in self.facts.variables(*command):
                self.say(f"{' '.join(command)} does not read {name}")
            if ("value" in variable) == ("valueFrom" in variable):
                self.say(f"{name} needs value or valueFrom")
            path = variable.get("valueFrom", {}).get("fieldRef", {}).get("fieldPath", "metadata.name")
            if path not in FIELD_PATHS:
                self.say(f"a pod has no field {path}")
        for name in set(re.findall(r"\$\((\w+)\)", " ".join(words))) - set(names):
            self.say(f"$({name}) is set by no env")

    def judge_musterd(self, container, options):
        ports = {port.get("name"): port["containerPort"] for port in container.get("ports", [])}
        if set(ports.values()) != self.facts.ports:
            self.say(f"its ports are not {sorted(self.facts.ports)}")
        for flag, name in (("--listen", "grpc"), ("--http-listen", "http")):
            if options.get(flag) != f"0.0.0.0:{ports.get(name)}":
                self.say(f"{flag} is not its port {name}, or not open to other pods")
        secure = "--cert" in options
        for kind in ("readinessProbe", "livenessProbe"):
            get = container.get(kind, {}).get("httpGet")
            if not get:
                self.say(f"there is no {kind}")
                continue
            if ports.get(get["port"], get["port"]) != ports.get("http"):
                self.say(f"{kind}: nothing answers HTTP at port {get['port']}")
            if get["path"] not in self.facts.paths:
                self.say(f"{kind}: musterd does not serve {get['path']}")
            if (get.get("scheme") == "HTTPS") != secure:
                self.say(f"{kind}: its scheme is not musterd's")
        self.judge_places(container, options)
        self.judge_peers(options, ports)

    def judge_places(self, container, options):
        mounts = {mount["mountPath"]: mount for mount in container.get("volumeMounts", [])}
        data = mounts.get(options.get("--data-dir"), {})
        if data.get("name") not in self.claims or data.get("readOnly"):
            self.say("--data-dir is no claim of its own, and would go with the pod")
        for flag in TLS_FLAGS:
            if options.get(flag, "").rsplit("/", 1)[0] not in mounts:
                self.say(f"{flag} lies in no volume")

    def judge_peers(self, options, ports):
        service = self.spec.get("serviceName")
        if self.spec["replicas"] != 1:
            self.say("a second replica would have the secret and the id of the first")
        if options.get("--id") != self.name:
            self.say("--id is not its name")
        wanted = ",".join(f"{name}={name}-0.{service}:{ports.get('engine')}" for name in self.servers)
        if options.get("--peers") != wanted:
            self.say(f"--peers is not the pods of all servers: {wanted}")
        if options.get("--advertise") != f"$(NAME).{service}:{ports.get('grpc')}":
            self.say("--advertise is not the address of a pod")


def judge_others(things, pods):
    """Services and budgets against the pods that they are for."""
    found = []
    services = {thing["metadata"]["name"]: thing["spec"] for thing in things if thing["kind"] == "Service"}
    ports = {port["containerPort"] for each in pods for container in each.pod["containers"]
             for port in container.get("ports", [])}
    for each in pods:
        name = each.spec.get("serviceName")
        if each.thing["kind"] == "StatefulSet" and services.get(name, {}).get("clusterIP") != "None":
            found.append(f"{each.name}: no headless Service is named {name}")
    for thing in things:
        spec, name = thing["spec"], f"{thing['kind']} {thing['metadata']['name']}"
        if thing["kind"] == "Service":
            if not any(within(spec["selector"], each.labels) for each in pods):
                found.append(f"{name} selects no pods")
            for port in spec["ports"]:
                if port.get("targetPort", port["port"]) not in ports:
                    found.append(f"{name}: no container listens at {port['port']}")
        if thing["kind"] == "PodDisruptionBudget":
            chosen = [each for each in pods if within(spec["selector"]["matchLabels"], each.labels)]
            if not chosen:
                found.append(f"{name} selects no pods")
            elif spec.get("maxUnavailable", 0) > (sum(each.spec["replicas"] for each in chosen) - 1) // 2:
                found.append(f"{name} lets the majority be taken away")
    return found + judge_secrets(pods) + judge_network(things, pods)


def judge_secrets(pods):
    """No two of them have a secret in common."""
    named = [volume["secret"]["secretName"] for each in pods for volume in each.pod.get("volumes", [])
             if "secret" in volume]
    return [f"the secret {name} is given to two servers" for name in sorted(set(named)) if named.count(name) > 1]


def judge_network(things, pods):
    """The engine's port is for servers only, wherever there are some."""
    servers = [each for each in pods if each.thing["kind"] == "StatefulSet"]
    policies = [thing["spec"] for thing in things if thing["kind"] == "NetworkPolicy"]
    found = []
    for each in servers:
        mine = [policy for policy in policies if within(policy["podSelector"]["matchLabels"], each.labels)]
        if not mine or not all({"Ingress", "Egress"} <= set(policy["policyTypes"]) for policy in mine):
            found.append(f"{each.name}: no NetworkPolicy says who reaches it, and whom it reaches")
        for rule in [rule for policy in mine for rule in policy.get("ingress", [])]:
            sources = [peer.get("podSelector", {}).get("matchLabels", {}) for peer in rule.get("from", [])]
            engine = not rule.get("ports") or 9001 in [port["port"] for port in rule["ports"]]
            if engine and not (sources and all(within(labels, each.labels) for labels in sources)):
                found.append(f"{each.name}: others than servers reach the engine's port")
    return found


def secret_recipe(text):
    """The commands in the head of a manifest, for a shell in which kubectl writes its words to a file."""
    head = re.match(r"(?:#.*\n)+", text)[0]
    kubectl = 'kubectl() { for word; do echo "$word" >>words; done; }\nset -eu\n'
    return kubectl + "\n".join(re.findall(r"^#   (.*)$", head, re.M))


def given(words):
    """What those words make: the name of a secret or configmap, to its keys and the files they come from."""
    made, name = {}, None
    for word in words.split("\n"):
        if word.startswith("--from-file="):
            key, file = word.removeprefix("--from-file=").split("=")
            made[name][key] = file
        elif word not in ("create", "secret", "generic", "configmap", ""):
            name = word
            made[name] = {}
    return made


def names_of(things):
    names = [thing["metadata"]["name"] for thing in things]
    return [f"{name} is no name in Kubernetes" for name in names
            if not re.fullmatch(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", name)]


def problems(text, facts):
    try:
        things = list(yaml.load_all(text, StrictLoader))
    except yaml.YAMLError as error:
        return [f"this is no YAML: {error}"]
    found = [misfit for thing in things for misfit in shapes.misfits_of_object(thing)]
    if found:
        return found
    servers = [thing["metadata"]["name"] for thing in things if thing["kind"] == "StatefulSet"]
    pods = [Pods(thing, facts, servers) for thing in things if "template" in thing["spec"]]
    for each in pods:
        each.judge()
    of_pods = [words for each in pods for words in each.problems]
    return names_of(things) + of_pods + judge_others(things, pods)
