"""Builds kustomizations as `kubectl kustomize` does, as far as ours need: resources, components, configMapGenerator
from files, JSON patches, images, namespace, labels. Anything else is an error, so that nothing unsupported passes."""
import copy
import hashlib
import json
import pathlib
import re

import yaml

KNOWN = {"apiVersion", "kind", "resources", "components", "configMapGenerator", "patches", "images", "namespace", "labels"}


def configuration_hash(config_map):
    """The suffix of a ConfigMap's name: ten letters and digits that depend on its contents and not on its name."""
    kept = {"data": config_map["data"], "kind": "ConfigMap", "name": ""}
    text = json.dumps(kept, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
    for plain, escaped in (("<", "\\u003c"), (">", "\\u003e"), ("&", "\\u0026")):  # as Go encodes JSON
        text = text.replace(plain, escaped)
    return hashlib.sha256(text.encode()).hexdigest()[:10].translate(str.maketrans("013ae", "ghkmt"))


def apply_patch(thing, operations):
    for operation in operations:
        assert set(operation) == {"op", "path", "value"} and operation["op"] in ("add", "replace"), operation
        *parents, last = [part.replace("~1", "/").replace("~0", "~") for part in operation["path"].split("/")[1:]]
        place = thing
        for part in parents:
            place = place[int(part)] if isinstance(place, list) else place[part]
        value = copy.deepcopy(operation["value"])
        if isinstance(place, list):
            assert last == "-" and operation["op"] == "add", operation
            place.append(value)
        else:
            assert operation["op"] == "add" or last in place, operation
            place[last] = value


def visit(thing, look):
    """Calls `look` for every map inside `thing`."""
    if isinstance(thing, dict):
        look(thing)
        for value in thing.values():
            visit(value, look)
    elif isinstance(thing, list):
        for value in thing:
            visit(value, look)


class Build:
    def __init__(self):
        self.objects = []
        self.generated = []

    def add(self, directory):
        directory = pathlib.Path(directory)
        plan = yaml.safe_load((directory / "kustomization.yaml").read_text())
        assert set(plan) <= KNOWN, set(plan) - KNOWN
        expected = {"Kustomization": "kustomize.config.k8s.io/v1beta1", "Component": "kustomize.config.k8s.io/v1alpha1"}
        assert plan["apiVersion"] == expected[plan["kind"]], plan["apiVersion"]
        first = len(self.objects) if plan["kind"] == "Kustomization" else 0  # a component patches the objects so far
        for name in plan.get("resources", []):
            if (directory / name).is_dir():
                self.add(directory / name)
            else:
                self.objects += [thing for thing in yaml.safe_load_all((directory / name).read_text()) if thing]
        for generator in plan.get("configMapGenerator", []):
            assert set(generator) == {"name", "files"}, generator
            thing = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": generator["name"]},
                     "data": {name: (directory / name).read_text() for name in generator["files"]}}
            self.objects.append(thing)
            self.generated.append(thing)
        for name in plan.get("components", []):
            self.add(directory / name)
        mine = self.objects[first:]
        for patch in plan.get("patches", []):
            target = patch["target"]
            assert set(target) == {"kind", "name"}, target
            hit = [thing for thing in mine if re.fullmatch(target["kind"], thing["kind"]) and
                   re.fullmatch(target["name"], thing["metadata"]["name"])]
            assert hit, f"{directory}: nothing to patch: {target}"
            for thing in hit:
                apply_patch(thing, yaml.safe_load(patch["patch"]))
        for image in plan.get("images", []):
            assert set(image) == {"name", "newName", "newTag"}, image

            def rename(place):
                if place.get("image") == image["name"]:
                    place["image"] = f"{image['newName']}:{image['newTag']}"
            visit(mine, rename)
        if "namespace" in plan:
            for thing in mine:
                place = "name" if thing["kind"] == "Namespace" else "namespace"
                thing["metadata"][place] = plan["namespace"]
        for label in plan.get("labels", []):
            assert set(label) == {"pairs", "includeTemplates"} and label["includeTemplates"], label
            for thing in mine:
                thing["metadata"].setdefault("labels", {}).update(label["pairs"])
                if "template" in thing.get("spec", {}):
                    thing["spec"]["template"]["metadata"].setdefault("labels", {}).update(label["pairs"])

    def finish(self):
        """The objects; generated names have their checksum wherever they are mentioned."""
        for config_map in self.generated:
            name = config_map["metadata"]["name"]
            new_name = f"{name}-{configuration_hash(config_map)}"

            def refer(place):
                reference = place.get("configMap")
                if isinstance(reference, dict) and reference.get("name") == name:
                    reference["name"] = new_name
            visit(self.objects, refer)
            config_map["metadata"]["name"] = new_name
        return self.objects


def build(directory):
    plan = Build()
    plan.add(directory)
    return plan.finish()
