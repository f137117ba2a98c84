#!/usr/bin/env python3
"""Tests alerts and dashboard against a live worker, and the alerts with promtool (OPERATIONS §3).

    monitoring_test.py BINARY DEPLOY_DIRECTORY GUIDE     exit 77: promtool (package prometheus) is not installed
"""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

import yaml

BINARY, DEPLOY, GUIDE = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
RULES = yaml.safe_load((DEPLOY / "prometheus/alerts.yml").read_text())["groups"][0]["rules"]
DASHBOARD = json.loads((DEPLOY / "grafana/feedmill.json").read_text())

# OPERATIONS §3, without the metrics marked `later`.
METRICS = """
build_info refreshes_total failures_total responses_total unconditional_requests_total early_polls_total
received_bytes_total saved_bytes_total entries_total parse_flaws_total signals_total redirects_total
egress_blocked_total claims_total commits_total host_backoffs_total dns_lookups_total connections_total
redis_errors_total redis_reconnects_total quarantines_total bugs_total log_suppressed_total delivery_records_total
refresh_duration_seconds dns_duration_seconds connect_duration_seconds first_byte_duration_seconds
parse_duration_seconds claim_duration_seconds commit_duration_seconds schedule_lateness_seconds publish_delay_seconds
body_bytes feeds due_feeds waiting_feeds oldest_due_seconds claimed_feeds hosts_backing_off workers_alive differing_options lanes
inflight_bytes
loop_cpu_seconds_total store_connections store_busy_seconds_total
memory_budget_bytes unacknowledged_bytes stream_records stream_limit_records delivery_lag_records delivery_lag_seconds
ready draining redis_up redis_trouble last_commit_timestamp_seconds oldest_success_age_seconds
websub_deliveries_total websub_verifications_total websub_first_total websub_turns_total websub_subscriptions
callback_duration_seconds clock_offset_seconds requests_waiting requests_bytes requests_answered_total requests_set_aside
webhook_requests_total hub_deliveries_total hub_verifications_total subscribers subscribers_due streams stream_events_total
""".split()
ALERTS = """
FeedmillDown FeedmillAbsent FeedmillNotReady FeedmillNoCommits FeedmillScheduleLate FeedmillMostFetchesFail
FeedmillManyFetchesFail FeedmillRedisErrors FeedmillDeliveryLag FeedmillStreamFilling
FeedmillWebhookSuspended FeedmillPushOutLag FeedmillQuarantineGrowing
FeedmillEgressBlocked FeedmillEarlyPoll FeedmillMemoryNearBudget FeedmillFeedsStale FeedmillFeedsNeverRead
FeedmillNothingNew FeedmillClockWrong FeedmillLogSuppressed FeedmillBug
""".split()
# The beginning of every runbook_url, which the header of the alerts says to replace.
RUNBOOKS = "https://feedmill.example/docs/"
ROWS = ["Overview", "Politeness", "Failures", "Pipeline", "Redis", "WebSub", "Push out", "Process"]


def promtool(*arguments, given=None):
    return subprocess.run(["promtool", *arguments], input=given, capture_output=True, text=True)


def scrape():
    """The metrics of a worker with a private server, as soon as it is ready."""
    with tempfile.TemporaryDirectory() as home:
        environment = {**os.environ, "HOME": home, "FEEDMILL_STORE_DATA_DIR": home + "/data", "FEEDMILL_LOG_FORMAT": "logfmt",
                       "FEEDMILL_ADMIN_LISTEN": "127.0.0.1:0", "RUNTIME_DIRECTORY": home}
        log = open(home + "/log", "w+")
        worker = subprocess.Popen([BINARY, "run"], env=environment, stderr=log)
        try:
            for _ in range(600):
                found = re.search(r"http://(127\.0\.0\.1:\d+)", pathlib.Path(log.name).read_text())
                if found:
                    break
                time.sleep(0.1)  # poll interval
            with urllib.request.urlopen(f"http://{found.group(1)}/metrics") as answer:
                return answer.read().decode()
        finally:
            worker.send_signal(signal.SIGTERM)
            worker.wait(60)
            log.close()


SCRAPE = None


def names_in(expression):
    return set(re.findall(r"\b(?:feedmill|process)_[a-z_]+", expression))


