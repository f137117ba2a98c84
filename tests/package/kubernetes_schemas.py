"""Strict schemas for the parts of Kubernetes objects that our manifests use: anything else is rejected.

A schema is a type name, [schema] for a list, {"*": schema} for a map with free keys, (schema, schema) for alternatives,
or a map of fields; a field name that ends in "!" is required."""
import re

TYPES = {
    "str": lambda value: isinstance(value, str),
    "int": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "bool": lambda value: isinstance(value, bool),
    "port": lambda value: isinstance(value, int) and not isinstance(value, bool) and 0 < value < 65536,
    "int_or_str": lambda value: isinstance(value, (int, str)) and not isinstance(value, bool),
    "quantity": lambda value: isinstance(value, str) and re.fullmatch(r"\d+(\.\d+)?(m|[KMGT]i?)?", value),
    "name": lambda value: isinstance(value, str) and re.fullmatch(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", value),
    "port_name": lambda value: isinstance(value, str) and re.fullmatch(r"[a-z0-9-]{1,15}", value),
    "cidr": lambda value: isinstance(value, str) and re.fullmatch(r"[0-9a-f:.]+/\d+", value),
    "duration": lambda value: isinstance(value, str) and re.fullmatch(r"(\d+(ms|s|m|h|d))+", value),
}

LABELS = {"*": "str"}
METADATA = {"name!": "name", "namespace": "name", "labels": LABELS, "annotations": LABELS}
SELECTOR = {"matchLabels": LABELS, "matchExpressions": [{"key!": "str", "operator!": "str", "values!": ["str"]}]}
PROBE = {"httpGet!": {"path!": "str", "port!": "int_or_str"}, "periodSeconds": "int", "timeoutSeconds": "int",
         "failureThreshold": "int", "initialDelaySeconds": "int"}
CONTAINER = {
    "name!": "name", "image!": "str", "args": ["str"],
    "env": [({"name!": "str", "value!": "str"}, {"name!": "str", "valueFrom!": {"fieldRef!": {"fieldPath!": "str"}}})],
    "ports": [{"name!": "port_name", "containerPort!": "port", "protocol": "str"}],
    "startupProbe": PROBE, "readinessProbe": PROBE, "livenessProbe": PROBE,
    "resources": {"requests": {"*": "quantity"}, "limits": {"*": "quantity"}},
    "securityContext": {"allowPrivilegeEscalation": "bool", "readOnlyRootFilesystem": "bool",
                        "capabilities": {"drop": ["str"], "add": ["str"]}},
    "volumeMounts": [{"name!": "name", "mountPath!": "str", "readOnly": "bool"}],
}
POD_TEMPLATE = {
    "metadata!": {"labels!": LABELS, "annotations": LABELS},
    "spec!": {
        "serviceAccountName": "name", "automountServiceAccountToken": "bool", "enableServiceLinks": "bool",
        "terminationGracePeriodSeconds": "int",
        "securityContext": {"runAsNonRoot": "bool", "runAsUser": "int", "runAsGroup": "int", "fsGroup": "int",
                            "seccompProfile": {"type!": "str"}},
        "topologySpreadConstraints": [{"maxSkew!": "int", "topologyKey!": "str", "whenUnsatisfiable!": "str",
                                       "labelSelector": SELECTOR}],
        "containers!": [CONTAINER],
        "volumes": [{"name!": "name", "configMap": {"name!": "name"}, "emptyDir": {"medium": "str", "sizeLimit": "quantity"},
                     "secret": {"secretName!": "name", "defaultMode": "int"}}],
    },
}
PEER = {"namespaceSelector": SELECTOR, "podSelector": SELECTOR, "ipBlock": {"cidr!": "cidr", "except": ["cidr"]}}
POLICY_PORT = {"port!": "int_or_str", "endPort": "port", "protocol": "str"}
RULE = {"alert!": "str", "expr!": "str", "for": "duration", "labels": LABELS, "annotations": LABELS}


def thing(version, spec=None, **more):
    fields = {"apiVersion!": version, "kind!": "str", "metadata!": METADATA, **more}
    if spec is not None:
        fields["spec!"] = spec
    return fields


KINDS = {
    "Namespace": thing("=v1"),
    "ServiceAccount": thing("=v1", automountServiceAccountToken="bool"),
    "ConfigMap": thing("=v1", **{"data!": {"*": "str"}}),
    "Service": thing("=v1", {"type": "str", "clusterIP": "str", "selector!": LABELS,
                             "ports!": [{"name": "port_name", "port!": "port", "targetPort": "int_or_str", "protocol": "str"}]}),
    "Deployment": thing("=apps/v1", {
        "replicas": "int", "selector!": SELECTOR, "template!": POD_TEMPLATE,
        "strategy": {"type!": "str", "rollingUpdate": {"maxUnavailable": "int_or_str", "maxSurge": "int_or_str"}}}),
    "StatefulSet": thing("=apps/v1", {
        "replicas": "int", "serviceName!": "name", "selector!": SELECTOR, "template!": POD_TEMPLATE,
        "volumeClaimTemplates": [{"metadata!": {"name!": "name"}, "spec!": {
            "accessModes!": ["str"], "resources!": {"requests!": {"storage!": "quantity"}}}}]}),
    "PodDisruptionBudget": thing("=policy/v1", {"maxUnavailable": "int_or_str", "selector!": SELECTOR}),
    "NetworkPolicy": thing("=networking.k8s.io/v1", {
        "podSelector!": SELECTOR, "policyTypes!": ["str"], "ingress": [{"from!": [PEER], "ports!": [POLICY_PORT]}],
        "egress": [{"to!": [PEER], "ports!": [POLICY_PORT]}]}),
    "Ingress": thing("=networking.k8s.io/v1", {
        "ingressClassName": "str", "tls": [{"hosts!": ["str"], "secretName!": "name"}],
        "rules!": [{"host!": "str", "http!": {"paths!": [{
            "path!": "str", "pathType!": "str",
            "backend!": {"service!": {"name!": "name", "port!": {"name": "port_name", "number": "port"}}}}]}}]}),
    "PodMonitor": thing("=monitoring.coreos.com/v1", {
        "selector!": SELECTOR, "podMetricsEndpoints!": [{
            "port!": "port_name", "path": "str", "interval": "duration",
            "relabelings": [{"targetLabel!": "str", "replacement!": "str"}]}]}),
    "PrometheusRule": thing("=monitoring.coreos.com/v1", {"groups!": [{"name!": "str", "rules!": [RULE]}]}),
    "ScaledObject": thing("=keda.sh/v1alpha1", {
        "scaleTargetRef!": {"apiVersion": "str", "kind": "str", "name!": "name"}, "minReplicaCount": "int",
        "maxReplicaCount": "int", "cooldownPeriod": "int",
        "triggers!": [{"type!": "str", "metricType": "str", "metadata!": {"*": "str"}}]}),
}


def problems(value, schema, place):
    """Violations of the schema in `value`, a line each."""
    if isinstance(schema, str):
        if schema.startswith("="):
            return [] if value == schema[1:] else [f"{place}: {value!r} is not {schema[1:]!r}"]
        return [] if TYPES[schema](value) else [f"{place}: {value!r} is no {schema}"]
    if isinstance(schema, tuple):
        return min((problems(value, one, place) for one in schema), key=len)
    if isinstance(schema, list):
        if not isinstance(value, list) or not value:
            return [f"{place}: a list is wanted"]
        return [problem for i, item in enumerate(value) for problem in problems(item, schema[0], f"{place}[{i}]")]
    if not isinstance(value, dict):
        return [f"{place}: a map is wanted"]
    if "*" in schema:
        return [problem for key, item in value.items() for problem in problems(item, schema["*"], f"{place}.{key}")]
    fields = {name.rstrip("!"): inner for name, inner in schema.items()}
    found = [f"{place}.{name}: unknown field" for name in value if name not in fields]
    found += [f"{place}.{name[:-1]}: missing" for name in schema if name.endswith("!") and name[:-1] not in value]
    for name, item in value.items():
        if name in fields:
            found += problems(item, fields[name], f"{place}.{name}")
    return found


def problems_of(manifest):
    kind = manifest.get("kind")
    if kind not in KINDS:
        return [f"no schema for {kind}"]
    return problems(manifest, KINDS[kind], f"{kind}/{manifest.get('metadata', {}).get('name')}")
