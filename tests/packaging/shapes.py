"""The fields of Kubernetes that our manifests use, each with its type, so that a misspelt or misplaced
one is found without a cluster. A field that is not here is an error: add it with its type."""

import re

TEXT, NUMBER, FLAG = (str,), (int,), (bool,)
PORT = (int, str)
MAP = {str: TEXT}  # Any names.

# "name!" must be there.
_selector = {"matchLabels!": MAP}
_metadata = {"name!": TEXT, "labels": MAP, "annotations": MAP}
_probe = {"httpGet!": {"path!": TEXT, "port!": PORT, "scheme": TEXT}, "periodSeconds": NUMBER,
          "failureThreshold": NUMBER, "initialDelaySeconds": NUMBER, "timeoutSeconds": NUMBER}
_container = {
    "name!": TEXT, "image!": TEXT, "command": [TEXT], "args": [TEXT],
    "env": [{"name!": TEXT, "value": TEXT, "valueFrom": {"fieldRef!": {"fieldPath!": TEXT}}}],
    "ports": [{"name": TEXT, "containerPort!": NUMBER, "protocol": TEXT}],
    "readinessProbe": _probe, "livenessProbe": _probe, "startupProbe": _probe,
    "resources": {"requests": MAP, "limits": MAP},
    "securityContext": {"allowPrivilegeEscalation": FLAG, "readOnlyRootFilesystem": FLAG,
                        "runAsNonRoot": FLAG, "runAsUser": NUMBER, "capabilities": {"drop": [TEXT]}},
    "volumeMounts": [{"name!": TEXT, "mountPath!": TEXT, "readOnly": FLAG}],
}
_template = {
    "metadata!": {"labels!": MAP, "annotations": MAP},
    "spec!": {
        "terminationGracePeriodSeconds": NUMBER,
        "securityContext": {"runAsNonRoot": FLAG, "runAsUser": NUMBER, "runAsGroup": NUMBER,
                            "fsGroup": NUMBER, "fsGroupChangePolicy": TEXT,
                            "seccompProfile": {"type!": TEXT}},
        "automountServiceAccountToken": FLAG,
        "affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight!": NUMBER, "podAffinityTerm!": {"topologyKey!": TEXT,
                                                     "labelSelector!": _selector}}]}},
        "containers!": [_container],
        "volumes": [{"name!": TEXT, "secret": {"secretName!": TEXT, "defaultMode": NUMBER},
                     "configMap": {"name!": TEXT, "defaultMode": NUMBER}, "emptyDir": {}}],
    },
}
_claim = {"metadata!": {"name!": TEXT}, "spec!": {
    "accessModes!": [TEXT], "storageClassName": TEXT, "resources!": {"requests!": {"storage!": TEXT}}}}

_policy_ports = [{"port!": PORT, "protocol": TEXT}]
_policy_peers = [{"podSelector": _selector, "namespaceSelector": _selector}]

KINDS = {
    ("networking.k8s.io/v1", "NetworkPolicy"): {"spec!": {
        "podSelector!": _selector, "policyTypes!": [TEXT],
        "ingress": [{"from": _policy_peers, "ports": _policy_ports}],
        "egress": [{"to": _policy_peers, "ports": _policy_ports}]}},
    ("v1", "Service"): {"spec!": {
        "clusterIP": TEXT, "publishNotReadyAddresses": FLAG, "selector!": MAP,
        "ports!": [{"name": TEXT, "port!": NUMBER, "targetPort": PORT, "protocol": TEXT}]}},
    ("policy/v1", "PodDisruptionBudget"): {"spec!": {
        "maxUnavailable": NUMBER, "minAvailable": NUMBER, "selector!": _selector}},
    ("apps/v1", "Deployment"): {"spec!": {
        "replicas!": NUMBER, "selector!": _selector, "template!": _template}},
    ("apps/v1", "StatefulSet"): {"spec!": {
        "serviceName!": TEXT, "replicas!": NUMBER, "podManagementPolicy": TEXT, "selector!": _selector,
        "template!": _template, "volumeClaimTemplates": [_claim]}},
}
_quantity = re.compile(r"\d+(\.\d+)?(m|[kMGT]i?)?")


def misfits(value, wanted, where):
    """A sentence for each field that is unknown, absent or of another type."""
    if isinstance(wanted, list):
        if not isinstance(value, list) or not value:
            return [f"{where} must be a list"]
        return [found for n, each in enumerate(value)
                for found in misfits(each, wanted[0], f"{where}[{n}]")]
    if isinstance(wanted, tuple):
        good = isinstance(value, wanted) and (bool in wanted or not isinstance(value, bool))
        if good and re.search(r"\.(requests|limits)\.", where):
            good = bool(_quantity.fullmatch(value))
        return [] if good else [f"{where} must be {' or '.join(t.__name__ for t in wanted)}, not {value!r}"]
    if not isinstance(value, dict):
        return [f"{where} must be a map"]
    if str in wanted:
        return [found for key, each in value.items()
                for found in misfits(each, wanted[str], f"{where}.{key}")]
    found = [f"{where} lacks {key[:-1]}" for key in wanted if key.endswith("!") and key[:-1] not in value]
    for key, each in value.items():
        inner = wanted.get(key, wanted.get(f"{key}!"))
        found += [f"{where} has no field {key}"] if inner is None else \
            misfits(each, inner, f"{where}.{key}")
    return found


def misfits_of_object(thing):
    if not isinstance(thing, dict):
        return ["a document is no object"]
    shape = KINDS.get((thing.get("apiVersion"), thing.get("kind")))
    if shape is None:
        return [f"{thing.get('apiVersion')} has no kind {thing.get('kind')}"]
    return misfits(thing, {"apiVersion!": TEXT, "kind!": TEXT, "metadata!": _metadata, **shape},
                   thing["kind"])
