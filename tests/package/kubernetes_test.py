#!/usr/bin/env python3
"""The Kubernetes manifests: built, checked against schemas, and asserted field by field (OPERATIONS §7).

    kubernetes_test.py DEPLOY_DIRECTORY     kubectl, if installed, must build the same objects
"""
import copy
import ipaddress
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import yaml

import kubernetes_schemas
import kustomize

DEPLOY = pathlib.Path(sys.argv[1])
OVERLAYS = ("standalone", "sentinel", "embedded", "complete", "partition")
BUILT = {name: kustomize.build(DEPLOY / "kubernetes/overlays" / name) for name in OVERLAYS}
OURS = {"app.kubernetes.io/name": "feedmill"}
PUSHING = {"app.kubernetes.io/name": "feedmill-push-out"}
BOTH = {"matchExpressions": [{"key": "app.kubernetes.io/name", "operator": "In",
                              "values": ["feedmill", "feedmill-push-out"]}]}


def one(overlay, kind, name="feedmill"):
    found = [thing for thing in BUILT[overlay] if thing["kind"] == kind and
             (thing["metadata"]["name"] == name or kind == "ConfigMap")]
    assert len(found) == 1, f"{overlay}: {len(found)} of {kind}/{name}"
    return found[0]


def blocked_by_the_worker(table):
    """The networks in a table of worker/egress/address_guard.cpp."""
    source = (DEPLOY.parent / "worker/egress/address_guard.cpp").read_text()
    body = re.search(rf"{table}\[\] = \{{(.*?)\n\}};", source, re.DOTALL).group(1)
    networks = set()
    for numbers, bits in re.findall(r"\{\{([^}]*)\}, (\d+)\}", body):
        parts = [int(number, 0) for number in numbers.split(",")]
        address = ipaddress.IPv4Address(bytes(parts)) if len(parts) == 4 else \
            ipaddress.IPv6Address(b"".join(part.to_bytes(2, "big") for part in parts))
        networks.add(str(ipaddress.ip_network(f"{address}/{bits}")))
    return networks


def kinds(overlay):
    return sorted(thing["kind"] for thing in BUILT[overlay])


class Schemas(unittest.TestCase):
    def test_every_object_fits_its_schema(self):
        for overlay, objects in BUILT.items():
            for thing in objects:
                self.assertEqual(kubernetes_schemas.problems_of(thing), [], overlay)

    def test_every_file_is_part_of_a_build(self):
        used = set()
        for overlay in OVERLAYS:
            used |= {(thing["kind"], thing["metadata"]["name"].partition("-k")[0]) for thing in BUILT[overlay]}
        for file in (DEPLOY / "kubernetes").rglob("*.yaml"):
            if file.name == "kustomization.yaml":
                continue
            for thing in yaml.safe_load_all(file.read_text()):
                self.assertIn((thing["kind"], thing["metadata"]["name"]), used, file)

    def test_the_checker_notices(self):
        good = one("standalone", "Deployment")

        def spoilt(change):
            thing = copy.deepcopy(good)
            change(thing)
            return kubernetes_schemas.problems_of(thing)
        container = lambda thing: thing["spec"]["template"]["spec"]["containers"][0]
        self.assertEqual(spoilt(lambda thing: None), [])
        self.assertTrue(spoilt(lambda thing: thing["spec"].update(replica=2)))
        self.assertTrue(spoilt(lambda thing: thing["spec"].update(replicas="2")))
        self.assertTrue(spoilt(lambda thing: thing["spec"].pop("selector")))
        self.assertTrue(spoilt(lambda thing: container(thing)["livenessProbe"].pop("httpGet")))
        self.assertTrue(spoilt(lambda thing: container(thing)["resources"]["limits"].update(memory=512)))
        self.assertTrue(spoilt(lambda thing: thing.update(apiVersion="apps/v1beta1")))
        self.assertTrue(spoilt(lambda thing: thing.update(kind="Deployments")))

    def test_kubectl_builds_the_same(self):
        if shutil.which("kubectl") is None:
            self.skipTest("kubectl is not installed")
        for overlay in OVERLAYS:
            told = subprocess.run(["kubectl", "kustomize", str(DEPLOY / "kubernetes/overlays" / overlay)],
                                  capture_output=True, text=True, timeout=60)
            self.assertEqual(told.returncode, 0, told.stderr)
            key = lambda thing: (thing["kind"], thing["metadata"]["name"])
            self.assertEqual(sorted(yaml.safe_load_all(told.stdout), key=key), sorted(BUILT[overlay], key=key), overlay)