class Monitoring(unittest.TestCase):
    def test_every_metric_of_the_manual_is_there_from_the_start(self):
        named = set(re.findall(r"(?m)^# TYPE (\S+)", SCRAPE))
        self.assertEqual({"feedmill_" + name for name in METRICS} - named, set())
        others = {name for name in named if name.startswith("feedmill_")} - {"feedmill_" + name for name in METRICS}
        self.assertEqual(others, set(), "not in the manual")

    def test_the_guide_names_every_metric_and_no_other(self):
        rows = re.findall(r"(?m)^\| .*$", GUIDE.read_text().split("metrics (`feedmill_…`) |", 1)[1].split("\n\n", 1)[0])
        self.assertEqual(set(re.findall(r"`([a-z_]+)`", "\n".join(rows))), set(METRICS))

    def test_there_are_few_series(self):
        self.assertLessEqual(len([line for line in SCRAPE.splitlines() if line and not line.startswith("#")]), 500)

    def test_the_scrape_is_clean(self):
        told = promtool("check", "metrics", given=SCRAPE)
        self.assertEqual((told.returncode, told.stdout + told.stderr), (0, ""))

    def test_what_rules_and_dashboard_ask_for_is_served(self):
        served = set(re.findall(r"(?m)^([a-z_]+)(?:\{| )", SCRAPE))
        expressions = {rule["alert"]: rule["expr"] for rule in RULES}
        for panel in DASHBOARD["panels"]:
            for target in panel.get("targets", []):
                expressions[panel["title"] + " " + target["refId"]] = target["expr"]
        self.assertGreater(len(expressions), 60)
        for place, expression in expressions.items():
            self.assertEqual(names_in(expression) - served, set(), place)

    def test_labels_that_are_asked_for_are_served(self):
        for name, label, value in re.findall(r'(feedmill_[a-z_]+)\{[^}]*?(\w+)="([^"$]+)"',
                                             json.dumps(DASHBOARD).replace('\\"', '"') + yaml.dump(RULES)):
            self.assertTrue(re.search(rf'{name}\{{[^}}]*{label}="{value}"', SCRAPE), f'{name} has no {label}="{value}"')

    def test_alerts_are_complete(self):
        self.assertEqual([rule["alert"] for rule in RULES], ALERTS)
        headings = {line.lstrip("#").strip().lower() for line in GUIDE.read_text().splitlines() if line.startswith("#")}
        for rule in RULES:
            self.assertIn(rule["labels"]["severity"], ("page", "ticket"))
            self.assertEqual(set(rule["annotations"]), {"summary", "description", "runbook_url"}, rule["alert"])
            # Absolute, so that it works as a link wherever the alert is read.
            guide, _, heading = rule["annotations"]["runbook_url"].partition("#")
            self.assertEqual(guide, RUNBOOKS + GUIDE.name)
            self.assertIn(heading, headings, rule["alert"])
            self.assertIn("{{", rule["annotations"]["description"], "no value")

    def test_the_head_says_where_the_runbooks_are_named(self):
        head = (DEPLOY / "prometheus/alerts.yml").read_text().split("groups:")[0]
        self.assertIn(f"sed -i 's|{RUNBOOKS.rstrip('/')}|https://", head)

    def test_installations_do_not_melt_together(self):
        for rule in RULES:
            self.assertNotRegex(rule["expr"], r"\b(sum|max|min|avg|count|topk)\s*\(", rule["alert"])
            for kept in re.findall(r"\bby \(([^)]*)\)", rule["expr"]):
                self.assertLessEqual({"namespace", "job"}, set(kept.split(", ")), rule["alert"])

    def test_alerts_fire_and_stay_silent(self):
        cases = yaml.safe_load((DEPLOY / "prometheus/alerts_test.yml").read_text())["tests"]
        firing = [case["alert_rule_test"][0]["alertname"] for case in cases if case["alert_rule_test"][0]["exp_alerts"]]
        silent = [case["alert_rule_test"][0]["alertname"] for case in cases if not case["alert_rule_test"][0]["exp_alerts"]]
        self.assertEqual((sorted(firing), sorted(silent)), (sorted(ALERTS), sorted(ALERTS)))
        told = promtool("test", "rules", str(DEPLOY / "prometheus/alerts_test.yml"))
        self.assertEqual(told.returncode, 0, told.stdout + told.stderr)

    def test_configuration_is_understood(self):
        told = promtool("check", "config", str(DEPLOY / "prometheus/prometheus.yml"))
        self.assertEqual(told.returncode, 0, told.stdout + told.stderr)

    def test_expressions_of_the_dashboard_are_understood(self):
        expressions = [target["expr"] for panel in DASHBOARD["panels"] for target in panel.get("targets", [])]
        expressions += [annotation["expr"] for annotation in DASHBOARD["annotations"]["list"]]
        groups = {"groups": [{"name": "dashboard", "rules": [
            {"record": f"dashboard:{i}", "expr": expression.replace("$__rate_interval", "5m")}
            for i, expression in enumerate(expressions)]}]}
        with tempfile.NamedTemporaryFile("w", suffix=".yml") as rules:
            rules.write(yaml.dump(groups))
            rules.flush()
            told = promtool("check", "rules", rules.name)
            self.assertEqual(told.returncode, 0, told.stdout + told.stderr)

    def test_the_dashboard_can_be_imported(self):
        self.assertEqual([panel["title"] for panel in DASHBOARD["panels"] if panel["type"] == "row"], ROWS)
        self.assertEqual(DASHBOARD["__inputs"][0]["pluginId"], "prometheus")
        variables = {variable["name"]: variable for variable in DASHBOARD["templating"]["list"]}
        self.assertEqual(variables["datasource"]["type"], "datasource")
        self.assertEqual(list(variables), ["datasource", "namespace", "job", "instance"])
        for annotation in DASHBOARD["annotations"]["list"]:
            self.assertEqual(annotation["datasource"]["uid"], "${datasource}")
        identifiers = [panel["id"] for panel in DASHBOARD["panels"]]
        self.assertEqual(len(identifiers), len(set(identifiers)))
        places = set()
        for panel in DASHBOARD["panels"]:
            where = panel["gridPos"]
            self.assertLessEqual(where["x"] + where["w"], 24)
            for x in range(where["x"], where["x"] + where["w"]):
                for y in range(where["y"], where["y"] + where["h"]):
                    self.assertNotIn((x, y), places, panel["title"])
                    places.add((x, y))
            if panel["type"] != "row":
                self.assertEqual(panel["datasource"]["uid"], "${datasource}")
                chosen = 'namespace=~"$namespace",job=~"$job",instance=~"$instance"'
                for target in panel["targets"]:
                    self.assertEqual(target["expr"].count("feedmill_") + target["expr"].count("process_"),
                                     target["expr"].count("{" + chosen), panel["title"])


if __name__ == "__main__":
    if shutil.which("promtool") is None:
        print("skipped: promtool is not installed (scripts/install-packages --operations)")
        sys.exit(77)
    SCRAPE = scrape()
    unittest.main(argv=sys.argv[:1], verbosity=2)