class Fields(unittest.TestCase):
    def test_objects_of_each_overlay(self):
        common = ["ConfigMap", "Namespace", "NetworkPolicy", "PodDisruptionBudget", "Service", "ServiceAccount"]
        self.assertEqual(kinds("standalone"), sorted(common + ["Deployment"]))
        self.assertEqual(kinds("sentinel"), kinds("standalone"))
        self.assertEqual(kinds("partition"), kinds("standalone"))
        self.assertEqual(kinds("embedded"), sorted(common + ["StatefulSet"]))
        self.assertEqual(kinds("complete"), sorted(common + ["Deployment", "Deployment", "Ingress", "Ingress",
                                                             "PodDisruptionBudget", "PodMonitor", "PrometheusRule",
                                                             "ScaledObject", "Service", "Service"]))
        for overlay in OVERLAYS:
            for thing in BUILT[overlay]:
                place = "name" if thing["kind"] == "Namespace" else "namespace"
                namespace = "feedmill-0" if overlay == "partition" else "feedmill"
                self.assertEqual(thing["metadata"][place], namespace, thing["kind"])

    def workloads(self):
        return [("standalone", one("standalone", "Deployment")), ("complete", one("complete", "Deployment")),
                ("embedded", one("embedded", "StatefulSet")), ("partition", one("partition", "Deployment")),
                ("complete", one("complete", "Deployment", "feedmill-push-out"))]

    def test_deployment(self):
        spec = one("standalone", "Deployment")["spec"]
        self.assertEqual(spec["replicas"], 2)
        self.assertEqual(spec["strategy"]["rollingUpdate"]["maxUnavailable"], 0)

    def test_a_partition_is_standalone_with_a_number(self):
        """Selectors and names stay the same, so that everything that refers to them works in each namespace."""
        number = [{"name": "FEEDMILL_REDIS_PARTITIONS", "value": "16"},
                  {"name": "FEEDMILL_REDIS_PARTITION", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['partition']"}}}]
        expected = copy.deepcopy(BUILT["standalone"])
        for thing in expected:
            metadata = thing["metadata"]
            metadata["name" if thing["kind"] == "Namespace" else "namespace"] = "feedmill-0"
            metadata.setdefault("labels", {})["partition"] = "0"
            if thing["kind"] == "Deployment":
                template = thing["spec"]["template"]
                template["metadata"]["labels"]["partition"] = "0"
                template["spec"]["containers"][0]["env"] += number
        self.assertEqual(BUILT["partition"], expected)

    def test_the_other_partitions_are_made_from_the_first(self):
        """Runs the commands in the overlay's comment."""
        with tempfile.TemporaryDirectory() as directory:
            folders = pathlib.Path(directory) / "kubernetes"
            shutil.copytree(DEPLOY / "kubernetes", folders)
            said = (folders / "overlays/partition/kustomization.yaml").read_text()
            lines = re.findall(r"^#   ( *(?:for|mkdir|sed|done).*)$", said, re.M)
            subprocess.run(["sh", "-euc", "\n".join(lines)], cwd=folders / "overlays", check=True)
            self.assertEqual(len(list(folders.glob("overlays/partition-*"))), 15)
            for partition in (1, 15):
                for thing in kustomize.build(folders / f"overlays/partition-{partition}"):
                    metadata = thing["metadata"]
                    self.assertEqual(metadata["labels"]["partition"], str(partition))
                    self.assertEqual(metadata.get("namespace", metadata["name"]), f"feedmill-{partition}")

    def test_stateful_set(self):
        spec = one("embedded", "StatefulSet")["spec"]
        self.assertEqual(spec["replicas"], 1)
        self.assertEqual(spec["volumeClaimTemplates"][0]["metadata"]["name"], "data")
        container = spec["template"]["spec"]["containers"][0]
        mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
        environment = {variable["name"]: variable["value"] for variable in container["env"]}
        self.assertTrue(environment["FEEDMILL_STORE_DATA_DIR"].startswith(mounts["data"] + "/"))
        self.assertEqual(environment["FEEDMILL_REDIS_EMBEDDED"], "true")
        governing = one("embedded", "Service", spec["serviceName"])
        self.assertEqual(governing["spec"]["clusterIP"], "None")
        self.assertEqual(governing["spec"]["selector"], spec["selector"]["matchLabels"])

    def test_pods(self):
        for overlay, workload in self.workloads():
            with self.subTest(overlay, name=workload["metadata"]["name"]):
                # Each workload has its own labels: controllers with overlapping selectors adopt each other's pods.
                labels = {"app.kubernetes.io/name": workload["metadata"]["name"]}
                self.assertEqual(workload["spec"]["selector"], {"matchLabels": labels})
                template = workload["spec"]["template"]
                mine = {"partition": "0"} if overlay == "partition" else {}
                self.assertEqual(template["metadata"]["labels"], {**labels, **mine})
                pod = template["spec"]
                self.assertEqual(pod["terminationGracePeriodSeconds"], 60)
                self.assertIs(pod["automountServiceAccountToken"], False)
                self.assertIs(pod["enableServiceLinks"], False)
                self.assertEqual(pod["topologySpreadConstraints"][0]["topologyKey"], "kubernetes.io/hostname")
                context = pod["securityContext"]
                self.assertIs(context["runAsNonRoot"], True)
                self.assertEqual((context["runAsUser"], context["runAsGroup"]), (65532, 65532))
                self.assertEqual(context["seccompProfile"], {"type": "RuntimeDefault"})
                container, = pod["containers"]
                self.assertEqual(container["securityContext"], {"allowPrivilegeEscalation": False,
                                                                "readOnlyRootFilesystem": True,
                                                                "capabilities": {"drop": ["ALL"]}})
                resources = container["resources"]
                self.assertEqual(resources["requests"]["memory"], resources["limits"]["memory"])
                self.assertEqual(resources["limits"]["memory"], "1Gi" if overlay == "embedded" else "768Mi")
                self.assertIn("cpu", resources["requests"])
                self.assertNotIn("cpu", resources["limits"])
                self.assertRegex(container["image"], r"^\S+/feedmill:\d")
                self.check_probes(container)
                self.check_volumes(pod, container, overlay)

    def check_probes(self, container):
        ports = {port["name"]: port["containerPort"] for port in container["ports"]}
        self.assertEqual(ports["admin"], 9810)
        expected = {"startupProbe": ("/startupz", 5, 60), "readinessProbe": ("/readyz", 5, None),
                    "livenessProbe": ("/livez", 10, 3)}
        for name, (path, period, failures) in expected.items():
            probe = container[name]
            self.assertEqual(probe["httpGet"], {"path": path, "port": "admin"})
            self.assertEqual(probe["periodSeconds"], period)
            self.assertEqual(probe.get("failureThreshold"), failures)

    def check_volumes(self, pod, container, overlay):
        volumes = {volume["name"]: volume for volume in pod["volumes"]}
        mounts = {mount["name"]: mount for mount in container["volumeMounts"]}
        self.assertIn("emptyDir", volumes["runtime"])
        self.assertEqual(mounts["runtime"]["mountPath"], "/run/feedmill")
        claims = {"data"} if overlay == "embedded" else set()
        self.assertEqual(set(mounts), set(volumes) | claims)
        # A change of the settings changes the name, which restarts the pods.
        configuration = one(overlay, "ConfigMap")
        self.assertRegex(configuration["metadata"]["name"], r"^feedmill-[a-z0-9]{10}$")
        self.assertEqual(volumes["configuration"]["configMap"]["name"], configuration["metadata"]["name"])
        self.assertIs(mounts["configuration"]["readOnly"], True)

    def test_secrets_are_files(self):
        pod = one("standalone", "Deployment")["spec"]["template"]["spec"]
        secret, = [volume for volume in pod["volumes"] if "secret" in volume]
        mount, = [mount for mount in pod["containers"][0]["volumeMounts"] if mount["name"] == secret["name"]]
        self.assertIn({"name": "FEEDMILL_REDIS_URL_FILE", "value": mount["mountPath"] + "/url"}, pod["containers"][0]["env"])
        self.assertEqual(secret["secret"]["defaultMode"], 0o440)
        for overlay in OVERLAYS:
            self.assertNotIn("Secret", kinds(overlay))

    def test_configuration(self):
        self.assertIn('listen = "0.0.0.0:9810"', one("standalone", "ConfigMap")["data"]["feedmill.toml"])

    def test_admin_is_reached_from_inside_alone(self):
        service = one("complete", "Service", "feedmill-admin")
        self.assertEqual(service["spec"]["type"], "ClusterIP")
        self.assertEqual(service["spec"]["ports"][0]["targetPort"], "admin")
        callback = one("complete", "Service", "feedmill-callback")
        self.assertEqual(callback["spec"]["ports"][0]["targetPort"], "callback")
        for rule in one("complete", "Ingress", "feedmill-callback")["spec"]["rules"]:
            for path in rule["http"]["paths"]:
                self.assertEqual(path["backend"]["service"]["name"], "feedmill-callback")
                self.assertNotEqual(path["path"], "/")

    def test_the_ingress_takes_pushes_and_tells_nobody_their_paths(self):
        annotations = one("complete", "Ingress", "feedmill-callback")["metadata"]["annotations"]
        nginx = {name.removeprefix("nginx.ingress.kubernetes.io/"): value for name, value in annotations.items()}
        self.assertEqual(nginx, {"proxy-body-size": "4m", "enable-access-log": "false", "proxy-next-upstream": "off"})
        # Consistent with the server block for an nginx outside a cluster.
        block = (DEPLOY / "nginx-websub.conf").read_text()
        for line in ("client_max_body_size 4m;", "access_log off;", "proxy_next_upstream off;"):
            self.assertIn(line, block)

    def test_pushing_out_is_apart(self):
        workload = one("complete", "Deployment", "feedmill-push-out")
        container, = workload["spec"]["template"]["spec"]["containers"]
        self.assertEqual(container["args"], ["run", "--no-ingest", "--no-deliver", "--push-out"])
        self.assertIn({"name": "push-out", "containerPort": 9812, "protocol": "TCP"}, container["ports"])
        environment = {variable["name"]: variable["value"] for variable in container["env"]}
        self.assertEqual(environment["FEEDMILL_PUSH_OUT_LISTEN"], "0.0.0.0:9812")
        ingress = one("complete", "Ingress", "feedmill-push-out")
        rule, = ingress["spec"]["rules"]
        self.assertEqual(environment["FEEDMILL_PUSH_OUT_PUBLIC_URL"], "https://" + rule["host"])
        self.assertEqual(ingress["spec"]["tls"][0]["hosts"], [rule["host"]])
        self.assertEqual([path["path"] for path in rule["http"]["paths"]], ["/t", "/hub", "/events"])
        for path in rule["http"]["paths"]:
            self.assertEqual(path["backend"]["service"], {"name": "feedmill-push-out", "port": {"name": "push-out"}})
        service = one("complete", "Service", "feedmill-push-out")["spec"]
        self.assertEqual((service["type"], service["selector"], service["ports"][0]["targetPort"]),
                         ("ClusterIP", PUSHING, "push-out"))
        self.assertEqual(one("complete", "PodDisruptionBudget", "feedmill-push-out")["spec"],
                         {"maxUnavailable": 1, "selector": {"matchLabels": PUSHING}})
        same = one("complete", "Deployment")["spec"]["template"]["spec"]["containers"][0]["image"]
        self.assertEqual(container["image"], same)
        annotations = ingress["metadata"]["annotations"]
        nginx = {name.removeprefix("nginx.ingress.kubernetes.io/"): value for name, value in annotations.items()}
        self.assertEqual(nginx, {"limit-rps": "20", "limit-burst-multiplier": "5", "proxy-buffering": "off", "enable-access-log": "false", "proxy-read-timeout": "60",
                                 "proxy-body-size": "64k"})
        # Consistent with the server block for an nginx outside a cluster.
        block = (DEPLOY / "nginx-push-out.conf").read_text()
        for line in ("proxy_buffering off;", "access_log off;", "proxy_read_timeout 60s;", "client_max_body_size 64k;"):
            self.assertIn(line, block)
        self.assertEqual(re.findall(r"location ~ \^\(/p\[0-9\]\+\)\?(/\w+)", block), ["/events", "/hub", "/t"])

    def test_disruptions(self):
        spec = one("standalone", "PodDisruptionBudget")["spec"]
        self.assertEqual(spec, {"maxUnavailable": 1, "selector": {"matchLabels": OURS}})

    def test_network_policy(self):
        for overlay in OVERLAYS:
            spec = one(overlay, "NetworkPolicy")["spec"]
            self.assertEqual(spec["policyTypes"], ["Ingress", "Egress"])
            self.assertEqual(spec["podSelector"], BOTH if overlay == "complete" else {"matchLabels": OURS})
            for rule in spec["ingress"] + spec["egress"]:
                self.assertTrue(rule["ports"])
            blocks = {peer["ipBlock"]["cidr"]: set(peer["ipBlock"]["except"]) for rule in spec["egress"]
                      for peer in rule["to"] if "ipBlock" in peer}
            # SECURITY §1, as in the worker: of IPv6 nothing outside 2000::/3, hence no NAT64 either.
            self.assertEqual(blocks, {"0.0.0.0/0": blocked_by_the_worker("blocked_v4"),
                                      "2000::/3": blocked_by_the_worker("blocked_v6")})
            reached = lambda network: any(
                ipaddress.ip_network(network).version == ipaddress.ip_network(cidr).version
                and ipaddress.ip_network(network).overlaps(ipaddress.ip_network(cidr))
                and not any(ipaddress.ip_network(network).subnet_of(ipaddress.ip_network(closed)) for closed in excepted)
                for cidr, excepted in blocks.items())
            for network in ("10.1.2.3", "127.0.0.1", "168.63.129.16", "169.254.169.254", "198.18.0.1", "255.255.255.255",
                            "::1", "fd00::1", "fe80::1", "::ffff:10.0.0.1", "64:ff9b::a00:1", "2002:a00:1::1", "ff02::1"):
                self.assertFalse(reached(network), network)
            for network in ("93.184.216.34", "2606:4700::1111"):
                self.assertTrue(reached(network), network)
            web, = [rule for rule in spec["egress"] if "ipBlock" in rule["to"][0]]
            self.assertEqual([(port["port"], port.get("endPort")) for port in web["ports"]],
                             [(80, None), (443, None), (8000, 8999)])
            names, = [rule for rule in spec["egress"] if rule["ports"][0]["port"] == 53]
            self.assertEqual([port["protocol"] for port in names["ports"]], ["UDP", "TCP"])
        port_of = lambda overlay, way: [rule["ports"][0]["port"] for rule in one(overlay, "NetworkPolicy")["spec"][way]]
        self.assertEqual(port_of("standalone", "ingress"), ["admin"])
        self.assertEqual(port_of("complete", "ingress"), ["admin", "callback", "push-out"])
        self.assertIn(6379, port_of("standalone", "egress"))
        self.assertNotIn(26379, port_of("standalone", "egress"))
        self.assertEqual(port_of("sentinel", "egress"), port_of("standalone", "egress") + [26379])
        self.assertNotIn(6379, port_of("embedded", "egress"))

    def test_scaling_follows_what_is_late(self):
        spec = one("complete", "ScaledObject")["spec"]
        queries = [trigger["metadata"]["query"] for trigger in spec["triggers"]]
        self.assertTrue(any("feedmill_schedule_lateness_seconds_bucket" in query for query in queries))
        self.assertTrue(any("feedmill_due_feeds" in query for query in queries))
        self.assertFalse(any("feedmill_feeds" in query for query in queries))
        for query in queries:
            self.assertIn('{namespace="feedmill"}', query)
        self.assertEqual(spec["scaleTargetRef"]["name"], one("complete", "Deployment")["metadata"]["name"])
        self.assertEqual(spec["minReplicaCount"], 2)

    def test_monitoring(self):
        self.assertEqual(one("complete", "PodMonitor")["spec"]["selector"], BOTH)
        endpoint, = one("complete", "PodMonitor")["spec"]["podMetricsEndpoints"]
        self.assertEqual((endpoint["port"], endpoint["path"]), ("admin", "/metrics"))
        self.assertIn({"targetLabel": "job", "replacement": "feedmill"}, endpoint["relabelings"])
        alerts = yaml.safe_load((DEPLOY / "prometheus/alerts.yml").read_text())
        self.assertEqual(one("complete", "PrometheusRule")["spec"], alerts)

    def test_namespace_is_restricted(self):
        labels = one("standalone", "Namespace")["metadata"]["labels"]
        self.assertEqual(labels["pod-security.kubernetes.io/enforce"], "restricted")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
